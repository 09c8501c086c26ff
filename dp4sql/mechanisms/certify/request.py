"""The arguments of dp4sql.certify as a checked request. Nothing here reads data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, TypeVar, get_args

from dp4sql.errors import InvalidParameter, Unsupported
from dp4sql.mechanisms.calls import Arguments
from dp4sql.policy.certify import (
    Certify,
    Control,
    Defaults,
    MarginKind,
    Mechanism,
    Template,
    references,
    shown,
)
from dp4sql.policy.labels import PolicySet

Word = TypeVar("Word", bound=str)


@dataclass(frozen=True, slots=True)
class Request:
    """`epsilon`: what one measurement may lose under the least demanding policy; None shares what a query
    may lose. `bind` fixes slots."""

    template: Template
    thetas: tuple[Fraction, ...]
    bind: Mapping[str, Any]
    epsilon: Fraction | None
    beta: Fraction
    mechanism: Mechanism
    control: Control
    margin: MarginKind
    max_statements: int
    cap: int
    select_share: Fraction
    delta: Fraction


def read_request(policies: PolicySet, given: Arguments) -> Request:
    """InvalidParameter or Unsupported, naming the argument, when the request cannot be met."""
    section: Certify = policies.extras.get("certify", Certify())
    defaults = section.defaults
    template = _template(section, given)
    request = Request(
        template=template,
        thetas=_thetas(template, given),
        bind=_bind(template, given),
        epsilon=_number(given, "epsilon", None, Fraction(10_000)),
        beta=_number(given, "beta", defaults.beta, Fraction(1, 2), inclusive=False)
        or defaults.beta,
        mechanism=_word(given, "mechanism", get_args(Mechanism)) or defaults.mechanism,
        control=_word(given, "control", get_args(Control)) or defaults.control,
        margin=_word(given, "margin", get_args(MarginKind)) or defaults.margin,
        max_statements=_count(given, "max_statements", defaults.max_statements),
        cap=_count(given, "cap", defaults.cap),
        select_share=_number(given, "select_share", defaults.select_share, Fraction(1))
        or defaults.select_share,
        delta=_delta(given, defaults),
    )
    _check_together(request, defaults)
    return request


# ---------------------------------------------------------------- what is stated


def _template(section: Certify, given: Arguments) -> Template:
    name = given.get("template")
    adhoc = [n for n in ("statement", "population", "predicate") if given.get(n) is not None]
    if name is not None and adhoc:
        raise InvalidParameter(
            f"argument template together with {' and '.join(adhoc)}",
            hint="A template brings its own; without template give statement, population and predicate.",
        )
    if name is None:
        return _stated(given)
    if name not in section.templates:
        close = get_close_matches(str(name), section.templates, n=1)
        known = (
            ", ".join(sorted(section.templates)) or "none; the curator can add a certify: section"
        )
        raise InvalidParameter(
            f'argument template: there is no template "{name}"',
            hint=f"Perhaps {close[0]} was meant." if close else f"Templates: {known}.",
        )
    return section.templates[str(name)]


def _stated(given: Arguments) -> Template:
    """The template that statement, population and predicate make up."""
    missing = [n for n in ("statement", "population", "predicate") if given.get(n) is None]
    if missing:
        raise InvalidParameter(
            f"argument {missing[0]} is missing",
            hint="Either template => 'name', or statement, population and predicate.",
        )
    template = Template(
        text=str(given["statement"]),
        population=str(given["population"]),
        predicate=str(given["predicate"]),
    )
    for part in (template.text, template.population, template.predicate or ""):
        for slot, name in references(part):
            if part is not template.text or slot != "theta":
                raise InvalidParameter(
                    f"slot {shown(slot, name)} has no values",
                    hint="Slots belong to the templates of the policy file; a statement may name {theta}.",
                )
    return template


def _thetas(template: Template, given: Arguments) -> tuple[Fraction, ...]:
    value = _number(given, "theta", None, Fraction(1))
    if value is None and not template.thetas:
        raise InvalidParameter(
            "argument theta is missing", hint="The threshold, above 0 and at most 1."
        )
    return template.thetas if value is None else (value,)


def _bind(template: Template, given: Arguments) -> Mapping[str, Any]:
    text = given.get("bind")
    try:
        bound = {} if text is None else json.loads(str(text), parse_float=str)
    except json.JSONDecodeError:
        bound = None
    if not isinstance(bound, dict):
        raise InvalidParameter(
            "argument bind is not a JSON object", hint="""As in bind => '{"sid": 17}'."""
        )
    for slot in bound:
        if slot not in template.slots:
            known = ", ".join(template.slots) or "none"
            raise InvalidParameter(
                f'argument bind: there is no slot "{slot}"', hint=f"Slots: {known}."
            )
    for name, slot in template.slots.items():
        if not slot.values and slot.public_query is None and name not in bound:
            raise InvalidParameter(
                f"slot {name} is unbound", hint=f"""Add bind => '{{"{name}": ...}}'."""
            )
    return bound


# ---------------------------------------------------------------- numbers and words


def _number(
    given: Arguments,
    name: str,
    default: Fraction | None,
    most: Fraction,
    *,
    inclusive: bool = True,
) -> Fraction | None:
    """A number above 0 and at most (or, not inclusive, below) `most`; `default` when it is not given."""
    value = given.get(name)
    if value is None:
        return default
    number = Fraction(str(value))
    if not 0 < number <= most or (number == most and not inclusive):
        bound = "at most" if inclusive else "below"
        raise InvalidParameter(
            f"argument {name} is {value}", hint=f"A number above 0 and {bound} {float(most):g}."
        )
    return number


def _count(given: Arguments, name: str, default: int) -> int:
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or value < 1:
        raise InvalidParameter(f"argument {name} is {value}", hint="A whole number, 1 or more.")
    return value


def _word(given: Arguments, name: str, known: Iterable[Word]) -> Word | None:
    value = given.get(name)
    if value is None:
        return None
    for word in known:
        if value == word:
            return word
    raise InvalidParameter(f'argument {name} is "{value}"', hint=f"Known: {', '.join(known)}.")


def _delta(given: Arguments, defaults: Defaults) -> Fraction:
    admitted = defaults.delta or Fraction(0)
    asked = _number(given, "delta", admitted, Fraction(1), inclusive=False) or Fraction(0)
    if asked > admitted:
        raise InvalidParameter(
            f"argument delta is more than the policy admits, {float(admitted):g}",
            hint="The curator can declare certify: defaults: delta.",
        )
    return asked


def _check_together(request: Request, defaults: Defaults) -> None:
    if request.mechanism == "gaussian" and not request.delta:
        raise InvalidParameter(
            "mechanism gaussian needs a delta, and the policy admits none",
            hint="The policies promise pure epsilon; the curator can declare certify: defaults: delta.",
        )
    if request.mechanism == "svt" and request.control != "per_statement":
        raise Unsupported(
            f"control {request.control} with mechanism svt: its statements share one noisy threshold",
            hint="Use control per_statement, or mechanism laplace.",
        )
    if request.mechanism != "laplace" and request.margin != "exact":
        raise Unsupported(
            f"margin {request.margin} with mechanism {request.mechanism}",
            hint="Only laplace has several margins.",
        )
    joint = request.mechanism == "hist" or request.template.group_by
    if joint and request.margin == "threshold":
        raise Unsupported(
            "margin threshold for statements that are measured together",
            hint="Steps gain nothing there; use margin exact.",
        )
    if request.mechanism == "hist" and request.template.group_by:
        raise Unsupported(
            "mechanism hist for a template with group_by",
            hint="Its groups share one measurement already; use laplace.",
        )
