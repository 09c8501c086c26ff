"""The SQL that a release reads: exact integers a bin, and histograms for ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dp4sql.algebra.digits import width
from dp4sql.algebra.expr import Call, Col, Expr, reads
from dp4sql.algebra.nodes import Aggregate, Project, columns
from dp4sql.algebra.types import INTEGERS, Type
from dp4sql.errors import InternalError, Refused
from dp4sql.infer.facts import Facts
from dp4sql.infer.ranges import Fact, range_of
from dp4sql.mechanisms.measure import Quantity, constant, decimal, expression
from dp4sql.mechanisms.stages import Release
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
    if release.bins is None and not _names(release):
        return "SELECT 1 AS one"
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
    return [f"m{i}" for i, m in enumerate(release.measurements) if m.quantity.kind != "rank"]


def _grouped(release: Release, facts: Facts, renderer: Renderer) -> str:
    block = renderer.block(release.node.child)
    types = dict(columns(release.node.child))
    keys = [
        renderer.expr(release.group_by.get(k, Col(k, types[k])), block.names)
        for k in release.node.keys
    ]
    items = [f"{text} AS k{i}" for i, text in enumerate(keys)]
    for i, measurement in enumerate(release.measurements):
        if measurement.quantity.kind == "rank":
            continue
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
    if q.kind in ("count_true", "count_false"):
        test = "IS TRUE" if q.kind == "count_true" else "IS FALSE"
        return f"COUNT(CASE WHEN {names[q.arg]} {test} THEN 1 END)"
    type = dict(columns(node.child))[q.arg]
    if q.kind == "sum_squares":
        squared = _squared(q, type, node, facts, renderer, names)
        return f"SUM({renderer.dialect.summed(squared)})"
    if q.kind == "sum" and q.center and q.low <= 0 <= q.high and _reach(_uncentred(q)) < 10**17:
        return _shifted(q, type, node, facts, renderer, names)
    return _summed(q, type, node, facts, renderer, names)


def _shifted(
    q: Quantity,
    type: Type,
    node: Aggregate,
    facts: Facts,
    renderer: Renderer,
    names: Mapping[str, str],
) -> str:
    """SUM(x) - center * COUNT(x): engines compute equal aggregates once, and SUM(x) may stand there too."""
    assert q.arg is not None
    plain = _uncentred(q)
    # A NULL adds the centred 0, or the least value where it adds that to the plain sum.
    counted = "*" if _never_null(plain, node, facts) else names[q.arg]
    total = _summed(plain, type, node, facts, renderer, names)
    if exact_sum(q, type) and type.kind == "numeric":
        step = f"CAST({decimal(q.center):f} AS DECIMAL(18,{type.scale}))"
        return f"{total} - {step} * CAST(COUNT({counted}) AS DECIMAL(19,0))"
    whole = q.center / q.unit
    return f"{total} - ({whole.numerator}) * CAST(COUNT({counted}) AS {renderer.dialect.huge})"


def _uncentred(q: Quantity) -> Quantity:
    """The sum of the same clamped values, without the centre taken off."""
    shift = q.center / q.unit
    if shift.denominator != 1:
        raise InternalError("a centre that is not on its grid")
    return replace(
        q, center=Fraction(0), low=q.low + shift.numerator, high=q.high + shift.numerator
    )


def _summed(
    q: Quantity,
    type: Type,
    node: Aggregate,
    facts: Facts,
    renderer: Renderer,
    names: Mapping[str, str],
) -> str:
    value = renderer.expr(_value(q, type, node, facts), names)
    word = "SUM(DISTINCT " if q.kind == "sum_distinct" else "SUM("
    if exact_sum(q, type) and _is_double(q, type, node, renderer.dialect) and _reach(q) < 2**50:
        # Casts of doubles to decimals are slow. Whole steps are exact below 2^53, and so is the way back.
        scale = type.scale or 0
        total = f"{word}{renderer.dialect.summed(_on_grid(q.unit, value, renderer.dialect))})"
        step = f"CAST({decimal(q.unit):f} AS DECIMAL({scale},{scale}))"
        return f"CAST({total} AS DECIMAL({38 - scale},0)) * {step}"
    return f"{word}{_gridded(q, type, value, renderer.dialect)})"


def _is_double(q: Quantity, type: Type, node: Aggregate, dialect: Dialect) -> bool:
    """Whether the engine computes the numeric argument in double precision: more digits than it has."""
    outputs = dict(node.child.outputs) if isinstance(node.child, Project) else {}
    expr = outputs.get(q.arg or "")
    if type.kind != "numeric" or not 0 < (type.scale or 0) <= 18 or expr is None:
        return False
    needed = width(expr)
    return needed is not None and needed.digits > dialect.max_digits


def _reach(q: Quantity) -> int:
    return max(abs(q.low), abs(q.high))


def _squared(
    q: Quantity,
    type: Type,
    node: Aggregate,
    facts: Facts,
    renderer: Renderer,
    names: Mapping[str, str],
) -> str:
    """(x - center)^2 in whole steps: the value is put on the grid first, then squared exactly."""
    reach = math.isqrt(q.high)
    if reach >= 2**31:
        raise Refused(
            "the range of a variance is too wide for its unit",
            hint="Declare a coarser unit for the column.",
        )
    if not exact_sum(q, type):
        _check_grid(q, reach)
    base = replace(q, kind="sum", low=-reach, high=reach)
    value = renderer.expr(_value(base, type, node, facts), names)
    whole = _on_grid(q.unit, value, renderer.dialect)
    return f"{whole} * {whole}"


def _on_grid(unit: Fraction, value: str, dialect: Dialect) -> str:
    double = dialect.type_name(Type("double precision"))
    return _whole(f"CAST({value} AS {double}) / {decimal(unit):f}", dialect)


def _whole(value: str, dialect: Dialect) -> str:
    """The nearest integer; casts of DuckDB and Postgres round by themselves, Spark's cut off."""
    return f"CAST({f'ROUND({value})' if dialect.name == 'spark' else value} AS BIGINT)"


