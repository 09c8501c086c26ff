"""The rows of dp4sql.budget and its like (`dp4sql.catalog.own`) as one role may see them. No data is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

from dp4sql.algebra.schema import Column, Table
from dp4sql.budget.cost import Charge
from dp4sql.budget.limits import budget as in_measure
from dp4sql.budget.limits import limits, measure
from dp4sql.catalog.ddl import bound, is_private, label
from dp4sql.catalog.route import relation_name
from dp4sql.pipeline import Pipeline
from dp4sql.policy.labels import Policy, PolicySet
from dp4sql.settings import COMMENTS, Settings

Row: TypeAlias = dict[str, Any]
"""By column; amounts as text, which Postgres reads as numeric."""

MOST_QUERIES: Final = 1000


def rows_of(
    names: Collection[str], pipeline: Pipeline, settings: Settings, role: str
) -> dict[str, list[Row]]:
    """By table; LedgerBroken where a table needs the ledger and it fails."""
    makers: Mapping[str, Callable[[], Iterator[Row]]] = {
        "budget": lambda: _budget(pipeline, role),
        "my_queries": lambda: _my_queries(pipeline, role),
        "policies": lambda: _policies(pipeline.policy, role),
        "tables": lambda: _tables(pipeline.policy),
        "settings": lambda: _settings(settings),
    }
    return {name: list(makers[name]()) for name in names}


# ---------------------------------------------------------------- from the ledger


def _budget(pipeline: Pipeline, role: str) -> Iterator[Row]:
    pipeline.ledger.refresh()
    for policy in pipeline.policy.policies:
        yield from _caps(pipeline, policy, role)


def _caps(pipeline: Pipeline, policy: Policy, role: str) -> Iterator[Row]:
    ledger, database = pipeline.ledger, pipeline.backend.identity
    further = limits(policy, role, ledger.today())
    charge = Charge(
        policy.name,
        policy.entity,
        Fraction(0),
        in_measure(policy),
        limits=further,
        measure=measure(policy),
    )
    caps: list[tuple[str, Fraction | None, Fraction]] = []
    if policy.budget is None:
        spent = ledger.spent(database, policy.entity, policy.name)
        caps.append((f"the budget of policy {policy.name}", None, spent))
    caps += ledger.caps(charge, database=database)
    for cap, amount, spent in caps:
        yield {
            "policy": policy.name,
            "entity": policy.entity,
            "cap": cap.rstrip(","),
            "amount": _number(amount),
            "spent": _number(spent),
            "remaining": None if amount is None else _number(amount - spent),
        }


def _my_queries(pipeline: Pipeline, role: str) -> Iterator[Row]:
    database = pipeline.backend.identity
    for entry, outcome in pipeline.ledger.charges_of(role, database=database, most=MOST_QUERIES):
        yield {
            "at": entry.at,
            "query": entry.query,
            "statement": entry.statement,
            "policy": entry.policy,
            "epsilon": _number(entry.epsilon),
            "member": entry.member or None,
            "outcome": outcome,
        }


# ---------------------------------------------------------------- from the policy file


def _policies(policies: PolicySet, role: str) -> Iterator[Row]:
    for policy in policies.policies:
        yield {
            "policy": policy.name,
            "entity": policy.entity,
            "epsilon": _number(policy.epsilon_of(None, role)),
            "max_charge": _number(policy.most(role)),
            "budget": _number(policy.budget),
            "accountant": policy.accountant,
            "delta": None if policy.delta is None else f"{float(policy.delta):g}",
            "labels": {table: label(found) for table, found in policy.labels.items()},
            "comment": policy.comment,
        }


def _tables(policies: PolicySet) -> Iterator[Row]:
    for name in policies.schema.tables:
        if name in policies.covered:
            table = policies.schema.table(name)
            for ordinal, column in enumerate(table.columns.values(), 1):
                yield {"ordinal": ordinal, **_column(table, column, policies)}


def _column(table: Table, column: Column, policies: PolicySet) -> Row:
    low, high = column.range or (None, None)
    return {
        "table_schema": table.schema,
        "table_name": relation_name(table),
        "column_name": column.name,
        "data_type": str(column.type),
        "nullable": column.nullable,
        "private_under": [p.name for p in policies.policies if is_private(column, table, p)],
        "low": None if low is None else bound(low, column),
        "high": None if high is None else bound(high, column),
        "unit": _number(column.unit),
        "bins": None if column.domain is None else [_plain(value) for value in column.domain],
        "comment": column.comment,
    }


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


# ---------------------------------------------------------------- from the session


def _settings(settings: Settings) -> Iterator[Row]:
    for name, comment in COMMENTS.items():
        yield {
            "name": f"dp4sql.{name}",
            "value": settings.show(name),
            "default_value": Settings().show(name),
            "comment": comment,
        }


def _number(amount: Fraction | None) -> str | None:
    """Exact where ten decimals suffice."""
    if amount is None:
        return None
    return str(amount.numerator) if amount.denominator == 1 else f"{float(amount):.10f}".rstrip("0")
