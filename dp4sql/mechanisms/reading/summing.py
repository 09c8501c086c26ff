"""One measurement as SQL: an exact integer on its grid, added up in a type that holds it and is quick."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from dp4sql.algebra.digits import width
from dp4sql.algebra.expr import Col, Expr
from dp4sql.algebra.nodes import Aggregate, Project, columns
from dp4sql.algebra.types import INTEGERS, Type
from dp4sql.errors import InternalError, Refused
from dp4sql.infer.facts import Facts
from dp4sql.mechanisms.measure import Quantity, decimal
from dp4sql.mechanisms.reading.factoring import Product
from dp4sql.mechanisms.reading.holding import Held, firm, held, summand
from dp4sql.noise import LIMIT
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.render import Renderer
from dp4sql.sql.render.numbers import finite


@dataclass(frozen=True, slots=True)
class Summing:
    """Where a release adds up: over rows of `node.child`, whose columns are `names` in SQL."""

    node: Aggregate
    facts: Facts
    renderer: Renderer
    names: Mapping[str, str]

    def measured(self, q: Quantity) -> str:
        if q.kind == "count":
            return "COUNT(*)" if q.arg is None else f"COUNT({self.names[q.arg]})"
        assert q.arg is not None
        if q.kind == "count_distinct":
            return f"COUNT(DISTINCT {self.names[q.arg]})"
        if q.kind in ("count_true", "count_false"):
            test = "IS TRUE" if q.kind == "count_true" else "IS FALSE"
            return f"COUNT(CASE WHEN {self.names[q.arg]} {test} THEN 1 END)"
        if q.kind == "sum_squares":
            return f"SUM({self.renderer.dialect.summed(self._squared(q))})"
        if not _is_shifted(q):
            return self._summed(q)
        # Each row that adds to the sum is counted; a NULL that adds nothing there is the centred 0.
        value = self.added(q)
        counted = "*" if firm(value) else self.text(value)
        return self._shifted(q, self._summed(_uncentred(q)), f"COUNT({counted})")

    def added(self, q: Quantity) -> Expr:
        """What each row adds to a sum, as the engine computes it."""
        plain = _uncentred(q) if _is_shifted(q) else q
        return summand(plain, self._type(q), self.node, self.facts)

    def exact(self, q: Quantity) -> Expr | None:
        """What each row adds to a sum, centre and all, where this is never NULL, exact, and on its grid by its
        columns alone."""
        if q.kind != "sum" or not (_is_shifted(q) or not q.center):
            return None
        plain, type = _uncentred(q) if _is_shifted(q) else q, self._type(q)
        found = held(plain, self.node, self.facts)
        if found is None or not found.firm or not exact_sum(q, type):
            return None
        return found.expr if _on_its_grid(found, type, self.renderer.dialect) else None

    def multiplied(
        self, q: Quantity, of: Product, few: Mapping[str, str], cell: Callable[[str], str]
    ) -> str:
        """What is measured of `exact` summands, over groups of rows that have one factor. `cell` names what is
        added up in each; there the factor's columns are called `few`."""
        rest = "COUNT(*)" if of.rows is None else f"SUM({self.text(of.rows)})"
        assert of.factor is not None
        huge = self.renderer.dialect.huge
        factor = self.renderer.expr(of.factor, few)
        total = f"SUM(CAST({cell(rest)} AS {huge}) * {factor})"
        return self._shifted(q, total, f"SUM({cell('COUNT(*)')})") if _is_shifted(q) else total

    def _type(self, q: Quantity) -> Type:
        assert q.arg is not None
        return dict(columns(self.node.child))[q.arg]

    def text(self, value: Expr) -> str:
        return self.renderer.expr(value, self.names)

    def _shifted(self, q: Quantity, total: str, count: str) -> str:
        """SUM(x) - center * COUNT(x): engines compute equal aggregates once, and SUM(x) may stand there too."""
        type = self._type(q)
        if exact_sum(q, type) and type.kind == "numeric":
            step = f"CAST({decimal(q.center):f} AS DECIMAL(18,{type.scale}))"
            return f"{total} - {step} * CAST({count} AS DECIMAL(19,0))"
        whole = q.center / q.unit
        huge = self.renderer.dialect.huge
        return f"{total} - ({whole.numerator}) * CAST({count} AS {huge})"

    def _summed(self, q: Quantity) -> str:
        type, dialect = self._type(q), self.renderer.dialect
        value = self.text(summand(q, type, self.node, self.facts))
        word = "SUM(DISTINCT " if q.kind == "sum_distinct" else "SUM("
        exact = held(q, self.node, self.facts)
        doubled = exact is None and exact_sum(q, type) and _is_double(q, type, self.node)
        if doubled and _reach(q) < 2**50:
            # Casts of doubles to decimals are slow. Whole steps are exact below 2^53, and so is the way back.
            scale = type.scale or 0
            total = f"{word}{dialect.summed(_on_grid(q, type, value, dialect))})"
            step = f"CAST({decimal(q.unit):f} AS DECIMAL({scale},{scale}))"
            return f"CAST({total} AS DECIMAL({38 - scale},0)) * {step}"
        placed = exact is not None and _on_its_grid(exact, type, dialect)
        return f"{word}{_gridded(q, type, value, dialect, placed=placed)})"

    def _squared(self, q: Quantity) -> str:
        """(x - center)^2 in whole steps: the value is put on the grid first, then squared exactly."""
        type, reach = self._type(q), math.isqrt(q.high)
        if reach >= 2**31:
            raise Refused(
                "the range of a variance is too wide for its unit",
                hint="Declare a coarser unit for the column.",
            )
        if not exact_sum(q, type):
            _check_grid(q, reach)
        base = replace(q, kind="sum", low=-reach, high=reach)
        value = self.text(summand(base, type, self.node, self.facts))
        whole = _on_grid(q, type, value, self.renderer.dialect)
        return f"{whole} * {whole}"


