"""Slots of a template: the types of their fields, and the values that they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, product
from typing import Any, TypeAlias

from dp4sql.algebra.nodes import Node
from dp4sql.algebra.types import BIGINT, BOOLEAN, NUMERIC, TEXT, Type, Value
from dp4sql.errors import Dp4sqlError, InvalidParameter, Refused
from dp4sql.infer.facts import Facts
from dp4sql.mechanisms.calls import Environment
from dp4sql.mechanisms.fitting import fit
from dp4sql.mechanisms.plan import Planner, in_order
from dp4sql.policy.certify import Slot, SlotValue, Template
from dp4sql.policy.labels import PolicySet
from dp4sql.policy.types import domain_value
from dp4sql.rows import OutputColumn
from dp4sql.sql.lower import lower
from dp4sql.sql.render import Renderer

Binding: TypeAlias = Mapping[str, SlotValue]
"""A value for each slot."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the values of a slot come from: the policy file (or a call), or a public view."""

    fields: Mapping[str, Type]
    values: tuple[SlotValue, ...] = ()
    view: tuple[Node, tuple[tuple[str, str], ...]] | None = None


@contextmanager
def named(part: str) -> Iterator[None]:
    """Errors inside say which argument or part of a template they are about."""
    try:
        yield
    except Dp4sqlError as error:
        raise type(error)(f"{part}: {error.message}", hint=error.hint) from None


def sources(
    policies: PolicySet, template: Template, bind: Mapping[str, Any]
) -> Mapping[str, Source]:
    """Of every slot; Refused where a public query reads what some policy protects."""
    return {n: _source(policies, n, slot, bind.get(n)) for n, slot in template.slots.items()}


def _source(policies: PolicySet, name: str, slot: Slot, bound: Any) -> Source:
    if slot.public_query is not None:
        with named(f"slot {name}"):
            return _view(policies, slot.public_query)
    values = slot.values
    if not values:
        values = ({"": _bound_value(name, slot.type or TEXT, bound)},)
    fields = {field: slot.type or _type([v[field] for v in values]) for field in values[0]}
    return Source(fields, values)


def _view(policies: PolicySet, query: str) -> Source:
    facts = Facts()
    found = lower(query, policies.schema, policies.covered, facts, ()).query
    if not Planner(policies, facts).is_public(found.node):
        raise Refused(
            "public_query reads private rows: its answer is not the same in neighbouring databases",
            hint="Only columns and tables that no policy protects may list the values of a slot.",
        )
    names = [c.name for c in found.columns] if len(found.columns) > 1 else [""]
    fields = dict(zip(names, (c.type for c in found.columns), strict=True))
    outputs = tuple((c.id, f"c{i}") for i, c in enumerate(found.columns))
    return Source(fields, view=(in_order(policies, found.node), outputs))


def _bound_value(name: str, type: Type, bound: Any) -> Value:
    try:
        return domain_value(bound, type)
    except ValueError as error:
        raise InvalidParameter(
            f"argument bind: {name} is {bound}", hint=f"Wanted: {error}."
        ) from None


def _type(values: Sequence[Value]) -> Type:
    if all(isinstance(v, bool) for v in values):
        return BOOLEAN
    if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return BIGINT
    if all(isinstance(v, int | Decimal) and not isinstance(v, bool) for v in values):
        return NUMERIC
    return TEXT


# ---------------------------------------------------------------- values


async def bindings(
    env: Environment, found: Mapping[str, Source], bind: Mapping[str, Any], most: int
) -> list[Binding]:
    """Every combination of slot values that `bind` leaves, in public order; Refused beyond `most`."""
    options = [await _values(env, n, s, bind) for n, s in found.items()]
    listed = list(islice(product(*options), most + 1))
    if len(listed) > most:
        raise too_many(most)
    return [dict(zip(found, values, strict=True)) for values in listed]


def too_many(most: int) -> Refused:
    return Refused(
        f"more than max_statements = {most} statements",
        hint="Each costs. Bind some slots, or raise max_statements.",
    )


async def _values(
    env: Environment, name: str, source: Source, bind: Mapping[str, Any]
) -> Sequence[SlotValue]:
    values = source.values if source.view is None else await _read(env, source)
    if name not in bind:
        return values
    kept = [value for value in values if _matches(value, bind[name])]
    if not kept:
        raise InvalidParameter(
            f"argument bind: slot {name} has no value {bind[name]}",
            hint="A slot takes the values that its template lists.",
        )
    return kept


async def _read(env: Environment, source: Source) -> Sequence[SlotValue]:
    assert source.view is not None
    node, outputs = source.view
    columns = [
        OutputColumn(name, t) for (_, name), t in zip(outputs, source.fields.values(), strict=True)
    ]
    rows = await env.fetch(Renderer(env.dialect).statement(node, outputs), columns)
    cells = zip(*rows.open_columns(), strict=True)
    return [
        {f: fit(v, t) for (f, t), v in zip(source.fields.items(), row, strict=True)}
        for row in cells
    ]


def _matches(value: SlotValue, bound: Any) -> bool:
    """A plain value by its text; one with fields by those that are given, or by any one of them."""
    if isinstance(bound, dict):
        return all(f in value and str(value[f]) == str(b) for f, b in bound.items())
    return any(str(v) == str(bound) for v in value.values())
