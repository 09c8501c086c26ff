"""One column's declarations: ranges, units and domains as values of its type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeVar

from dp4sql.algebra.schema import Column
from dp4sql.algebra.types import INTEGERS, NUMBERS, TIMES, UNKNOWN, Type, Value
from dp4sql.policy.lines import Where
from dp4sql.policy.models import ColumnModel, IntegerDomain
from dp4sql.policy.shape import show
from dp4sql.policy.source import Source
from dp4sql.policy.types import domain_value, range_end

MAX_DOMAIN: Final = 1_000_000
V = TypeVar("V")


def build_column(name: str, model: ColumnModel, where: Where, source: Source) -> Column:
    domain = _domain(model, where, source)
    span = _range(model, where, source)
    _check_within(domain, span, model, where, source)
    return Column(
        name=name,
        type=model.type,
        nullable=model.nullable,
        range=span,
        unit=_unit(model, where, source),
        domain=domain,
        other=_other(model, domain, where, source),
        comment=model.comment,
    )


def _fits(
    what: str, raw: Any, type: Type, read: Callable[[Any, Type], V], where: Where, source: Source
) -> V | None:
    """`raw` read as a value of `type`, or None when it is none, which is reported."""
    if type == UNKNOWN:
        return None
    try:
        return read(raw, type)
    except ValueError as error:
        source.report(where, f"{what} {show(raw)} in a column of type {type}", f"it takes {error}")
        return None


def _range(model: ColumnModel, where: Where, source: Source) -> tuple[Fraction, Fraction] | None:
    here = (*where, "range")
    if model.range is None or model.type == UNKNOWN:
        return None
    if model.type.kind not in NUMBERS | TIMES:
        hint = "ranges are for numbers, dates and timestamps; a domain lists values of other types"
        source.report(here, f"a range on a column of type {model.type}", hint)
        return None
    low, high = (
        _fits("range end", end, model.type, range_end, (*here, i), source)
        for i, end in enumerate(model.range)
    )
    if low is None or high is None:
        return None
    if low > high:
        source.report(here, f"the range {show(model.range)} is empty", "write the lower end first")
        return None
    return low, high


def _unit(model: ColumnModel, where: Where, source: Source) -> Fraction | None:
    here = (*where, "unit")
    if model.unit is None or model.type == UNKNOWN:
        return None
    if model.type.kind not in NUMBERS:
        found = f"a unit on a column of type {model.type}"
        source.report(here, found, "units are for columns of numbers")
    elif not _decimal(model.unit):
        found = f"unit {model.unit} has no finite decimal form"
        source.report(here, found, "use 0.01, 0.25 or the like")
    return model.unit


def _decimal(number: Fraction) -> bool:
    """Whether `number` can be written with finitely many digits, as the engine's SQL needs it."""
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


# ---------------------------------------------------------------- domains


def _domain(model: ColumnModel, where: Where, source: Source) -> Sequence[Value] | None:
    here = (*where, "domain")
    match model.domain:
        case None:
            return None
        case IntegerDomain(first=first, last=last):
            return _span(first, last, model.type, here, source)
        case []:
            hint = "list at least one value, or leave the domain out"
            source.report(here, "the domain is empty", hint)
            return None
        case values:
            return _listed(values, model.type, here, source)


def _span(
    first: int, last: int, type: Type, where: Where, source: Source
) -> Sequence[Value] | None:
    size = last - first + 1
    if type.kind not in INTEGERS | {"unknown"}:
        found = f"{{from, to}} in a column of type {type}"
        source.report(where, found, "list the values: [..., ...]")
    elif size < 1:
        found = f"the domain from {first} to {last} is empty"
        source.report(where, found, "write the lower end first")
    elif size > MAX_DOMAIN:
        hint = f"{MAX_DOMAIN} values at most; a query can list the bins it wants with IN (...)"
        source.report(where, f"a domain of {size} values", hint)
    elif type != UNKNOWN:
        low = _fits("domain end", first, type, domain_value, where, source)
        high = _fits("domain end", last, type, domain_value, where, source)
        return None if low is None or high is None else range(first, last + 1)
    return None


def _listed(values: list[Any], type: Type, where: Where, source: Source) -> tuple[Value, ...]:
    found: dict[Value, None] = {}
    for i, raw in enumerate(values):
        value = _fits("domain value", raw, type, domain_value, (*where, i), source)
        if value is not None and value in found:
            found_twice = f"the domain lists {show(raw)} twice"
            source.report((*where, i), found_twice, "list each value once")
        if value is not None:
            found[value] = None
    return tuple(found)


def _other(
    model: ColumnModel, domain: Sequence[Value] | None, where: Where, source: Source
) -> Value:
    here = (*where, "other")
    if model.other is None:
        return None
    if model.domain is None:
        hint = "declare the domain whose remainder it takes"
        source.report(here, "other without a domain", hint)
    other: Value = _fits("other", model.other, model.type, domain_value, here, source)
    if domain is not None and other in domain:
        hint = "choose a value outside the domain, or leave it out of the domain's list"
        source.report(here, f"other {show(model.other)} is in the domain", hint)
    return other


def _check_within(
    domain: Sequence[Value] | None,
    span: tuple[Fraction, Fraction] | None,
    model: ColumnModel,
    where: Where,
    source: Source,
) -> None:
    """Bins that the declared range rules out would never hold a row."""
    if not isinstance(model.domain, list) or not domain or span is None or source.broken(where):
        return
    for i, raw in enumerate(model.domain):
        if not span[0] <= range_end(raw, model.type) <= span[1]:
            hint = "widen the range, or take the value out of the domain"
            found = f"domain value {show(raw)} is outside the range"
            source.report((*where, "domain", i), found, hint)
