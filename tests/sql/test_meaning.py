"""The SQL that runs means what the client's SQL means: joins keep their order where order matters."""

from __future__ import annotations

import duckdb
import pytest

import dp4sql

INTEGER = {"type": "integer", "range": [0, 9]}
TABLES = {name: {"key": [name], "rows": 3, "columns": {name: INTEGER}} for name in "abc"}
POLICY = {
    "dp4sql": 1,
    "tables": TABLES,
    "policies": {
        f"p{name}": {"entity": name, "epsilon": 1, "labels": {name: "del"}} for name in "abc"
    },
}


@pytest.mark.parametrize("column", ["a", "b", "c", "*"])
@pytest.mark.parametrize(
    "source",
    [
        "a CROSS JOIN b LEFT JOIN c ON a = c",
        "a CROSS JOIN b RIGHT JOIN c ON a = c",
        "a CROSS JOIN b FULL JOIN c ON a = c",
        "a, b RIGHT JOIN c ON b = c",
        "a, b FULL JOIN c ON b = c",
        "a RIGHT JOIN b ON a = b CROSS JOIN c",
    ],
)
def test_outer_joins_pad_what_stands_before_them(source: str, column: str) -> None:
    sql = f"SELECT COUNT({column}) FROM {source}"
    (read,) = dp4sql.explain(POLICY, sql).reads
    with duckdb.connect() as engine:
        for table, rows in {"a": [1, 2], "b": [2, 3], "c": [1, 4, 5]}.items():
            engine.execute(f"CREATE TABLE {table} ({table} INTEGER)")
            engine.executemany(f"INSERT INTO {table} VALUES (?)", [[row] for row in rows])
        assert engine.execute(read).fetchall() == engine.execute(sql).fetchall()
