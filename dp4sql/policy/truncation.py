"""What `enforce: truncate` does to neighbours: of each value of some columns, so many rows are kept.

Queries see the database T(D) that is left: a table loses the rows beyond its bound, ranked by a hash of
their keys, and every table loses the rows whose parent is lost. The bounds and references of the schema
hold in T(D) by construction.

Where T maps neighbours to neighbours the calculus applies to T(D) as it stands. It does

* where the table's rows stay the same, or change in neither the columns of the bound nor the key:
  the same rows are kept on both sides (keys are never REP);
* where the table is DEL and rows that share a value of the bound's columns have one owner: what is
  deleted is all of what was kept for that value, and other values keep what they had.

Elsewhere a row that goes lets another one in, and one that comes pushes one out, whoever owns it. Each is
one slot whose rows agree in the bound's columns alone; a row that moves from one value to another
does both. The rows that change are then those of the engine, so their number must be bounded without
this truncation. A table in this state may have no children, for they would come and go with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from dp4sql.algebra.bounds import finite
from dp4sql.algebra.ownership import owned_bounds, owned_tables, settles_owner
from dp4sql.algebra.schema import ForeignKey, Schema, Table
from dp4sql.policy.labels import Del, Policy, Pub, Rep
from dp4sql.policy.lines import Where
from dp4sql.policy.source import Source


def displaced(schema: Schema, policy: Policy, table: Table) -> int:
    """How many slots a changed row of the engine takes after truncation; 0: neighbours stay neighbours."""
    bound = table.truncation
    if bound is None or table.name not in owned_tables(schema, policy.entity):
        return 0
    match policy.labels.get(table.name, Pub()):
        case Pub():
            return 0
        case Del():
            return 0 if settles_owner(schema, policy.entity, table.name, bound.columns) else 1
        case Rep(attributes):
            return 2 if attributes & bound.columns else 0
        case label:
            assert_never(label)


def displaced_tables(schema: Schema, policy: Policy) -> dict[str, int]:
    """The tables for which `displaced` is not 0."""
    slots = {name: displaced(schema, policy, table) for name, table in schema.tables.items()}
    return {name: n for name, n in slots.items() if n}


# ---------------------------------------------------------------- the policy file


def with_cut_parents(schema: Schema) -> Schema:
    """Every table with those of its parents that truncation takes rows from."""
    done: dict[str, Table] = {}

    def cut(name: str) -> Table:
        if name not in done:
            table = schema.table(name)
            parents = [(fk, cut(fk.references)) for fk in table.foreign_keys]
            lost = tuple((fk, parent) for fk, parent in parents if parent.cut)
            done[name] = replace(table, cut_parents=lost)
        return done[name]

    return Schema({name: cut(name) for name in schema.tables})


def check_truncation(schema: Schema, policies: tuple[Policy, ...], source: Source) -> None:
    """Reports where a policy leaves a truncated table without a bound."""
    for policy in policies:
        for name in displaced_tables(schema, policy):
            _check_displaced(schema, policy, schema.table(name), source)
        for table in schema.tables.values():
            for fk, parent in table.cut_parents:
                _check_moving(policy, table, fk, parent, source)


def _place(table: Table) -> Where:
    return ("tables", table.name, "max_frequency")


def _check_displaced(schema: Schema, policy: Policy, table: Table, source: Source) -> None:
    bound = table.truncation
    assert bound is not None
    what = f"truncation of {table.name} by {', '.join(sorted(bound.columns))}"
    children = list(_children(schema, table))
    if children:
        found = (
            f"{what} lets rows of others in and out under policy {policy.name}, "
            f"and {children[0]} refers to {table.name}"
        )
        hint = _remedy(policy, table, "trust the bound")
        source.report(_place(table), found, hint, "truncation")
        return
    raw = owned_bounds(schema, policy.entity, policy.max_owned, trusted=(table.name,))
    if not finite(raw[table.name]):
        found = (
            f"{what} does not limit what one {policy.entity} can change under policy {policy.name}: "
            f"any number of its rows may "
            + ("move" if isinstance(policy.labels[table.name], Rep) else "make room for others")
        )
        own = f"declare max_owned or a trusted bound for the rows one {policy.entity} owns"
        source.report(_place(table), found, _remedy(policy, table, own), "truncation")


def _remedy(policy: Policy, table: Table, else_: str) -> str:
    if isinstance(policy.labels[table.name], Rep):
        return f"label {table.name} del under policy {policy.name}, or {else_}"
    return f"truncate by the reference to the owner, or {else_}"


def _children(schema: Schema, table: Table) -> Iterator[str]:
    for other in schema.tables.values():
        if any(fk.references == table.name for fk in other.foreign_keys):
            yield other.name


def _check_moving(
    policy: Policy, table: Table, fk: ForeignKey, parent: Table, source: Source
) -> None:
    label = policy.labels.get(table.name, Pub())
    if isinstance(label, Rep) and label.attributes & frozenset(fk.columns):
        found = (
            f"{parent.name} loses rows by truncation, and rows of {table.name} may move to or from them "
            f"under policy {policy.name}, where {', '.join(fk.columns)} is rep"
        )
        hint = f"label {table.name} del under policy {policy.name}, or trust the bound of {parent.name}"
        source.report(("policies", policy.name, "labels", table.name), found, hint, "truncation")
