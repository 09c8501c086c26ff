"""The arguments of dp4sql.certify as a checked request. Nothing here reads data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, get_args

from dp4sql.errors import InvalidParameter, Unsupported
from dp4sql.mechanisms.arguments import EPSILON, count, meant, number, word
from dp4sql.mechanisms.calls import Arguments
from dp4sql.policy.certify import (
    DELTA,
    MOST_STATEMENTS,
    RISK,
    SHARE,
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
    most_delta: Fraction | None


def read_request(policies: PolicySet, given: Arguments) -> Request:
    """InvalidParameter or Unsupported, naming the argument, when the request cannot be met."""
    section: Certify = policies.extras.get("certify", Certify())
    defaults = section.defaults
    template = _template(section, given)
    request = Request(
        template=template,
        thetas=_thetas(template, given),
        bind=_bind(template, given),
        epsilon=number(given, "epsilon", EPSILON),
        beta=number(given, "beta", RISK) or defaults.beta,
        mechanism=word(given, "mechanism", get_args(Mechanism)) or defaults.mechanism,
        control=word(given, "control", get_args(Control)) or defaults.control,
        margin=word(given, "margin", get_args(MarginKind)) or defaults.margin,
        max_statements=count(given, "max_statements", MOST_STATEMENTS) or defaults.max_statements,
        cap=count(given, "cap", MOST_STATEMENTS) or defaults.cap,
        select_share=number(given, "select_share", SHARE) or defaults.select_share,
        delta=_delta(given, defaults),
        most_delta=defaults.delta,
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
        known = section.templates or ["none; the curator can add a certify: section"]
        raise InvalidParameter(
            f'argument template: there is no template "{name}"', hint=meant(str(name), known)
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
    value = number(given, "theta", SHARE)
    if value is None and not template.thetas:
        raise InvalidParameter(
            "argument theta is missing", hint="The threshold, above 0 and at most 1."
        )
    return template.thetas if value is None else (value,)


def _bind(template: Template, given: Arguments) -> Mapping[str, Any]:
    text = given.get("bind")
    try:
        bound = (
            {} if text is None else json.loads(str(text), parse_float=Decimal, parse_constant=str)
        )
    except (ValueError, RecursionError):
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


CALLS: Final = 100
"""So many calls with gaussian share the policy's delta, unless they ask for less or more of it."""


def _delta(given: Arguments, defaults: Defaults) -> Fraction:
    admitted = defaults.delta or Fraction(0)
    asked = number(given, "delta", DELTA) or admitted / CALLS
    if asked > admitted:
        raise InvalidParameter(
            f"argument delta is more than the policy admits in all, {float(admitted):g}",
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
