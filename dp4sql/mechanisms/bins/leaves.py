"""Columns that grouping keys are made of: where they come from, and which of their values anybody may know."""

from __future__ import annotations

from dp4sql.algebra.expr import Call, Expr, In, Lit
from dp4sql.algebra.nodes import Scan
from dp4sql.algebra.schema import Column, ForeignKey
from dp4sql.algebra.types import Value
from dp4sql.infer.ranges import holds
from dp4sql.mechanisms.origin import Origin
from dp4sql.policy.labels import PolicySet
from dp4sql.sql.lower.joins import equality


class Leaves:
    """Of one query, by the scans and conditions of its origin."""

    def __init__(self, policies: PolicySet, origin: Origin) -> None:
        self.policies, self.origin = policies, origin
        self.scans = {scan.alias: scan for scan in origin.scans}

    def source(self, leaf: str) -> tuple[Scan, Column] | None:
        for scan in self.scans.values():
            name = leaf.removeprefix(f"{scan.alias}.")
            if leaf == f"{scan.alias}.{name}" and name in scan.table.columns:
                return scan, scan.table.columns[name]
        return None

    def alias(self, leaf: str) -> str:
        source = self.source(leaf)
        return source[0].alias if source is not None else ""

    def is_public(self, leaf: str) -> bool:
        source = self.source(leaf)
        if source is None or leaf in self.origin.padded:
            return False
        return source[1].name in self.policies.public_columns(source[0].table.name)

    def listed(self, expr: Expr) -> tuple[Value, ...] | None:
        """Values that a condition of the query limits `expr` to, of those that its type can have."""
        for part in self.origin.conditions:
            match part:
                case In(arg, options) if arg == expr:
                    values = tuple(option.value for option in options)
                case Call("=", (arg, Lit(value))) if arg == expr:
                    values = (value,)
                case _:
                    continue
            held = [v for v in values if v is not None and holds(expr.type, v)]
            if held:
                return tuple(dict.fromkeys(held))
        return None

    def public_keys(self, fk: ForeignKey) -> bool:
        target = self.policies.schema.table(fk.references)
        return set(target.key) <= self.policies.public_columns(target.name)

    def tied(self, chosen: set[str]) -> set[str]:
        """Scans of wholly public tables that a condition equates with one of the `chosen`."""
        found = set()
        for part in self.origin.conditions:
            pair = equality(part)
            if pair is None or not all(self.is_public(c.id) for c in pair):
                continue
            a, b = (self.alias(c.id) for c in pair)
            for here, there in ((a, b), (b, a)):
                if here in chosen and there not in chosen and self._wholly_public(there):
                    found.add(there)
        return found

    def _wholly_public(self, alias: str) -> bool:
        table = self.scans[alias].table
        return self.policies.public_columns(table.name) == frozenset(table.columns)
