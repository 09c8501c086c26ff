"""dp4sql check: does the data keep what the policy file says?

The noise is right only for databases that keep every claim. Counts here are exact, and so for the
curator's eyes alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from dp4sql.algebra.schema import Table
from dp4sql.algebra.types import BIGINT
from dp4sql.backends import Backend
from dp4sql.curator.differences import differences, engine_columns
from dp4sql.curator.rules import Rule, owned_rules, row_rules, set_rules
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import OutputColumn
from dp4sql.sql.dialects import DIALECTS, Dialect
from dp4sql.sql.render.truncation import table_source


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim on `subject` (a table or policy) and how many rows or values break it.

    `worst` is the largest count met where a claim limits counts.
    """

    subject: str
    rule: Rule
    broken: int
    worst: int | None = None

    def line(self, place: str) -> str:
        """For a person; a broken claim comes with `place`, where the policy file makes it."""
        if not self.broken:
            return f"ok      {self.subject}: {self.rule.text}"
        worst = f", the worst {self.worst}" if self.worst is not None else ""
        counted = f" ({self.broken} break it{worst})" if self.rule.sql else ""
        return f"BROKEN  {self.subject}: {self.rule.text}{counted}  {place}"


def claims(policies: PolicySet, backend: Backend) -> int:
    """How many findings there will be where tables, columns and types are those of the file."""
    dialect, tables = DIALECTS[backend.dialect], policies.schema.tables.values()
    found = sum(
        (table.rows is not None)
        + bool(table.cut)
        + len([*row_rules(table, dialect), *set_rules(table, policies.schema, dialect)])
        for table in tables
    )
    return found + sum(
        len(list(owned_rules(p, policies.schema, dialect))) for p in policies.policies
    )


async def findings(policies: PolicySet, backend: Backend) -> AsyncIterator[Finding]:
    """One finding a claim, as soon as it is known; names and types first, then table by table."""
    wrong = set()
    for name, rule in differences(policies, await engine_columns(backend)):
        wrong.add(name)
        yield Finding(name, rule, 1)
    dialect = DIALECTS[backend.dialect]
    sound = [t for name, t in policies.schema.tables.items() if name not in wrong]
    for table in sound:
        async for finding in _scanned(table, backend, dialect):
            yield finding
        if table.cut:
            yield await _truncated(table, backend, dialect)
        for rule in set_rules(table, policies.schema, dialect):
            if not {fk.references for fk in table.foreign_keys} & wrong:
                yield await _tested(table.name, rule, backend)
    for policy in policies.policies if not wrong else ():
        for rule in owned_rules(policy, policies.schema, dialect):
            yield await _tested(f"policy {policy.name}", rule, backend)


async def _scanned(table: Table, backend: Backend, dialect: Dialect) -> AsyncIterator[Finding]:
    """The table's size and all of its row rules in one scan."""
    rules = list(row_rules(table, dialect))
    counts = [f"COUNT(CASE WHEN {rule.sql} THEN 1 END) AS r{i}" for i, rule in enumerate(rules)]
    sql = f"SELECT {', '.join(['COUNT(*) AS n', *counts])} FROM {dialect.table(table)}"
    size, *broken = await _numbers(backend, sql, len(rules) + 1)
    if table.rows is not None:
        claim = Rule(("tables", table.name, "rows"), f"at most {table.rows} rows", "")
        yield Finding(table.name, claim, max(0, (size or 0) - table.rows), size)
    for rule, count in zip(rules, broken, strict=True):
        yield Finding(table.name, rule, count or 0)


async def _truncated(table: Table, backend: Backend, dialect: Dialect) -> Finding:
    """Breaks nothing; says what queries do not see."""
    sources = (dialect.table(table), table_source(table, dialect))
    counts = ", ".join(
        f"(SELECT COUNT(*) FROM {source} AS t) AS n{i}" for i, source in enumerate(sources)
    )
    whole, kept = await _numbers(backend, f"SELECT {counts}", 2)
    text = f"{table.left_out}: {(whole or 0) - (kept or 0)} of {whole or 0} rows are left out"
    return Finding(table.name, Rule(("tables", table.name, "max_frequency"), text, ""), 0)


async def _tested(subject: str, rule: Rule, backend: Backend) -> Finding:
    broken, worst = await _numbers(backend, rule.sql, 2)
    return Finding(subject, rule, broken or 0, worst)


async def _numbers(backend: Backend, sql: str, width: int) -> Sequence[int | None]:
    columns = [OutputColumn(f"c{i}", BIGINT) for i in range(width)]
    opened = (await backend.fetch(sql, columns)).open_columns()
    return [column[0] for column in opened]
