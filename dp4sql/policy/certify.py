"""The `certify:` section of a policy file: templates of statements whose support may be certified.

A template's texts name slots in braces: {sid}, or {band.lo} where the values of a slot have fields. In
`text`, {theta} is the threshold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, PlainValidator, Tag

from dp4sql.algebra.types import Type, Value
from dp4sql.policy.lines import Where
from dp4sql.policy.models import FileModel, Names, Scalar, TypeName
from dp4sql.policy.source import Source, suggest
from dp4sql.policy.types import Span, domain_value, exact

MarginKind: TypeAlias = Literal["exact", "threshold", "sharp", "paper"]
Control: TypeAlias = Literal["per_statement", "report", "bonferroni", "fdr"]
Mechanism: TypeAlias = Literal["laplace", "gaussian", "hist", "svt"]

SlotValue: TypeAlias = Mapping[str, Value]
"""The fields of one value of a slot; a plain value has the one field ""."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What a slot may be: `values`, the rows of a `public_query`, or whatever of `type` a call binds."""

    values: tuple[SlotValue, ...] = ()
    public_query: str | None = None
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A family of statements. With `group_by` there is one for each group, and no `predicate` is needed."""

    text: str
    population: str
    predicate: str | None = None
    slots: Mapping[str, Slot] = field(default_factory=dict)
    group_by: tuple[str, ...] = ()
    thetas: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a call leaves out. `cap`: how many statements svt selects at most, or a row counts for under hist.
    `delta` is what the curator admits for the Gaussian mechanism, all calls together; None admits none."""

    beta: Fraction = Fraction(1, 20)
    margin: MarginKind = "exact"
    control: Control = "per_statement"
    mechanism: Mechanism = "laplace"
    max_statements: int = 200
    cap: int = 8
    select_share: Fraction = Fraction(1)
    delta: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Certify:
    defaults: Defaults = Defaults()
    templates: Mapping[str, Template] = field(default_factory=dict)


# ---------------------------------------------------------------- names of slots

REFERENCE: Final = re.compile(r"\{([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?\}")
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'")


def references(text: str) -> Iterator[tuple[str, str]]:
    """Slots and fields that `text` names, in order; the field of a plain value is ""."""
    for match in REFERENCE.finditer(text):
        yield match[1], match[2] or ""


def shown(slot: str, field: str) -> str:
    return f"{{{slot}.{field}}}" if field else f"{{{slot}}}"


# ---------------------------------------------------------------- the shape of the file


def _within(span: Span) -> PlainValidator:
    def check(raw: Any) -> Fraction:
        number = exact(raw)
        if number not in span:
            raise ValueError(str(span))
        return number

    return PlainValidator(check, json_schema_input_type=float)


SHARE: Final = Span(Fraction(1, 10**6), Fraction(1), decimals=6)
"""Thresholds a / b with a small b, as weights of a private population are b N - a n."""

RISK: Final = Span(Fraction(1, 10**12), Fraction(1, 2), closed=False)
DELTA: Final = Span(Fraction(1, 10**30), Fraction(1), closed=False)
MOST_STATEMENTS: Final = 10_000

Share = Annotated[Fraction, _within(SHARE)]
Risk = Annotated[Fraction, _within(RISK)]
Delta = Annotated[Fraction, _within(DELTA)]
Few = Annotated[int, Field(ge=1, le=MOST_STATEMENTS)]
_one_or_list = Discriminator(lambda raw: "(list)" if isinstance(raw, list) else "(one)")
_value_or_fields = Discriminator(lambda raw: "(fields)" if isinstance(raw, dict) else "(value)")


class SlotModel(FileModel):
    """One of values, public_query and type."""

    values: (
        list[
            Annotated[
                Annotated[dict[str, Scalar], Tag("(fields)")] | Annotated[Scalar, Tag("(value)")],
                _value_or_fields,
            ]
        ]
        | None
    ) = Field(default=None, description="[value, ...] or [{field: value, ...}, ...]")
    public_query: str | None = Field(
        default=None,
        description="a SELECT whose rows are the values; it may read public data alone",
    )
    type: TypeName | None = Field(
        default=None,
        description="the type of values, or of what a call binds where there is no list",
    )


class TemplateModel(FileModel):
    """A family of statements that differ in what their slots hold."""

    text: str = Field(description="the statement; {theta} and {slot} stand for their values")
    population: str = Field(description="a SELECT of the rows that the statement is about")
    predicate: str | None = Field(
        default=None, description="the condition that supporting rows meet"
    )
    group_by: (
        Annotated[
            Annotated[str, Tag("(one)")] | Annotated[Names, Tag("(list)")],
            _one_or_list,
        ]
        | None
    ) = Field(
        default=None, description="a column, or [column, ...]: one statement a group, one price"
    )
    slots: dict[str, SlotModel] = Field(
        default_factory=dict, description="{slot: {values: [...]}} or {slot: {public_query: ...}}"
    )
    theta: Annotated[
        Annotated[Share, Tag("(one)")]
        | Annotated[Annotated[list[Share], Field(min_length=1)], Tag("(list)")],
        _one_or_list,
    ] = Field(description="thresholds from 0.000001 to 1, such as [0.1, 0.25]")


