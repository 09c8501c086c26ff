"""The SQL that a release reads: exact integers a bin, and histograms for ranks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dp4sql.algebra.digits import width
from dp4sql.algebra.expr import Call, Col, walk
from dp4sql.algebra.nodes import Project, Scan, Select, columns
from dp4sql.infer.facts import Facts
from dp4sql.infer.ranges import Fact
from dp4sql.mechanisms.reading.factoring import Product, few_valued, product
from dp4sql.mechanisms.reading.holding import firm
from dp4sql.mechanisms.reading.placement import place
from dp4sql.mechanisms.reading.summing import Summing, steps
from dp4sql.mechanisms.stages import Release
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.render import Block, Renderer


def read_sql(
    release: Release, facts: Facts, dialect: Dialect, constants: Mapping[int, object]
) -> str:
    """One statement: a row a bin, in the order of the bins, with the exact integers to be noised.

    Bins without rows show 0. The order depends on public bins alone.
    """
    renderer = Renderer(dialect, constants)
    grouped = _grouped(release, facts, renderer)
    if release.bins is None and all(m.quantity.kind == "rank" for m in release.measurements):
        return "SELECT 1 AS one"
    if release.bins is None:
        return f"SELECT {', '.join(_steps(release))} FROM ({grouped}) AS g"
    keys = list(release.node.keys)
    nullable = facts.columns(release.node.child)
    tests = " AND ".join(_same(f"b.k{i}", f"g.k{i}", nullable[k]) for i, k in enumerate(keys))
    items = [f"b.k{i} AS k{i}" for i in range(len(keys))]
    items += _steps(release)
    order = ", ".join(f"b.k{i} NULLS LAST" for i in range(len(keys)))
    bins = _bins(release, renderer)
    return f"SELECT {', '.join(items)} FROM ({bins}) AS b LEFT JOIN ({grouped}) AS g ON {tests} ORDER BY {order}"


def _steps(release: Release) -> list[str]:
    types = dict(columns(release.node.child))
    each = [
        (i, m.quantity) for i, m in enumerate(release.measurements) if m.quantity.kind != "rank"
    ]
    return [f"{steps(q, types.get(q.arg or ''), f'COALESCE(g.m{i}, 0)')} AS m{i}" for i, q in each]


def texts(release: Release, facts: Facts, dialect: Dialect) -> tuple[str, ...]:
    """For each measurement what would be read for it alone, as a text that tells it from all others."""
    renderer = Renderer(dialect)
    found = _read(release, facts, renderer)
    every = [*found.keys, found.block.source, *found.block.where, _bins(release, renderer)]
    return tuple(
        json.dumps([*every, found.measured.get(i) or histogram_sql(release, i, facts, dialect, {})])
        for i in range(len(release.measurements))
    )


def _bins(release: Release, renderer: Renderer) -> str:
    keys = enumerate(release.node.keys)
    return (
        renderer.statement(release.bins, tuple((k, f"k{i}") for i, k in keys))
        if release.bins
        else ""
    )


def _same(a: str, b: str, fact: Fact) -> str:
    return f"{a} IS NOT DISTINCT FROM {b}" if fact.nullable else f"{a} = {b}"


# ---------------------------------------------------------------- groups


@dataclass(frozen=True, slots=True)
class Read:
    """What is read of the rows of `block`: keys, and measurements by index."""

    keys: list[str]
    measured: dict[int, str]
    block: Block
    summing: Summing

    @property
    def items(self) -> list[str]:
        keys = [f"{text} AS k{i}" for i, text in enumerate(self.keys)]
        return [*keys, *(f"{text} AS m{i}" for i, text in self.measured.items())]

    def select(self, items: Sequence[str], *tests: str) -> str:
        return _select(items, len(self.keys), self.block.source, [*self.block.where, *tests])


def _read(release: Release, facts: Facts, renderer: Renderer) -> Read:
    block = renderer.block(release.node.child)
    summing = Summing(release.node, facts, renderer, block.beneath | block.names)
    return Read(_keys(release, renderer, block), _measured(release, summing), block, summing)


def _measured(release: Release, summing: Summing) -> dict[int, str]:
    found = enumerate(m.quantity for m in release.measurements)
    return {i: summing.measured(q) for i, q in found if q.kind != "rank"}


def _keys(release: Release, renderer: Renderer, block: Block) -> list[str]:
    types = dict(columns(release.node.child))
    return [
        renderer.expr(release.group_by.get(k, Col(k, types[k])), block.names)
        for k in release.node.keys
    ]


def _select(items: Sequence[str], keys: int, source: str, where: Sequence[str]) -> str:
    found = f" WHERE {' AND '.join(where)}" if where else ""
    group = f" GROUP BY {', '.join(str(i + 1) for i in range(keys))}" if keys else ""
    return f"SELECT {', '.join(items)} FROM {source}{found}{group}"


def _grouped(release: Release, facts: Facts, renderer: Renderer) -> str:
    """The groups that have rows."""
    found = _read(release, facts, renderer)
    if not _of_one_table(release):
        return found.select(found.items)
    match renderer.dialect.name:
        case "duckdb":
            clamped = _clamped(release, found.summing)
            if clamped and all(map(_is_column, clamped)):
                return _in_two(release, found, clamped)
        case "postgres":
            return _by_factors(release, found) or found.select(found.items)
    return found.select(found.items)


def _in_two(release: Release, found: Read, clamped: Sequence[Call]) -> str:
    """Rows whose columns are all in their ranges, as they are, and the others, clamped. DuckDB knows the
    extremes of stored columns: as a rule it tests nothing and does not look for the others."""
    summing = found.summing
    parts = ([summing.text(arg) for arg in part.args] for part in clamped)
    tests = [f"{value} BETWEEN {low} AND {high}" for value, low, high, _ in parts]
    as_they_are = replace(summing, renderer=summing.renderer.for_inside())
    inside = replace(found, measured=_measured(release, as_they_are))
    usual = inside.select(inside.items, *tests)
    others = found.select(found.items, f"({' AND '.join(tests)}) IS NOT TRUE")
    named = [f"k{i}" for i in range(len(found.keys))]
    named += [f"SUM(m{i}) AS m{i}" for i in found.measured]
    return _select(named, len(found.keys), f"({usual} UNION ALL {others}) AS u", [])


def _by_factors(release: Release, found: Read) -> str | None:
    """Rows are grouped by columns of few values first, then the groups are multiplied and added up; None
    where that saves one product a row at most. To Postgres two are worth two more keys to group by."""
    summing, cells = found.summing, dict[str, str]()
    few, products = _products(release, summing)
    if sum(p.rows is not None for p in products.values()) < 2:
        return None

    def cell(text: str) -> str:
        return cells.setdefault(text, f"r{len(cells)}")

    def total(index: int, text: str) -> str:
        q = release.measurements[index].quantity
        if index in products:
            return summing.multiplied(q, products[index], few, cell)
        return f"SUM({cell(text)})" if q.kind == "sum" else f"CAST(SUM({cell(text)}) AS BIGINT)"

    names = [f"k{i}" for i in range(len(found.keys))]
    items = [*names, *(f"{total(i, text)} AS m{i}" for i, text in found.measured.items())]
    keys = [f"{text} AS {name}" for text, name in zip(found.keys, names, strict=True)]
    keys += [f"{summing.names[id]} AS {name}" for id, name in few.items()]
    inner = [*keys, *(f"{text} AS {name}" for text, name in cells.items())]
    rows = _select(inner, len(keys), found.block.source, found.block.where)
    return _select(items, len(names), f"({rows}) AS f", [])


def _products(release: Release, summing: Summing) -> tuple[dict[str, str], dict[int, Product]]:
    """Columns of few values, by a name for each, and the sums of which they are a factor."""
    added = {i: summing.exact(m.quantity) for i, m in enumerate(release.measurements)}
    few = few_valued(expr for expr in added.values() if expr is not None)
    split = {i: product(expr, few) for i, expr in added.items() if expr is not None}
    factored = {i: p for i, p in split.items() if p is not None and p.factor is not None}
    return {id: f"f{i}" for i, id in enumerate(few)}, factored


def _of_one_table(release: Release) -> bool:
    """Whether rows of one stored table are counted and added up, which may be done in parts."""
    source = release.node.child
    while isinstance(source, (Project, Select)):
        source = source.child
    stored = isinstance(source, Scan) and not source.table.cut
    return stored and {m.quantity.kind for m in release.measurements} <= {
        "count",
        "count_true",
        "count_false",
        "sum",
        "rank",
    }


def _clamped(release: Release, summing: Summing) -> list[Call]:
    """What is clamped in the sums of a release, each once."""
    sums = [m.quantity for m in release.measurements if m.quantity.kind == "sum"]
    parts = (part for q in sums for part in walk(summing.added(q)))
    return [*{p: None for p in parts if isinstance(p, Call) and p.op == "held in"}]


def _is_column(part: Call) -> bool:
    """An exact number that should not be NULL."""
    column, *_, absent = part.args
    return isinstance(column, Col) and width(column) is not None and firm(absent)


# ---------------------------------------------------------------- ranks


def histogram_sql(
    release: Release, index: int, facts: Facts, dialect: Dialect, constants: Mapping[int, object]
) -> str:
    """For one rank measurement: keys, candidate number, rows there. Read privately, never shown."""
    q = release.measurements[index].quantity
    rank = q.rank
    assert rank is not None
    assert q.arg is not None
    renderer = Renderer(dialect, constants)
    block = renderer.block(release.node.child)
    keys = _keys(release, renderer, block)
    column = Col(q.arg, dict(columns(release.node.child))[q.arg])
    bucket, counted = place(rank.grid, column, block.names[q.arg], dialect)
    items = [f"{text} AS k{i}" for i, text in enumerate(keys)]
    items += [f"{bucket} AS place", "COUNT(*) AS n"]
    where = " AND ".join([*block.where, counted])
    group = ", ".join(str(i + 1) for i in range(len(keys) + 1))
    return f"SELECT {', '.join(items)} FROM {block.source} WHERE {where} GROUP BY {group}"
