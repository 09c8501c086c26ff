"""What a query makes of released rows, in an empty DuckDB. Nothing here is private."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from dp4sql.algebra.expr import Col, Expr, Interval_, rewrite
from dp4sql.algebra.nodes import Fetched, Limit, Node, Project, Select, Sort
from dp4sql.algebra.types import INTEGERS, UNKNOWN, Type, Value
from dp4sql.backends.duckdb import Few, Scratch, Table
from dp4sql.mechanisms.fitting import fit
from dp4sql.mechanisms.measure import decimal
from dp4sql.mechanisms.release import Measured
from dp4sql.mechanisms.replicas import Identifier
from dp4sql.mechanisms.stages import Release
from dp4sql.rows import PART, Array, Row, Where, taken
from dp4sql.rows import Rows as ManyRows
from dp4sql.sql.dialects import DUCKDB
from dp4sql.sql.render import Renderer

FEW: Final = 200
"""Rows that the engine is given as parameters; for more of them tables are faster."""
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
    return shown(scratch, node, outputs, run, chosen(node, [id for id, _ in outputs]))


def shown(scratch: Scratch, node: Node, outputs: Ids, run: Run, direct: Choice | None) -> Rows:
    """The same, where `chosen` has said `direct` of it."""
    rows = run.tables[direct.stage][1] if direct else []
    if direct and (not direct.order or len(rows) <= SORTED_HERE):
        return direct.of(rows)
    found = picked(node, [id for id, _ in outputs])
    if found and len(run.tables[found.stage][1]) > SORTED_HERE:
        return found.of(run.tables[found.stage][1], places(scratch, node, run))
    return by_engine(scratch, node, outputs, run)


def by_engine(scratch: Scratch, node: Node, outputs: Ids, run: Run) -> Rows:
    """The same, whatever `node` is. Rows of stages have a number after their own columns."""
    return fitted(_columns(scratch, node, outputs, run), outputs)


def _columns(scratch: Scratch, node: Node, outputs: Ids, run: Run) -> list[Any]:
    names = tuple((id, f"o{i}") for i, (id, _) in enumerate(outputs))
    sql = Renderer(DUCKDB, run.constants).statement(node, names)
    named = set(re.findall(r"\bstage\d+\b", sql))
    tables = {f"stage{i}": table(*t, sql) for i, t in run.tables.items() if f"stage{i}" in named}
    return scratch.evaluate(tables, sql)


def places(scratch: Scratch, node: Node, run: Run) -> Array:
    """Which rows of its only stage `node` shows, in their order."""
    tree, identity = Identifier().identified(node)
    (found,) = _columns(scratch, tree, identity, run)
    return np.asarray(found, np.int64)


def built(length: int, part: Callable[[Where], list[Row]]) -> Rows:
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
    def part(where: Where) -> list[Row]:
        values = (
            [fit(value, type) for value in taken(column, where)]
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

    def of(self, rows: Rows, places: Sequence[int] | Array | None = None) -> Rows:
        """All rows at `places`, else those of the choice."""
        found = self.places(rows) if places is None else places
        if not isinstance(found, range):
            found = np.asarray(found, np.int64)

        def part(where: Where) -> list[Row]:
            near = found[where] if isinstance(where, slice) else np.asarray(found)[where]
            at = slice(near.start, near.stop) if isinstance(near, range) else near
            return [tuple(row[i] for i in self.indices) for row in taken(rows, at)]

        return built(len(found), part)


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


def picked(node: Node, wanted: Sequence[str]) -> Choice | None:
    """The stage and its columns, when `node` picks, renames, filters, sorts and cuts rows of one stage, by
    whatever conditions."""
    exprs: list[Expr] = [Col(id, UNKNOWN) for id in wanted]
    while isinstance(node, Project | Select | Sort | Limit):
        if isinstance(node, Project):
            below = dict(node.outputs)
            exprs = [inlined(expr, below) for expr in exprs]
        node = node.child
    if not isinstance(node, Fetched):
        return None
    places = {id: i for i, (id, _) in enumerate(node.columns)}
    indices = tuple(places[expr.id] for expr in exprs if isinstance(expr, Col))
    return Choice(node.stage, indices, (), slice(None)) if len(indices) == len(exprs) else None


def table(columns: Ids, rows: Rows, sql: str | None = None) -> Table | Few:
    """Released values, with each row's number in a last column: integers as they are, where there are many,
    and other values as texts. Columns that `sql` does not name are left out."""
    named = None if sql is None else set(re.findall(r"\bc(\d+)\b", sql))
    kept = [i for i in range(len(columns)) if named is None or str(i) in named]
    if len(rows) <= FEW:
        texts = {
            f"c{i}": (scratch_type(columns[i][1]), [_text(row[i]) for row in rows]) for i in kept
        }
        return {**texts, f"c{len(columns)}": ("BIGINT", list(map(str, range(len(rows)))))}
    whole = {i: found for i in kept if (found := _units(rows, i, columns[i][1]))}
    types = {f"c{i}": (scratch_type(columns[i][1]), f"c{i}") for i in kept}
    types |= {f"c{i}": (types[f"c{i}"][0], value) for i, (_, value) in whole.items()}
    last, others = f"c{len(columns)}", [i for i in kept if i not in whole]
    size = PART if others else max(1, len(rows))

    def part(start: int) -> dict[str, Any]:
        near = rows[start : start + size] if others else ()
        found = {f"c{i}": _objects([_text(row[i]) for row in near]) for i in others}
        found |= {f"c{i}": array[start : start + size] for i, (array, _) in whole.items()}
        return {**found, last: np.arange(start, min(start + size, len(rows)))}

    return {**types, last: ("BIGINT", last)}, map(part, range(0, len(rows), size))


def _units(rows: Rows, i: int, type: Type) -> tuple[Array, str] | None:
    """Column `i` as an array, and its values as exact SQL over that; None where they are neither integers nor
    decimals of the column's scale."""
    array, unit = (
        rows.whole.get(i, (None, Fraction(0)))
        if isinstance(rows, ManyRows)
        else (None, Fraction(0))
    )
    if array is None:
        return None
    if type.kind in INTEGERS and unit == 1:
        return array, f"c{i}"
    text = f"{decimal(unit):f}"
    digits = len(text.partition(".")[2])
    if (
        type.kind != "numeric"
        or digits > min(type.scale or 0, 18)
        or Fraction(text) != unit
        or len(text) > 18
    ):
        return None
    return array, f"CAST(c{i} AS DECIMAL(19,0)) * CAST('{text}' AS DECIMAL(18,{digits}))"


def _objects(values: list[str | None]) -> Any:
    found = np.empty(len(values), object)
    found[:] = values
    return found


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
