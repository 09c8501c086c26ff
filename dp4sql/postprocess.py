"""What a query makes of released rows, in an empty DuckDB. Nothing here is private."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, TypeAlias

from dp4sql.algebra.expr import Col, Expr, Interval_, rewrite
from dp4sql.algebra.nodes import Fetched, Limit, Node, Project, Sort
from dp4sql.algebra.types import INTEGERS, UNKNOWN, Type, Value
from dp4sql.backends.duckdb import Scratch, Table
from dp4sql.mechanisms.release import Measured, fit
from dp4sql.mechanisms.stages import Release
from dp4sql.rows import PART, Row, listed
from dp4sql.rows import Rows as ManyRows
from dp4sql.sql.dialects import DUCKDB
from dp4sql.sql.render import Renderer

SORTED_HERE: Final = 2000
"""More rows are sorted by the engine: Python would keep all sessions waiting."""
ORDERED: Final = INTEGERS | {"numeric", "boolean", "date", "text", "character varying", "character"}
"""Types whose values Python orders as the engine does: texts by code points, which is UTF-8's order."""

Rows: TypeAlias = Sequence[Row]
Ids: TypeAlias = tuple[tuple[str, Type], ...]


@dataclass(slots=True)
class Run:
    """What the stages of a plan have given: rows with their columns, noisy integers, single values."""

    tables: dict[int, tuple[Ids, Rows]] = field(default_factory=dict)
    measured: dict[int, Measured] = field(default_factory=dict)
    constants: dict[int, object] = field(default_factory=dict)

    @property
    def bins(self) -> int:
        """Released rows in all."""
        return sum(len(self.tables[i][1]) for i in self.measured)


def evaluate(scratch: Scratch, node: Node, outputs: Ids, run: Run) -> Rows:
    """The rows of `node`; a plain choice of columns and rows needs no engine."""
    direct = chosen(node, [id for id, _ in outputs])
    rows = run.tables[direct.stage][1] if direct else []
    if direct and (not direct.order or len(rows) <= SORTED_HERE):
        return direct.of(rows)
    return by_engine(scratch, node, outputs, run)


def by_engine(scratch: Scratch, node: Node, outputs: Ids, run: Run) -> Rows:
    """The same, whatever `node` is. Rows of stages have a number after their own columns."""
    names = tuple((id, f"c{i}") for i, (id, _) in enumerate(outputs))
    sql = Renderer(DUCKDB, run.constants).statement(node, names)
    found = scratch.evaluate({f"stage{i}": table(*t) for i, t in run.tables.items()}, sql)
    return fitted(found, outputs)


def built(length: int, part: Callable[[slice], list[Row]]) -> Rows:
    """All rows, or many as they are asked for."""
    return ManyRows(length, part) if length > PART else part(slice(None))


def bins_of(scratch: Scratch, release: Release) -> Rows:
    """The bins of a release that need no data, in their order; one without columns where there are no keys."""
    if release.bins is None:
        return [()]
    keys = release.columns[: len(release.node.keys)]
    sql = Renderer(DUCKDB).statement(
        release.bins, tuple((k, f"k{i}") for i, (k, _) in enumerate(keys))
    )
    order = ", ".join(f"k{i} NULLS LAST" for i in range(len(keys)))
    return fitted(scratch.evaluate({}, f"SELECT * FROM ({sql}) AS b ORDER BY {order}"), keys)


def fitted(columns: Sequence[Any], outputs: Ids) -> Rows:
    def part(where: slice) -> list[Row]:
        values = (
            [fit(value, type) for value in listed(column[where])]
            for column, (_, type) in zip(columns, outputs, strict=False)
        )
        return list(zip(*values, strict=True))

    return built(len(columns[0]), part)


@dataclass(frozen=True, slots=True)
class Formulas:
    """Rows of one stage, sorted by (column, descending, nulls first) and then a part of them: an
    expression over the stage's columns for each output."""

    stage: int
    columns: Ids
    outputs: tuple[Expr, ...]
    order: tuple[tuple[Expr, bool, bool], ...]
    part: slice


