"""Consistency of a policy file (paper, Definition 3.1, sections 5.3, 6.4). Problems name a rule:

acyclic      No table refers to itself through foreign keys, or nobody could tell who owns what.
E-Rep,       A REP label names columns of the table, none of them in its key: rows are told apart by
F-Rep        their keys, which therefore stay. (Checked where labels are read.)
F-Pub        A PUB table refers to no private primary key: its public reference would show that the
             row exists. A primary key is private where its table is DEL, as REP never touches it.
F-Rep        A REP table's reference to a private primary key is among its attributes: once the row
             is gone, the reference has to point elsewhere.
ownership    One policy of each entity labels every table that the entity owns rows in. Further
             policies of that entity may leave tables out, which are PUB under them.
protection   What any policy labels as private is labelled as private by a policy whose entity owns
             the table. Only owners protect: under other policies a label has no effect, so a table
             that no entity owns would be answered exactly, however it is labelled.

F-Pub and F-Rep hold for every label, also one without effect: labels say what is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from dp4sql.algebra.ownership import owned_tables
from dp4sql.algebra.schema import ForeignKey, Schema, Table
from dp4sql.policy.labels import Del, Label, Policy, Pub, Rep
from dp4sql.policy.lines import Where
from dp4sql.policy.source import Source


def check(schema: Schema, policies: tuple[Policy, ...], source: Source) -> tuple[Policy, ...]:
    """`policies` with PUB for the owned tables they leave out; problems go to `source`."""
    if _settled(schema, policies, source):
        _check_complete(schema, policies, source)
        _check_max_owned(schema, policies, source)
        _check_protection(schema, policies, source)
        policies = tuple(_completed(schema, policy, source) for policy in policies)
    for policy in policies:
        for name, label in policy.labels.items():
            if name in schema.tables:
                _check_references(policy, schema.table(name), label, source)
    return policies


def _settled(schema: Schema, policies: tuple[Policy, ...], source: Source) -> bool:
    """Whether ownership can be told: the tables, their references and the entities are sound."""
    for name in source.names("tables"):
        table: Where = ("tables", name)
        if name not in schema.tables or any(
            source.broken((*table, s)) for s in ("foreign_keys", "key")
        ):
            return False
    if len(policies) < len(source.names("policies")):
        return False
    return _acyclic(schema, source) and all(p.entity in schema.tables for p in policies)


def _place(policy: Policy, table: str) -> Where:
    return ("policies", policy.name, "labels", table)


# ---------------------------------------------------------------- acyclic


def _acyclic(schema: Schema, source: Source) -> bool:
    cycle = next((c for name in schema.tables for c in _cycles(schema, (name,))), None)
    if cycle is None:
        return True
    found = f"foreign keys form a cycle: {' -> '.join(cycle)}"
    hint = "ownership follows references one way: leave one of them out of the policy"
    source.report(("tables", cycle[0], "foreign_keys"), found, hint, "acyclic")
    return False


def _cycles(schema: Schema, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Ways along foreign keys from the first table of `path` back to it."""
    for fk in schema.table(path[-1]).foreign_keys:
        if fk.references == path[0]:
            yield (*path, path[0])
        elif fk.references not in path:
            yield from _cycles(schema, (*path, fk.references))


# ---------------------------------------------------------------- F-Pub, F-Rep


def _check_references(policy: Policy, table: Table, label: Label, source: Source) -> None:
    for fk in table.foreign_keys:
        if not isinstance(policy.labels.get(fk.references), Del):
            continue
        match label:
            case Pub():
                _report_pub(policy, table, fk, source)
            case Rep(attributes):
                if missing := [c for c in fk.columns if c not in attributes]:
                    _report_rep(policy, table, fk, missing, source)
            case Del():
                pass
            case _:
                assert_never(label)


def _report_pub(policy: Policy, table: Table, fk: ForeignKey, source: Source) -> None:
    columns = ", ".join(fk.columns)
    written = source.names("policies", policy.name, "labels")
    stays = "is pub" if table.name in written else "is left out, hence pub,"
    found = (
        f"table {table.name} {stays} under policy {policy.name}, "
        f"but its {columns} refers to {fk.references}, which is del"
    )
    own = "del" if frozenset(fk.columns) & frozenset(table.key) else f"del or {{rep: [{columns}]}}"
    hint = f"label {table.name} {own}, or {fk.references} rep or pub"
    source.report(_place(policy, table.name), found, hint, "F-Pub")


