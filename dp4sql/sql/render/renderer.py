"""Algebra to the SQL of one engine. What was analysed is what runs: the client's text is never forwarded.

Rendered SQL cannot fail on data: arithmetic runs in a type wide enough for what the operands' types can
hold, division by zero and impossible casts yield NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Final, assert_never

from dp4sql.algebra.digits import MAX_DIGITS, width
from dp4sql.algebra.expr import Col, Expr, Over, conjuncts, walk
from dp4sql.algebra.functions import SPREADS
from dp4sql.algebra.nodes import (
    Agg,
    Aggregate,
    Distinct,
    Fetched,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    Select,
    Semi,
    Series,
    Sort,
    UnionAll,
    Values,
    argument,
    columns,
)
from dp4sql.algebra.types import Type, Value
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.render import ties
from dp4sql.sql.render.numbers import SHORT, finite, squarable, summable, united
from dp4sql.sql.render.reduction import needed_groups
from dp4sql.sql.render.scalars import Scalars, literal
from dp4sql.sql.render.truncation import table_source


@dataclass(slots=True)
class Block:
    """A SELECT under construction: FROM text, conditions and what each column id is called there.
    `beneath` has the columns that a projection left out; FROM still offers them."""

    source: str
    where: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    beneath: dict[str, str] = field(default_factory=dict)


class Renderer:
    """Writes one statement for `dialect`. `constants` are released values that the SQL may hold as literals.
    `inside`: what is to be held in its range is there already."""

    def __init__(
        self,
        dialect: Dialect,
        constants: Mapping[int, object] | None = None,
        *,
        inside: bool = False,
    ) -> None:
        self.dialect = dialect
        self._aliases = 0
        self._constants = constants or {}
        self._scalars = Scalars(dialect, self._constants, inside=inside)

    def for_inside(self) -> Renderer:
        """The same for rows whose columns are in their ranges."""
        return Renderer(self.dialect, self._constants, inside=True)

    def statement(self, node: Node, outputs: tuple[tuple[str, str], ...]) -> str:
        """SELECT of `outputs`, pairs of column id and name, in order."""
        return self._closed(node, outputs)

    # ------------------------------------------------------------ blocks

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def expr(self, expr: Expr, names: Mapping[str, str]) -> str:
        return self._scalars.render(expr, names)

    def block(self, node: Node) -> Block:
        match node:
            case Scan():
                return self._scan(node)
            case Select(child, predicate):
                block = self.block(child)
                block.where += [self.expr(part, block.names) for part in conjuncts(predicate)]
                return block
            case Project(child, outputs):
                # A window reads the rows that are there now, before any condition above.
                windows = any(isinstance(part, Over) for _, e in outputs for part in walk(e))
                outputs = ties.windowed(node).outputs if windows else outputs
                block = self.block(child)
                block.beneath |= block.names
                block.names = {id: self.expr(expr, block.names) for id, expr in outputs}
                return self._sealed(block) if windows else block
            case Join():
                return self._join(node)
            case Semi():
                return self._semi(node)
            case Values():
                return self._values(node)
            case Series():
                return self._series(node)
            case Fetched(stage, own):
                alias = self._alias()
                named = {id: f"{alias}.c{i}" for i, (id, _) in enumerate(own)}
                return Block(f"stage{stage} AS {alias}", [], named)
            case Limit():
                return self._derived(ties.limited(node))
            case Aggregate() | Distinct() | UnionAll() | Sort():
                return self._derived(node)
            case _:
                assert_never(node)

    def _scan(self, node: Scan) -> Block:
        alias = self._alias()
        named = {
            f"{node.alias}.{c.name}": self._column(f"{alias}.{self.dialect.quote(c.name)}", c.type)
            for c in node.table.columns.values()
        }
        return Block(f"{table_source(node.table, self.dialect)} AS {alias}", [], named)

    def _column(self, text: str, type: Type) -> str:
        """Numbers of undeclared size are double precision: which digits a table really has is not known here, and
        Postgres fails where one that no double holds meets one that is computed in double precision."""
        column = Col("", type)
        if type.kind != "numeric" or width(column) is not None:
            return text
        return finite(column, text, self.dialect)

    def _derived(self, node: Node) -> Block:
        """`node` as a subquery in FROM."""
        alias = self._alias()
        outputs = tuple((id, f"c{i}") for i, (id, _) in enumerate(columns(node)))
        text = self._closed(node, outputs)
        return Block(f"({text}) AS {alias}", [], {id: f"{alias}.{name}" for id, name in outputs})

    def _wrapped(self, node: Node) -> Block:
        """A block with no conditions of its own, for the side of an outer join."""
        block = self.block(node)
        if not block.where and not isinstance(node, (Project, Join)):
            return block
        return self._sealed(block)

    def _sealed(self, block: Block) -> Block:
        """`block` as a subquery in FROM."""
        alias = self._alias()
        names = {id: f"c{i}" for i, id in enumerate(block.names)}
        items = (
            ", ".join(f"{text} AS {names[id]}" for id, text in block.names.items()) or "1 AS one"
        )
        text = f"SELECT {items} FROM {block.source}{_where(block.where)}"
        return Block(f"({text}) AS {alias}", [], {id: f"{alias}.{n}" for id, n in names.items()})

    def _join(self, node: Join) -> Block:
        if node.correlated and self.dialect.name == "duckdb" and isinstance(node.right, Aggregate):
            return self._lateral(node, node.right)
        if (
            node.correlated
            and self.dialect.name == "postgres"
            and isinstance(node.right, Aggregate)
        ):
            node = replace(node, right=needed_groups(node, node.right))
        if node.kind == "inner":
            left, right = self.block(node.left), self.block(node.right)
        elif node.kind == "left":
            left, right = self.block(node.left), self._wrapped(node.right)
        else:
            left, right = self._wrapped(node.left), self._wrapped(node.right)
        names = {**left.names, **right.names}
        parts = [f"{names[a]} = {names[b]}" for a, b in node.pairs]
        if node.residual is not None:
            parts.append(self.expr(node.residual, names))
        word = {"inner": "JOIN", "left": "LEFT JOIN", "full": "FULL JOIN"}[node.kind]
        source = f"{left.source} {word} {_bracket(right.source)} ON {' AND '.join(parts) or 'TRUE'}"
        return Block(source, left.where + right.where, names)

    def _lateral(self, node: Join, right: Aggregate) -> Block:
        """A subquery for each row of the left. DuckDB turns it into one pass over the rows that matter,
        where it would group all rows of a joined subquery."""
        left, inner = self.block(node.left), self.block(right.child)
        inner.where += [f"{inner.names[b]} = {left.names[a]}" for a, b in node.pairs]
        alias = self._alias()
        outputs = tuple((id, f"c{i}") for i, (id, _) in enumerate(columns(right)))
        text = self._grouped(inner, right, outputs)
        word = "JOIN" if node.kind == "inner" else "LEFT JOIN"
        names = {**left.names, **{id: f"{alias}.{name}" for id, name in outputs}}
        return Block(f"{left.source} {word} LATERAL ({text}) AS {alias} ON TRUE", left.where, names)

    def _semi(self, node: Semi) -> Block:
        left, right = self.block(node.left), self.block(node.right)
        names = {**left.names, **right.names}
        if node.null_aware and len(node.pairs) == 1 and node.residual is None:
            ((a, b),) = node.pairs
            inner = f"SELECT {names[b]} FROM {right.source}{_where(right.where)}"
            left.where.append(f"{names[a]} NOT IN ({inner})")
            return left
        parts = [*right.where, *(f"{names[b]} = {names[a]}" for a, b in node.pairs)]
        if node.residual is not None:
            parts.append(self.expr(node.residual, names))
        word = "NOT EXISTS" if node.anti else "EXISTS"
        left.where.append(f"{word} (SELECT 1 FROM {right.source}{_where(parts)})")
        return left

    def _values(self, node: Values) -> Block:
        alias = self._alias()
        if not node.columns:
            return Block(f"(SELECT 1 AS one) AS {alias}", [], {})
        types = [
            self._roomy(type, [row[i] for row in node.rows])
            for i, (_, type) in enumerate(node.columns)
        ]
        rows = ", ".join("(" + ", ".join(map(self._cell, row, types)) + ")" for row in node.rows)
        names = [f"c{i}" for i in range(len(node.columns))]
        source = f"(VALUES {rows}) AS {alias}({', '.join(names)})"
        return Block(
            source, [], {id: f"{alias}.{n}" for n, (id, _) in zip(names, node.columns, strict=True)}
        )

    def _series(self, node: Series) -> Block:
        alias = self._alias()
        text = self.dialect.series(node.first, node.last, node.type, node.step)
        return Block(f"({text}) AS {alias}", [], {node.id: f"{alias}.c0"})

    def _roomy(self, type: Type, values: list[Value]) -> Type:
        """The type of a column of constants: decimals of no size have a place in double precision, where no exact
        type of the engine holds them all."""
        if type.kind != "numeric" or type.precision is not None or self.dialect.name == "postgres":
            return type
        fits = all(_held(value, type.scale or 0) for value in values)
        return type if fits and (type.scale or 0) <= SHORT else Type("double precision")

    def _cell(self, value: object, type: Type) -> str:
        return f"CAST({literal(value, type, self.dialect)} AS {self.dialect.type_name(type)})"

    # ------------------------------------------------------------ closed SELECTs

    def _closed(self, node: Node, outputs: tuple[tuple[str, str], ...]) -> str:
        """`node` as the text of a SELECT with the given output names."""
        match node:
            case Aggregate():
                return self._aggregate(node, outputs)
            case Distinct(child):
                return self._listed(child, outputs).replace("SELECT ", "SELECT DISTINCT ", 1)
            case UnionAll():
                return self._united(node, outputs)
            case Sort(child, keys):
                return self._sorted(child, keys, outputs)
            case Limit(child, count, offset):
                inside = self._listed if isinstance(child, Limit) else self._closed
                text = inside(child, outputs)
                text += f" LIMIT {count}" if count is not None else ""
                return text + (f" OFFSET {offset}" if offset else "")
            case _:
                return self._listed(node, outputs)

    def _united(self, node: UnionAll, outputs: tuple[tuple[str, str], ...]) -> str:
        index = {id: i for i, (id, _) in enumerate(node.outputs)}
        sides = (node.left, node.left_ids), (node.right, node.right_ids)
        blocks = [self.block(part) for part, _ in sides]
        types = [dict(columns(part)) for part, _ in sides]
        items: list[list[str]] = [[], []]
        for id, name in outputs:
            own = [ids[index[id]] for _, ids in sides]
            args = [Col(c, known[c]) for c, known in zip(own, types, strict=True)]
            texts = [block.names[c] for c, block in zip(own, blocks, strict=True)]
            for found, text in zip(items, united(args, texts, self.dialect), strict=True):
                found.append(f"{text} AS {name}")
        return " UNION ALL ".join(
            f"SELECT {', '.join(found) or '1 AS one'} FROM {block.source}{_where(block.where)}"
            for found, block in zip(items, blocks, strict=True)
        )

    def _listed(self, node: Node, outputs: tuple[tuple[str, str], ...]) -> str:
        block = self.block(node)
        items = ", ".join(f"{block.names[id]} AS {name}" for id, name in outputs) or "1 AS one"
        return f"SELECT {items} FROM {block.source}{_where(block.where)}"

    def _sorted(
        self,
        child: Node,
        keys: tuple[tuple[str, bool, bool], ...],
        outputs: tuple[tuple[str, str], ...],
    ) -> str:
        block = self._derived(child) if isinstance(child, Distinct) else self.block(child)
        items = ", ".join(f"{block.names[id]} AS {name}" for id, name in outputs) or "1 AS one"
        order = ", ".join(
            f"{_not_a_position(block.names[id])}{' DESC' if desc else ''} NULLS {'FIRST' if first else 'LAST'}"
            for id, desc, first in keys
        )
        return f"SELECT {items} FROM {block.source}{_where(block.where)} ORDER BY {order}"

    def _aggregate(self, node: Aggregate, outputs: tuple[tuple[str, str], ...]) -> str:
        return self._grouped(self.block(node.child), node, outputs)

    def _grouped(self, block: Block, node: Aggregate, outputs: tuple[tuple[str, str], ...]) -> str:
        texts = {key: block.names[key] for key in node.keys}
        types = dict(columns(node.child))
        for agg in node.aggs:
            names = block.names | self._summable(node, agg, block.names)
            texts[agg.id] = self.aggregate(agg, names, types)
        items = ", ".join(f"{texts[id]} AS {name}" for id, name in outputs) or "1 AS one"
        group = ", ".join(_not_a_position(block.names[key]) for key in node.keys)
        tail = f" GROUP BY {group}" if group else ""
        return f"SELECT {items} FROM {block.source}{_where(block.where)}{tail}"

    def _summable(self, node: Aggregate, agg: Agg, names: Mapping[str, str]) -> dict[str, str]:
        """What an aggregate takes so that it cannot fail."""
        if agg.arg is None:
            return {}
        arg = argument(node, agg)
        if agg.function in ("sum", "sum_distinct", "avg"):
            return {agg.arg: summable(agg.function, arg, names[agg.arg], self.dialect)}
        doubles = self.dialect.name == "postgres" and width(arg) is None
        spread = doubles and agg.function in SPREADS
        return {agg.arg: squarable(arg, names[agg.arg], self.dialect)} if spread else {}

    def aggregate(self, agg: Agg, names: Mapping[str, str], types: Mapping[str, Type]) -> str:
        """One aggregate below the release, with Postgres's result type."""
        arg = names[agg.arg] if agg.arg is not None else "*"
        if agg.arg is not None and agg.function == "quantile_cont":
            # What lies between two decimals is no decimal of as few digits.
            arg = finite(Col(agg.arg, types[agg.arg]), arg, self.dialect)
        write: Callable[[str], str] = self.dialect.aggregates(agg)
        return write(arg)


def _not_a_position(text: str) -> str:
    """GROUP BY 2 or ORDER BY 2 would mean the second output column, and other constants are refused there."""
    if text.isdigit():
        return f"CAST({text} AS BIGINT)"
    return f"COALESCE({text})" if _CONSTANT.fullmatch(text) else text


def _held(value: Value, scale: int) -> bool:
    """Whether an exact type of 38 digits, so many of them after the point, holds a constant."""
    if not isinstance(value, int | Decimal):
        return value is None
    scaled: Fraction = Fraction(value) * 10**scale
    return scaled.denominator == 1 and abs(scaled) < 10**MAX_DIGITS


_CONSTANT: Final = re.compile(r"'(?:[^']|'')*'|\(-?[0-9.]+\)|TRUE|FALSE|NULL")


def _where(parts: list[str]) -> str:
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def _bracket(source: str) -> str:
    return f"({source})" if " JOIN " in source and not source.startswith("(SELECT") else source
