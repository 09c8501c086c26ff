"""Tables as queries see them under `enforce: truncate`: a subquery in place of the engine's table.

Of each value of the bound's columns the rows are kept whose keys hash lowest, a choice that depends on
nothing but the rows' own keys; a row goes where its parent goes. NULL is no value: such rows stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from dp4sql.algebra.schema import Frequency, Table
from dp4sql.sql.dialects import Dialect


def table_source(table: Table, dialect: Dialect) -> str:
    """`table` for a FROM clause, without an alias."""
    if not table.cut:
        return dialect.table(table)
    return f"({_kept(table, tuple(table.columns), dialect)})"


def _kept(table: Table, columns: Iterable[str], dialect: Dialect) -> str:
    """SELECT of `columns` of the rows that are kept."""
    items = ", ".join(dialect.quote(c) for c in columns)
    bound = table.truncation
    if bound is None:
        return f"SELECT {items} FROM {dialect.table(table)} AS child{_with_parents(table, dialect)}"
    return (
        f"SELECT {items} FROM ({_ranked(table, bound, dialect)}) AS ranked "
        f"WHERE {_place(table)} <= {bound.rows}{_or_null(bound, dialect)}"
    )


def _place(table: Table) -> str:
    """A name that no column has. DuckDB would take the column instead, in whatever case it is written."""
    taken = {column.lower() for column in table.columns}
    return next(name for n in count() if (name := f"place{n or ''}") not in taken)


def _ranked(table: Table, bound: Frequency, dialect: Dialect) -> str:
    by = ", ".join(dialect.quote(c) for c in sorted(bound.columns))
    order = f"{_hash(table, dialect)}, {', '.join(dialect.quote(c) for c in table.key)}"
    items = ", ".join(dialect.quote(c) for c in table.columns)
    return (
        f"SELECT {items}, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order}) AS {_place(table)} "
        f"FROM {dialect.table(table)} AS child{_with_parents(table, dialect)}"
    )


def _hash(table: Table, dialect: Dialect) -> str:
    """md5 of the key behind the table's name, which is its salt."""
    parts = [f"CAST({dialect.quote(c)} AS {dialect.text})" for c in table.key]
    return "MD5(" + " || '|' || ".join([dialect.string(table.name), *parts]) + ")"


def _or_null(bound: Frequency, dialect: Dialect) -> str:
    return "".join(f" OR {dialect.quote(c)} IS NULL" for c in sorted(bound.columns))


def _with_parents(table: Table, dialect: Dialect) -> str:
    """The condition that the row's parents are kept, where truncation takes some of them."""
    parts = []
    for fk, parent in table.cut_parents:
        pairs = zip(fk.columns, parent.key, strict=True)
        same = " AND ".join(f"kept.{dialect.quote(b)} = child.{dialect.quote(a)}" for a, b in pairs)
        absent = [
            f"child.{dialect.quote(c)} IS NULL" for c in fk.columns if table.columns[c].nullable
        ]
        found = (
            f"EXISTS (SELECT 1 FROM ({_kept(parent, parent.key, dialect)}) AS kept WHERE {same})"
        )
        parts.append(f"({' OR '.join([*absent, found])})")
    return f" WHERE {' AND '.join(parts)}" if parts else ""
