"""The `policies:` section as Policies, reporting unknown names and labels that make no sense."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from dp4sql.algebra.schema import Schema
from dp4sql.policy.labels import Del, Label, Policy, Pub, Rep
from dp4sql.policy.limits import (
    allowance,
    amounts,
    check_accountant,
    check_accountants,
    check_limits,
)
from dp4sql.policy.lines import Where
from dp4sql.policy.models import PolicyModel, RepModel
from dp4sql.policy.source import Source, suggest
from dp4sql.policy.tables import known_columns


def build_policies(
    models: dict[str, PolicyModel], schema: Schema, source: Source
) -> tuple[Policy, ...]:
    """The policies that can be read; every problem in them goes to `source`."""
    if not models and not source.broken(("policies",)):
        hint = "nothing may be read without one: add a policy for each entity to protect"
        source.report(("policies",), "no policy", hint)
    policies = tuple(_policy(name, model, schema, source) for name, model in models.items())
    check_accountants(policies, source)
    return policies


def _policy(name: str, model: PolicyModel, schema: Schema, source: Source) -> Policy:
    where: Where = ("policies", name)
    _known_tables([model.entity], (*where, "entity"), source)
    for section, tables in (("labels", model.labels), ("max_owned", model.max_owned)):
        for table in tables:
            _known_tables([table], (*where, section, table), source)
    policy = Policy(
        name=name,
        entity=model.entity,
        epsilon=model.epsilon,
        labels={
            table: _label(label, table, model.entity, schema, (*where, "labels", table), source)
            for table, label in model.labels.items()
        },
        budget=model.budget,
        max_owned=dict(model.max_owned),
        comment=model.comment,
        max_charge=model.max_charge,
        renewal=amounts(model.renewal),
        roles={role: allowance(of_role) for role, of_role in model.roles.items()},
        accountant=model.accountant,
        delta=model.delta,
    )
    check_accountant(policy, source)
    if not source.broken((*where, "epsilon")):
        check_limits(policy, source)
    return policy


def _known_tables(names: Iterable[str], where: Where, source: Source) -> None:
    declared = source.names("tables")
    for name in names:
        if declared and name not in declared:
            source.report(where, f'table "{name}" is not declared', suggest(name, declared))


def _label(
    model: RepModel | str, table: str, entity: str, schema: Schema, where: Where, source: Source
) -> Label:
    if not isinstance(model, RepModel):
        return Del() if model == "del" else Pub()
    declared = schema.tables.get(table)
    if declared is None:
        return Rep(frozenset())
    key = frozenset(declared.key)
    match model.rep:
        case "all":
            return Rep(frozenset(declared.columns) - key)
        case list(names):
            rule = "E-Rep" if table == entity else "F-Rep"
            _check_attributes(names, table, key, rule, (*where, "rep"), source)
            return Rep(frozenset(names) - key)
        case _ as unreachable:
            assert_never(unreachable)


def _check_attributes(
    names: list[str], table: str, key: frozenset[str], rule: str, where: Where, source: Source
) -> None:
    """A REP label replaces values and keeps rows, which their keys tell apart."""
    known_columns(names, table, where, source, rule)
    for i, name in enumerate(names):
        if name in key:
            found = f'table {table} is rep "{name}", which is part of its key'
            hint = (
                f"a key cannot be replaced: take {name} out, or label {table} del to hide its rows"
            )
            source.report((*where, i), found, hint, rule)