def _report_rep(
    policy: Policy, table: Table, fk: ForeignKey, missing: list[str], source: Source
) -> None:
    found = (
        f"table {table.name} is rep without {', '.join(missing)} under policy {policy.name}, "
        f"but refers to {fk.references} by it, which is del"
    )
    in_key = frozenset(missing) & frozenset(table.key)
    own = (
        f"label {table.name} del (a key cannot be rep)"
        if in_key
        else f"add {', '.join(missing)} to its rep list"
    )
    hint = f"{own}, or label {fk.references} rep or pub"
    source.report(_place(policy, table.name), found, hint, "F-Rep")


# ---------------------------------------------------------------- ownership


def _check_complete(schema: Schema, policies: tuple[Policy, ...], source: Source) -> None:
    for entity in dict.fromkeys(policy.entity for policy in policies):
        own = [policy for policy in policies if policy.entity == entity]
        gaps = {policy.name: _unlabelled(schema, policy, source) for policy in own}
        fullest = min(own, key=lambda policy: len(gaps[policy.name]))
        for table in gaps[fullest.name]:
            found = (
                f"policy {fullest.name} has no label for table {table}, in which {entity} owns rows"
            )
            hint = f"add {table}: del, {table}: {{rep: [...]}} or {table}: pub"
            source.report(("policies", fullest.name, "labels"), found, hint, "ownership")


def _unlabelled(schema: Schema, policy: Policy, source: Source) -> list[str]:
    where: Where = ("policies", policy.name, "labels")
    written = source.names(*where)
    if not written and source.broken(where):
        return []
    return [table for table in owned_tables(schema, policy.entity) if table not in written]


def _completed(schema: Schema, policy: Policy, source: Source) -> Policy:
    if source.broken(("policies", policy.name, "labels")):
        return policy
    left_out = {t: Pub() for t in owned_tables(schema, policy.entity) if t not in policy.labels}
    return replace(policy, labels={**policy.labels, **left_out})


def _check_max_owned(schema: Schema, policies: tuple[Policy, ...], source: Source) -> None:
    for policy in policies:
        owned = owned_tables(schema, policy.entity)
        for table in policy.max_owned:
            if table in schema.tables and table not in owned:
                found = f"{policy.entity} owns no rows of table {table}"
                hint = f"max_owned is for {', '.join(owned)}"
                source.report(
                    ("policies", policy.name, "max_owned", table), found, hint, "ownership"
                )


# ---------------------------------------------------------------- protection


def _check_protection(schema: Schema, policies: tuple[Policy, ...], source: Source) -> None:
    for policy in policies:
        for table, label in policy.labels.items():
            if isinstance(label, Pub) or table not in schema.tables:
                continue
            owners = [p for p in policies if table in owned_tables(schema, p.entity)]
            if not owners:
                _report_unowned(policy, schema, table, source)
            elif policy not in owners:
                _check_owners(policy, table, label, owners, source)


def _word(label: Label) -> str:
    return "del" if isinstance(label, Del) else "rep"


def _report_unowned(policy: Policy, schema: Schema, table: str, source: Source) -> None:
    word = _word(policy.labels[table])
    found = f"table {table} is labelled {word} by policy {policy.name}, but no entity owns it"
    hint = f"add a policy for {' or '.join(_roots(schema, table))}, or label it pub"
    source.report(_place(policy, table), found, hint, "protection")


def _roots(schema: Schema, table: str) -> list[str]:
    """The tables that own rows of `table` and that nothing owns: the natural entities."""
    parents = [fk.references for fk in schema.table(table).foreign_keys]
    above = [root for parent in parents for root in _roots(schema, parent)]
    return list(dict.fromkeys(above)) or [table]


def _check_owners(
    policy: Policy, table: str, label: Label, owners: list[Policy], source: Source
) -> None:
    held = [owner.labels.get(table, Pub()) for owner in owners]
    if source.broken(_place(policy, table)) or any(source.broken(_place(o, table)) for o in owners):
        return
    if any(isinstance(own, Del) for own in held):
        return
    kept = frozenset().union(*(own.attributes for own in held if isinstance(own, Rep)))
    bare = (
        sorted(label.attributes - kept) if isinstance(label, Rep) else ["the existence of its rows"]
    )
    if bare:
        entities = ", ".join(dict.fromkeys(owner.entity for owner in owners))
        found = (
            f"table {table} is labelled {_word(label)} by policy {policy.name}, "
            f"but the policies of its owner {entities} do not protect {', '.join(bare)}"
        )
        hint = f"label {table} as strongly in a policy for {entities}, or weaken the label here"
        source.report(_place(policy, table), found, hint, "protection")
