"""Consistency of labels (paper sections 5.3 and 6.4), each problem naming its rule and table.

E-Rep   a REP label never holds a key column (checked where labels are read)
F-Pub   a PUB table must not refer to a table whose primary key is private
F-Rep   a REP table's reference to a private primary key must be among its attributes
Owned   a policy labels every table that its entity owns, by itself or through another policy of that entity
Guard   what a label calls private must be protected by a policy whose entity owns the table
"""

from __future__ import annotations

from dp4sql.algebra.ownership import owned_tables
from dp4sql.algebra.schema import ForeignKey, Schema, Table
from dp4sql.policy.labels import Del, Policy, PolicySet, Pub, Rep
from dp4sql.policy.source import Source


def check(policies: PolicySet, found: Source) -> None:
    schema = policies.schema
    if _cyclic(schema, found) or any(p.entity not in schema.tables for p in policies.policies):
        return
    for policy in policies.policies:
        _check_owned(policies, policy, found)
        for name in owned_tables(schema, policy.entity):
            _check_references(schema, policy, schema.table(name), found)
    _check_guarded(policies, found)


# ---------------------------------------------------------------- foreign keys


def _cyclic(schema: Schema, found: Source) -> bool:
    for name in schema.tables:
        cycle = _cycle(schema, name, (name,))
        if cycle is not None:
            found.report(
                ("tables", name, "foreign_keys"),
                f"foreign keys form a cycle: {' -> '.join(cycle)}",
                "ownership needs an order; leave one of the references out of the policy",
                "acyclic",
            )
            return True
    return False


def _cycle(schema: Schema, start: str, path: tuple[str, ...]) -> tuple[str, ...] | None:
    for fk in schema.tables[path[-1]].foreign_keys:
        if fk.references == start:
            return (*path, start)
        if fk.references in schema.tables and fk.references not in path:
            longer = _cycle(schema, start, (*path, fk.references))
            if longer is not None:
                return longer
    return None


# ---------------------------------------------------------------- labels


def _check_owned(policies: PolicySet, policy: Policy, found: Source) -> None:
    """A second policy of an entity may leave out what another policy of that entity labels."""
    others = [p for p in policies.policies if p.entity == policy.entity and p is not policy]
    path = ("policies", policy.name, "labels")
    for table in owned_tables(policies.schema, policy.entity):
        if table not in policy.labels and not any(table in p.labels for p in others):
            found.report(
                path,
                f"policy {policy.name} has no label for {table}, which {policy.entity} owns rows in",
                f"add {table}: del, {table}: {{rep: [...]}} or {table}: pub",
                "Owned",
            )
    for table in policy.max_owned:
        if table in policies.schema.tables and table not in owned_tables(policies.schema, policy.entity):
            found.report(
                ("policies", policy.name, "max_owned", table),
                f"{policy.entity} owns no rows of {table}",
                "max_owned is for tables that refer to the entity, directly or through others",
                "Owned",
            )


def _key_is_private(policy: Policy, table: str) -> bool:
    """Under REP a key never changes, so only deletion makes it private."""
    return isinstance(policy.labels.get(table, Pub()), Del)


def _check_references(schema: Schema, policy: Policy, table: Table, found: Source) -> None:
    label = policy.labels.get(table.name, Pub())
    for fk in table.foreign_keys:
        if not _key_is_private(policy, fk.references):
            continue
        match label:
            case Pub():
                _report_pub(policy, table, fk, found)
            case Rep(attributes) if not frozenset(fk.columns) <= attributes:
                _report_rep(policy, table, fk, found)
            case _:
                pass


def _report_pub(policy: Policy, table: Table, fk: ForeignKey, found: Source) -> None:
    columns = ", ".join(fk.columns)
    found.report(
        ("policies", policy.name, "labels", table.name),
        f"{table.name} is pub but its {columns} refers to {fk.references}, whose rows are del: "
        f"the reference would show that the row exists",
        f"label {table.name} {{rep: [{columns}]}} or del, or label {fk.references} {{rep: [...]}}",
        "F-Pub",
    )


def _report_rep(policy: Policy, table: Table, fk: ForeignKey, found: Source) -> None:
    columns = ", ".join(fk.columns)
    in_key = frozenset(fk.columns) & frozenset(table.key)
    way = f"label {table.name} del" if in_key else f"add {columns} to its rep list"
    found.report(
        ("policies", policy.name, "labels", table.name),
        f"{table.name} is rep without {columns}, which refers to {fk.references}, whose rows are del",
        f"{way}, or label {fk.references} {{rep: [...]}}",
        "F-Rep",
    )


# ---------------------------------------------------------------- protection


def _protected(policies: PolicySet, table: str) -> frozenset[str] | None:
    """Columns of `table` that owning policies protect; None when rows themselves are protected."""
    columns: frozenset[str] = frozenset()
    for policy in policies.policies:
        if table not in owned_tables(policies.schema, policy.entity):
            continue
        match policy.labels.get(table, Pub()):
            case Del():
                return None
            case Rep(attributes):
                columns |= attributes
            case Pub():
                pass
    return columns


def _check_guarded(policies: PolicySet, found: Source) -> None:
    for policy in policies.policies:
        for table, label in policy.labels.items():
            if table not in policies.schema.tables or table in owned_tables(policies.schema, policy.entity):
                continue
            _check_guard(policies, policy, table, label, found)


def _check_guard(policies: PolicySet, policy: Policy, table: str, label: Del | Rep | Pub, found: Source) -> None:
    if isinstance(label, Pub):
        return
    path = ("policies", policy.name, "labels", table)
    word = "del" if isinstance(label, Del) else "rep"
    owners = {p.entity for p in policies.policies if table in owned_tables(policies.schema, p.entity)}
    if not owners:
        found.report(
            path,
            f"{table} is labelled {word} by policy {policy.name}, but no entity owns it",
            f"add a policy for {table}, or label it pub",
            "Guard",
        )
        return
    protected = _protected(policies, table)
    if protected is None:
        return
    missing = sorted(label.attributes - protected) if isinstance(label, Rep) else ["its rows"]
    if missing:
        found.report(
            path,
            f"{table} is labelled {word} by policy {policy.name}, but the policies of {', '.join(sorted(owners))}, "
            f"which own it, do not protect {', '.join(missing)}",
            f"label {table} the same in a policy of its owner, or weaken the label here",
            "Guard",
        )