def steps(q: Quantity, type: Type | None, total: str) -> str:
    """A measured total in whole units, and within what noise takes (`dp4sql.noise.LIMIT`), in 64 bits."""
    if q.kind.startswith("count"):
        return total
    scale = type.scale or 0 if type is not None and _has_places(q, type) else 0
    end = Decimal(LIMIT).scaleb(-scale)
    within = f"LEAST(GREATEST({total}, -{end:f}), {end:f})"
    return f"CAST({within}{f' * {10**scale}' if scale else ''} AS BIGINT)"


def _has_places(q: Quantity, type: Type) -> bool:
    """Whether the engine's total has digits after the point."""
    return q.kind != "sum_squares" and q.unit != 1 and exact_sum(q, type)


def _is_shifted(q: Quantity) -> bool:
    centred = q.kind == "sum" and q.center and q.low <= 0 <= q.high
    return bool(centred) and _reach(_uncentred(q)) < 10**17


def _uncentred(q: Quantity) -> Quantity:
    """The sum of the same clamped values, without the centre taken off."""
    shift = q.center / q.unit
    if shift.denominator != 1:
        raise InternalError("a centre that is not on its grid")
    return replace(
        q, center=Fraction(0), low=q.low + shift.numerator, high=q.high + shift.numerator
    )


def _on_its_grid(value: Held, type: Type, dialect: Dialect) -> bool:
    """Whether the engine's own type of `value` has no more digits after the point than `type`. Columns of
    Postgres may have more than are declared, and are put on their grids where they are held in their ranges;
    DuckDB's are compared with the policy at the start."""
    return value.width.scale <= (type.scale or 0) and dialect.name != "spark"


def _is_double(q: Quantity, type: Type, node: Aggregate) -> bool:
    """Whether the engine computes the numeric argument in double precision: more digits than it has."""
    outputs = dict(node.child.outputs) if isinstance(node.child, Project) else {}
    expr = outputs.get(q.arg or "")
    if type.kind != "numeric" or not 0 < (type.scale or 0) <= 18 or expr is None:
        return False
    return width(expr) is None


def _reach(q: Quantity) -> int:
    return max(abs(q.low), abs(q.high))


def _on_grid(q: Quantity, type: Type, value: str, dialect: Dialect) -> str:
    assert q.arg is not None
    return _whole(f"{finite(Col(q.arg, type), value, dialect)} / {decimal(q.unit):f}", dialect)


def _whole(value: str, dialect: Dialect) -> str:
    """The nearest integer; casts of DuckDB and Postgres round by themselves, Spark's cut off."""
    return f"CAST({f'ROUND({value})' if dialect.name == 'spark' else value} AS BIGINT)"


def exact_sum(q: Quantity, type: Type) -> bool:
    """Whether the engine can sum the values themselves: they lie on the grid."""
    if type.kind in INTEGERS:
        return q.unit.denominator == 1 and q.unit == 1
    if type.kind != "numeric" or type.scale is None or type.scale > 18:
        return False
    return q.unit == Fraction(1, 10**type.scale)


def _gridded(q: Quantity, type: Type, value: str, dialect: Dialect, *, placed: bool) -> str:
    """`value` as an exact number on the grid, in a type that its range fits; `placed` there already."""
    reach = _reach(q)
    if reach >= 2**62:
        raise Refused(
            "the range of a sum is too wide for its unit",
            hint="Declare a coarser unit for the column.",
        )
    if exact_sum(q, type):
        if type.kind in INTEGERS:
            return dialect.summed(f"CAST({value} AS BIGINT)")
        digits = 18 if reach < 10**17 else 38
        return value if placed else f"CAST({value} AS DECIMAL({digits},{type.scale}))"
    if q.unit == 1 and type.kind == "numeric" and type.precision is not None:
        return dialect.summed(_whole(value, dialect))
    _check_grid(q, reach)
    return dialect.summed(_on_grid(q, type, value, dialect))


def _check_grid(q: Quantity, reach: int) -> None:
    """Double precision rounds far from zero, by more than a step of a grid as fine as this: then a value at
    the end of its range could lie beyond it."""
    if reach + abs(q.center / q.unit) >= 2**50:
        raise Refused(
            "the unit of a sum is finer than double precision is at the ends of the range",
            hint="Declare a coarser unit for the column.",
        )
