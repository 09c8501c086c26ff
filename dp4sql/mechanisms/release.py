"""Running a release: the SQL that reads it, noise on its integers, and the rows that may be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dp4sql.algebra.expr import Call, Col, Expr, Lit, reads
from dp4sql.algebra.nodes import Aggregate, Project, columns
from dp4sql.algebra.types import FLOATS, INTEGERS, Type, Value
from dp4sql.errors import InternalError, Refused
from dp4sql.infer.facts import Facts
from dp4sql.infer.ranges import Fact, range_of
from dp4sql.mechanisms.measure import Column, Quantity, constant, decimal, expression
from dp4sql.mechanisms.stages import PublicRead, Release
from dp4sql.noise import laplace
from dp4sql.rows import PrivateRows
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.render import Renderer


def read_sql(
    release: Release, facts: Facts, dialect: Dialect, constants: Mapping[int, object]
) -> str:
    """One statement: a row a bin, in the order of the bins, with the exact integers to be noised.

    Bins without rows show 0. The order depends on public bins alone.
    """
    renderer = Renderer(dialect, constants)
    grouped = _grouped(release, facts, renderer)
    if release.bins is None:
        return f"SELECT {', '.join(f'COALESCE(g.{n}, 0) AS {n}' for n in _names(release))} FROM ({grouped}) AS g"
    keys = list(release.node.keys)
    bins = renderer.statement(release.bins, tuple((k, f"k{i}") for i, k in enumerate(keys)))
    nullable = facts.columns(release.node.child)
    tests = " AND ".join(_same(f"b.k{i}", f"g.k{i}", nullable[k]) for i, k in enumerate(keys))
    items = [f"b.k{i} AS k{i}" for i in range(len(keys))]
    items += [f"COALESCE(g.{name}, 0) AS {name}" for name in _names(release)]
    order = ", ".join(f"b.k{i} NULLS LAST" for i in range(len(keys)))
    return f"SELECT {', '.join(items)} FROM ({bins}) AS b LEFT JOIN ({grouped}) AS g ON {tests} ORDER BY {order}"


def _same(a: str, b: str, fact: Fact) -> str:
    return f"{a} IS NOT DISTINCT FROM {b}" if fact.nullable else f"{a} = {b}"


def _names(release: Release) -> list[str]:
    return [f"m{i}" for i in range(len(release.measurements))]


def _grouped(release: Release, facts: Facts, renderer: Renderer) -> str:
    block = renderer.block(release.node.child)
    types = dict(columns(release.node.child))
    keys = [
        renderer.expr(release.group_by.get(k, Col(k, types[k])), block.names)
        for k in release.node.keys
    ]
    items = [f"{text} AS k{i}" for i, text in enumerate(keys)]
    for i, measurement in enumerate(release.measurements):
        text = _measured(measurement.quantity, release.node, facts, renderer, block.names)
        items.append(f"{text} AS m{i}")
    where = f" WHERE {' AND '.join(block.where)}" if block.where else ""
    group = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    return f"SELECT {', '.join(items)} FROM {block.source}{where}{group}"


def _measured(
    q: Quantity, node: Aggregate, facts: Facts, renderer: Renderer, names: Mapping[str, str]
) -> str:
    if q.kind == "count":
        return "COUNT(*)" if q.arg is None else f"COUNT({names[q.arg]})"
    assert q.arg is not None
    if q.kind == "count_distinct":
        return f"COUNT(DISTINCT {names[q.arg]})"
    type = dict(columns(node.child))[q.arg]
    value = renderer.expr(_value(q, type, node), names)
    word = "SUM(DISTINCT " if q.kind == "sum_distinct" else "SUM("
    return f"{word}{_gridded(q, type, value, renderer.dialect)})"


def _value(q: Quantity, type: Type, node: Aggregate) -> Expr:
    """The argument, clamped unless its form alone keeps it in range, minus the centre."""
    assert q.arg is not None
    value: Expr = Col(q.arg, type) if _stays_inside(q, node) else expression(q, type)
    if q.center:
        value = Call("-", (value, constant(q.center, type)), type)
    return value


def _stays_inside(q: Quantity, node: Aggregate) -> bool:
    outputs = dict(node.child.outputs) if isinstance(node.child, Project) else {}
    expr = outputs.get(q.arg or "")
    if expr is None:
        return False
    unknown = {part: Fact(Type("unknown"), True) for part in reads(expr)}
    low, high = range_of(expr, unknown)
    if low is None or high is None:
        return False
    return q.low * q.unit + q.center <= low and high <= q.high * q.unit + q.center


def exact_sum(q: Quantity, type: Type) -> bool:
    """Whether the engine can sum the values themselves: they lie on the grid."""
    if type.kind in INTEGERS:
        return q.unit.denominator == 1 and q.unit == 1
    return (
        type.kind == "numeric" and type.scale is not None and q.unit == Fraction(1, 10**type.scale)
    )


def _gridded(q: Quantity, type: Type, value: str, dialect: Dialect) -> str:
    """`value` as an exact number on the grid, in a type that its range fits."""
    reach = max(abs(q.low), abs(q.high))
    if reach >= 2**62:
        raise Refused(
            "the range of a sum is too wide for its unit",
            hint="Declare a coarser unit for the column.",
        )
    if exact_sum(q, type):
        if type.kind in INTEGERS:
            return f"CAST({value} AS BIGINT)"
        digits = 18 if reach < 10**17 else 38
        return f"CAST({value} AS DECIMAL({digits},{type.scale}))"
    step = Lit(decimal(q.unit), Type("numeric")).value
    return f"CAST(ROUND(CAST({value} AS {dialect.type_name(Type('double precision'))}) / {step:f}) AS BIGINT)"


# ---------------------------------------------------------------- noise


def add_noise(
    release: Release,
    rows: PrivateRows,
    scales: Sequence[Fraction],
    losses: Sequence[Fraction],
) -> list[tuple[Value, ...]]:
    """Open the exact rows, add noise to every measurement that a policy protects, build the output rows.

    scales: noise scale of each measurement in its unit (0 where nothing private moves). losses: the most
    that any policy is charged for it.
    """
    opened = rows.open_columns()
    width = len(release.node.keys)
    keys = opened[:width]
    types = dict(columns(release.node.child))
    noisy: list[list[int]] = []
    for measurement, scale, loss, column in zip(
        release.measurements, scales, losses, opened[width:], strict=True
    ):
        exact = _integers(measurement.quantity, column, types)
        bound = max(measurement.bounds.values(), default=Fraction(0))
        noisy.append(laplace(exact, _whole(bound), scale, loss) if scale else exact)
    built = [_build(column, release, noisy) for column in release.built]
    return list(zip(*keys, *built, strict=True)) if keys or built else []


def _whole(bound: Fraction) -> int:
    """Bounds of integer measurements are integers."""
    if bound.denominator != 1:
        raise InternalError("a bound that is not a whole number of units")
    return bound.numerator


def _integers(q: Quantity, column: Sequence[Any], types: Mapping[str, Type]) -> list[int]:
    if q.kind.startswith("count") or not exact_sum(q, types[q.arg or ""]):
        return [int(value) for value in column]
    return [int(Fraction(value) / q.unit) for value in column]


def _build(column: Column, release: Release, noisy: Sequence[Sequence[int]]) -> list[Value]:
    """Output values of one aggregate from its measurements; post-processing alone."""
    parts = [(release.measurements[i], noisy[i]) for i in column.measurements]
    agg = column.agg
    if agg.function.startswith("count"):
        return list(parts[0][1])
    total, values = parts[0][0].quantity, parts[0][1]
    if agg.function in ("sum", "sum_distinct"):
        return [number(Fraction(v) * total.unit, agg.type) for v in values]
    return [
        _mean(total, v, n, agg.type, parts[1][0].private)
        for v, n in zip(values, parts[1][1], strict=True)
    ]


def _mean(total: Quantity, value: int, count: int, type: Type, noisy_count: bool) -> Value:
    """c + sum / count within the declared range; a noisy count below 1 counts as 1."""
    if count < 1 and not noisy_count:
        return None
    mean = total.center + Fraction(value) * total.unit / max(count, 1)
    low = total.low * total.unit + total.center
    high = total.high * total.unit + total.center
    return number(min(max(mean, min(low, high)), high), type, digits=10)


def number(value: Fraction, type: Type, digits: int | None = None) -> Value:
    """A Fraction as a Python value of a Postgres type."""
    if type.kind in INTEGERS:
        return int(value)
    if type.kind in FLOATS:
        return float(value)
    if digits is None:
        return decimal(value)
    scaled = round(value * 10**digits)
    return Decimal(scaled).scaleb(-digits)


# ---------------------------------------------------------------- public rows


def public_rows(read: PublicRead, rows: PrivateRows) -> list[tuple[Value, ...]]:
    """Rows of a view that no policy protects, as they are."""
    opened = rows.open_columns()
    typed = [
        [fit(value, type) for value in column]
        for column, (_, type) in zip(opened, read.columns, strict=True)
    ]
    return list(zip(*typed, strict=True))


def fit(value: Value, type: Type) -> Value:
    """An engine's value as the Python type of `type`: exact numbers stay exact."""
    if value is None:
        return None
    if type.kind == "numeric" and not isinstance(value, Decimal):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value))
    if type.kind in INTEGERS and not isinstance(value, int):
        return int(value)  # type: ignore[arg-type]
    if type.kind in FLOATS and not isinstance(value, float):
        return float(value)  # type: ignore[arg-type]
    return value
