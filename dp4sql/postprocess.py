"""What a query makes of released rows, in an empty DuckDB. Nothing here is private."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from dp4sql.algebra.expr import Col, Interval_
from dp4sql.algebra.nodes import Fetched, Node, Project
from dp4sql.algebra.types import INTEGERS, Type, Value
from dp4sql.backends.duckdb import Scratch
from dp4sql.mechanisms.release import Measured, fit
from dp4sql.mechanisms.stages import Release
from dp4sql.sql.dialects import DUCKDB
from dp4sql.sql.render import Renderer

Rows: TypeAlias = list[tuple[Value, ...]]
Ids: TypeAlias = tuple[tuple[str, Type], ...]


@dataclass(slots=True)
class Run:
    """What the stages of a plan have given: rows with their columns, noisy integers, single values."""

    tables: dict[int, tuple[Ids, Rows]] = field(default_factory=dict)
    measured: dict[int, Measured] = field(default_factory=dict)
    constants: dict[int, object] = field(default_factory=dict)


def evaluate(scratch: Scratch, node: Node, outputs: Ids, run: Run) -> Rows:
    """The rows of `node`; a plain choice of columns needs no engine."""
    direct = chosen(node, [id for id, _ in outputs])
    if direct is not None:
        stage, indices = direct
        return [tuple(row[i] for i in indices) for row in run.tables[stage][1]]
    names = tuple((id, f"c{i}") for i, (id, _) in enumerate(outputs))
    sql = Renderer(DUCKDB, run.constants).statement(node, names)
    rows = scratch.evaluate({f"stage{i}": table(*t) for i, t in run.tables.items()}, sql)
    return fitted(rows, outputs)


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


def fitted(rows: Rows, outputs: Ids) -> Rows:
    return [tuple(fit(v, type) for v, (_, type) in zip(row, outputs, strict=True)) for row in rows]


def chosen(node: Node, wanted: list[str]) -> tuple[int, list[int]] | None:
    """The stage and its columns, when `node` only picks and renames columns of one stage."""
    while isinstance(node, Project):
        passed = dict(node.outputs)
        picked = [passed[id] for id in wanted]
        if not all(isinstance(expr, Col) for expr in picked):
            return None
        wanted = [expr.id for expr in picked if isinstance(expr, Col)]
        node = node.child
    if not isinstance(node, Fetched):
        return None
    index = [id for id, _ in node.columns]
    return node.stage, [index.index(id) for id in wanted]


def table(columns: Ids, rows: Rows) -> tuple[list[str], list[list[str | None]]]:
    """Column definitions and released values as texts, with each row's number in a last column."""
    definitions = [f"c{i} {scratch_type(type)}" for i, (_, type) in enumerate(columns)]
    texts = [[_text(row[i]) for row in rows] for i in range(len(columns))]
    return [*definitions, f"c{len(columns)} BIGINT"], [*texts, [str(i) for i in range(len(rows))]]


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