def formulas(node: Node, wanted: Sequence[str]) -> Formulas | None:
    """None where more than projections stands between the rows of a stage and ORDER BY and LIMIT."""
    part = slice(None)
    order: tuple[tuple[str, bool, bool], ...] = ()
    if isinstance(node, Limit):
        end = None if node.count is None else node.offset + node.count
        part, node = slice(node.offset, end), node.child
    if isinstance(node, Sort):
        order, node = node.keys, node.child
    exprs: list[Expr] = [Col(id, UNKNOWN) for id in (*wanted, *(id for id, _, _ in order))]
    while isinstance(node, Project):
        below = dict(node.outputs)
        exprs = [inlined(expr, below) for expr in exprs]
        node = node.child
    if not isinstance(node, Fetched):
        return None
    typed = {id: Col(id, type) for id, type in node.columns}
    outputs = [inlined(expr, typed) for expr in exprs]
    sort = tuple(
        (expr, descending, first)
        for expr, (_, descending, first) in zip(outputs[len(wanted) :], order, strict=True)
    )
    return Formulas(node.stage, node.columns, tuple(outputs[: len(wanted)]), sort, part)


def inlined(expr: Expr, names: Mapping[str, Expr]) -> Expr:
    return rewrite(expr, lambda part: names[part.id] if isinstance(part, Col) else None)


@dataclass(frozen=True, slots=True)
class Choice:
    """`Formulas` that only pick: by places in a row."""

    stage: int
    indices: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    part: slice

    def places(self, rows: Rows) -> Sequence[int]:
        """Which rows, in their order."""
        found: Sequence[int] = range(len(rows))
        for i, descending, first in reversed(self.order):
            null = [place for place in found if rows[place][i] is None]
            rest = [place for place in found if rows[place][i] is not None]
            # What is compared has a type that Python orders as SQL does.
            rest.sort(key=lambda place: rows[place][i], reverse=descending)  # type: ignore[arg-type,return-value]
            found = [*null, *rest] if first else [*rest, *null]
        return found[self.part]

    def of(self, rows: Rows) -> Rows:
        places = self.places(rows)

        def part(where: slice) -> list[Row]:
            near = places[where]
            if isinstance(near, range):
                taken = rows[near.start : near.stop]
            else:
                taken = [rows[place] for place in near]
            return [tuple(row[i] for i in self.indices) for row in taken]

        return built(len(places), part)


def chosen(node: Node, wanted: Sequence[str]) -> Choice | None:
    """The stage and its columns, when `node` only picks, renames and sorts columns of one stage."""
    found = formulas(node, wanted)
    if found is None:
        return None
    places = {id: i for i, (id, _) in enumerate(found.columns)}
    if not all(isinstance(expr, Col) for expr in found.outputs):
        return None
    if not all(isinstance(key, Col) and key.type.kind in ORDERED for key, _, _ in found.order):
        return None
    picked = tuple(places[expr.id] for expr in found.outputs if isinstance(expr, Col))
    order = tuple((places[k.id], d, first) for k, d, first in found.order if isinstance(k, Col))
    return Choice(found.stage, picked, order, found.part)


def table(columns: Ids, rows: Rows) -> Table:
    """Column definitions and released values as texts, with each row's number in a last column."""
    definitions = [f"c{i} {scratch_type(type)}" for i, (_, type) in enumerate(columns)]
    parts = (_texts(len(columns), rows, start) for start in range(0, len(rows), PART))
    return [*definitions, f"c{len(columns)} BIGINT"], parts


def _texts(width: int, rows: Rows, start: int) -> list[list[str | None]]:
    part = rows[start : start + PART]
    texts = [[_text(row[i]) for row in part] for i in range(width)]
    return [*texts, [str(start + i) for i in range(len(part))]]


def _text(value: Value) -> str | None:
    """What a cast in DuckDB reads back as it was."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:f}"
        case float():
            return repr(value)
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case Interval_():
            return f"{value.months} months {value.days} days {value.micros} microseconds"
        case _:
            return str(value)


def scratch_type(type: Type) -> str:
    """Integers get room to grow; numbers without a declared scale are double precision."""
    return "HUGEINT" if type.kind in INTEGERS else DUCKDB.type_name(type)