class DefaultsModel(FileModel):
    """What a call of dp4sql.certify leaves out."""

    beta: Risk = Field(
        default=Fraction(1, 20), description="the risk of a false statement, between 0 and 1/2"
    )
    margin: MarginKind = Field(default="exact", description="exact, threshold, sharp or paper")
    control: Control = Field(
        default="per_statement", description="per_statement, report, bonferroni or fdr"
    )
    mechanism: Mechanism = Field(default="laplace", description="laplace, gaussian, hist or svt")
    max_statements: Few = Field(default=200, description="the most statements of one call")
    cap: Few = Field(
        default=8, description="the most statements that svt selects or hist counts a row for"
    )
    select_share: Share = Field(
        default=Fraction(1),
        description="what svt spends on selecting, of 1; the rest certifies afresh",
    )
    delta: Delta | None = Field(
        default=None,
        description="what all calls with gaussian may add up to beside epsilon; none when left out",
    )


class CertifyModel(FileModel):
    """Templates of certified statements."""

    defaults: DefaultsModel = Field(
        default_factory=lambda: DefaultsModel(),
        description="{beta: 0.05, max_statements: 200, ...}",
    )
    templates: dict[str, TemplateModel] = Field(
        default_factory=dict, description="{template: {text: ..., population: ..., ...}}"
    )


# ---------------------------------------------------------------- checks


def load_certify(model: CertifyModel, source: Source) -> Certify:
    """The section as templates; every mistake in it goes to `source`."""
    defaults = Defaults(
        **{name: getattr(model.defaults, name) for name in DefaultsModel.model_fields}
    )
    built = {name: _template(name, m, source) for name, m in model.templates.items()}
    return Certify(defaults, built)


def _template(name: str, model: TemplateModel, source: Source) -> Template:
    where: Where = ("certify", "templates", name)
    groups = model.group_by or []
    template = Template(
        text=model.text,
        population=model.population,
        predicate=model.predicate,
        slots={n: _slot(m, source, (*where, "slots", n)) for n, m in model.slots.items()},
        group_by=(groups,) if isinstance(groups, str) else tuple(groups),
        thetas=tuple(model.theta) if isinstance(model.theta, list) else (model.theta,),
    )
    if model.predicate is None and not template.group_by:
        source.report(where, "no predicate", "add predicate: a condition, or group_by: a column")
    _check_references(template, source, where)
    return template


def _slot(model: SlotModel, source: Source, where: Where) -> Slot:
    given = [n for n in ("values", "public_query") if getattr(model, n) is not None]
    if len(given) > 1 or (not given and model.type is None):
        source.report(
            where,
            f"a slot with {' and '.join(given) or 'no values'}",
            "give values or public_query",
        )
    values = []
    for i, raw in enumerate(model.values or ()):
        try:
            fields = raw if isinstance(raw, dict) else {"": raw}
            values.append({n: _value(v, model.type) for n, v in fields.items()})
        except ValueError as error:
            source.report((*where, "values", i), f"{raw} does not fit the slot", f"wanted: {error}")
    if len({frozenset(value) for value in values}) > 1:
        source.report(
            (*where, "values"), "values with different fields", "give all the same fields"
        )
    return Slot(tuple(values), model.public_query, model.type)


def _value(raw: Any, type: Type | None) -> Value:
    value: Value = raw if type is None else domain_value(raw, type)
    return value


def _check_references(template: Template, source: Source, where: Where) -> None:
    used: set[str] = set()
    own = {"theta", *template.group_by}
    for part in ("text", "population", "predicate"):
        text = getattr(template, part) or ""
        for slot, name in references(text):
            used.add(slot)
            if not (part == "text" and slot in own):
                _check_reference(template, slot, name, source, (*where, part))
        if part != "text" and any(REFERENCE.search(q) for q in _QUOTED.findall(text)):
            hint = "a slot stands for a whole value: write name = {slot} without quotes"
            source.report((*where, part), "a slot inside quotes", hint)
    for slot in sorted(set(template.slots) - used):
        source.report((*where, "slots", slot), f'slot "{slot}" is not used', "remove it")


def _check_reference(
    template: Template, slot: str, name: str, source: Source, where: Where
) -> None:
    known = template.slots.get(slot)
    if known is None:
        source.report(where, f"there is no slot {shown(slot, name)}", suggest(slot, template.slots))
    elif known.values and name not in known.values[0]:
        fields = [shown(slot, field) for field in known.values[0]]
        source.report(where, f"{shown(slot, name)} is no field", f"known: {', '.join(fields)}")
