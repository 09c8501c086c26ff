"""Why a query has no rows that may be shown, in words that say what would work."""

from __future__ import annotations

from dp4sql.algebra.nodes import Scan
from dp4sql.algebra.schema import Column, Table
from dp4sql.algebra.types import INTEGERS
from dp4sql.errors import NoBins, Refused
from dp4sql.mechanisms.bins.steps import is_stepped
from dp4sql.policy.labels import PolicySet

MANY = 1000


def raw_rows(policies: PolicySet, scans: list[Scan]) -> Refused:
    tables = list(dict.fromkeys(scan.table.name for scan in scans))
    known = {table: sorted(policies.public_columns(table)) for table in tables}
    shown = "".join(
        f" Public columns of {t}: {', '.join(found)}." for t, found in known.items() if found
    )
    return Refused(
        f"rows of {', '.join(tables)} are private and cannot be shown",
        hint="Ask for aggregates of them, such as COUNT(*), SUM(x) or AVG(x), in all or for each value of "
        f"a column with public bins (GROUP BY).{shown}",
        position=scans[0].at if scans else None,
    )


def no_bins(
    policies: PolicySet, clause: str, key: str, source: tuple[Scan, Column] | None, at: int | None
) -> NoBins:
    """A private column of GROUP BY or DISTINCT whose values nobody may know beforehand."""
    name = key.split(".")[-1].split("#")[0]
    if source is None:
        return NoBins(
            f'{clause} "{name}" has no public bins: it is computed from private rows, and its values have '
            "no known range",
            hint="LEAST(GREATEST(x, low), high) of a whole number has one; so has CASE with constant results.",
            position=at,
        )
    table, column = source[0].table, source[1]
    shown = f"{table.name}.{column.name}"
    why = (
        f"each value of {shown} names one row of private data"
        if table.key == (column.name,)
        or any(column.name in fk.columns for fk in table.foreign_keys)
        else f"which values of {shown} occur is private, and none are declared"
    )
    return NoBins(
        f'{clause} "{name}" has no public bins: {why}',
        hint=_by_step(column) + _instead(policies, table, shown),
        position=at,
    )


def _by_step(column: Column) -> str:
    if not is_stepped(column.type):
        return ""
    where = "" if column.range else f", beside WHERE {column.name} BETWEEN ... AND ..."
    return f"DATE_TRUNC('day', {column.name}) has bins{where}. "


def _instead(policies: PolicySet, table: Table, shown: str) -> str:
    good = [c.name for c in table.columns.values() if _binned(policies, table, c)][:6]
    group = f"Columns of {table.name} to group by: {', '.join(good)}. " if good else ""
    return (
        f"{group}The query can list groups itself, as in WHERE {shown.split('.')[-1]} IN (...), or count them "
        f"in a subquery: SELECT COUNT(*) FROM (... GROUP BY ...) t. The curator can declare a domain for {shown}."
    )


def _binned(policies: PolicySet, table: Table, column: Column) -> bool:
    if table.key == (column.name,):
        return False
    if column.domain is not None or column.type.kind == "boolean":
        return True
    if column.name in policies.public_columns(table.name):
        return True
    if column.range is None or column.type.kind not in INTEGERS | {"date"}:
        return False
    return column.range[1] - column.range[0] < MANY