def _value(q: Quantity, type: Type, node: Aggregate, facts: Facts) -> Expr:
    """The argument, clamped unless its form alone keeps it in range, minus the centre."""
    assert q.arg is not None
    type = _sized(q, type, node)
    value: Expr = Col(q.arg, type) if _stays_inside(q, type, node) else expression(q, type)
    if q.center:
        value = Call("-", (value, constant(q.center, type)), type)
    if _never_null(q, node, facts):
        least = constant(max(q.low, min(q.high, 0)) * q.unit, type)
        value = Call("coalesce", (value, least), type)
    return value


def _sized(q: Quantity, type: Type, node: Aggregate) -> Type:
    """The argument's type with as many digits as its form needs; integers fit once they are clamped."""
    if type.kind in INTEGERS:
        return Type(type.kind)
    outputs = dict(node.child.outputs) if isinstance(node.child, Project) else {}
    expr = outputs.get(q.arg or "")
    own = width(expr) if expr is not None and type.kind == "numeric" else None
    return type if own is None else replace(type, precision=own.digits, scale=own.scale)


def _never_null(q: Quantity, node: Aggregate, facts: Facts) -> bool:
    """Whether the bound rests on every row adding something, so that a NULL there adds the least of it."""
    assert q.arg is not None
    return not q.low <= 0 <= q.high and not facts.columns(node.child)[q.arg].nullable


def _stays_inside(q: Quantity, type: Type, node: Aggregate) -> bool:
    """Integers alone: the others can hold NaN, which is in no range."""
    if type.kind not in INTEGERS:
        return False
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
        return f"CAST({value} AS DECIMAL({digits},{type.scale}))"
    if q.unit == 1 and type.kind == "numeric" and type.precision is not None:
        return dialect.summed(_whole(value, dialect))
    _check_grid(q, reach)
    return dialect.summed(_on_grid(q.unit, value, dialect))


def _check_grid(q: Quantity, reach: int) -> None:
    """Double precision rounds far from zero, by more than a step of a grid as fine as this: then a value at
    the end of its range could lie beyond it."""
    if reach + abs(q.center / q.unit) >= 2**50:
        raise Refused(
            "the unit of a sum is finer than double precision is at the ends of the range",
            hint="Declare a coarser unit for the column.",
        )


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
    types = dict(columns(release.node.child))
    keys = [
        renderer.expr(release.group_by.get(k, Col(k, types[k])), block.names)
        for k in release.node.keys
    ]
    top = rank.candidates - 1
    double = dialect.type_name(Type("double precision"))
    value = f"CAST({block.names[q.arg]} AS {double})"
    place = f"FLOOR(({value} - {decimal(rank.first):f}) / {decimal(rank.step):f} + 0.5)"
    bucket = f"CASE WHEN {place} < 0 THEN 0 WHEN {place} > {top} THEN {top} ELSE {place} END"
    items = [f"{text} AS k{i}" for i, text in enumerate(keys)]
    items += [f"CAST({bucket} AS BIGINT) AS place", "COUNT(*) AS n"]
    where = " AND ".join([*block.where, f"{block.names[q.arg]} IS NOT NULL"])
    group = ", ".join(str(i + 1) for i in range(len(keys) + 1))
    return f"SELECT {', '.join(items)} FROM {block.source} WHERE {where} GROUP BY {group}"
