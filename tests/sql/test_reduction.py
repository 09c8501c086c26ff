"""Groups that no row asks for are not computed on Postgres, and that changes no answer."""

from __future__ import annotations

import re

import duckdb
import pytest

import dp4sql
from dp4sql.pipeline.preparation import explain
from dp4sql.sql.dialects import POSTGRES

POLICY = {
    "dp4sql": 1,
    "tables": {
        "shop": {"key": ["id"], "columns": {"id": "integer", "town": "text"}},
        "sale": {
            "key": ["nr"],
            "columns": {
                "nr": "integer",
                "id": {"type": "integer", "nullable": True},
                "paid": {"type": "integer", "range": [0, 100]},
            },
            "max_frequency": {"id": 5},
        },
    },
    "policies": {"p": {"entity": "sale", "epsilon": 1, "labels": {"sale": "del", "shop": "pub"}}},
}
ROWS = """
CREATE TABLE shop (id INTEGER, town TEXT);
INSERT INTO shop VALUES (1, 'Rome'), (2, 'Rome'), (3, 'Oslo'), (4, 'Oslo'), (5, 'Rome');
CREATE TABLE sale (nr INTEGER, id INTEGER, paid INTEGER);
INSERT INTO sale VALUES (1, 1, 10), (2, 1, 30), (3, 2, 5), (4, 2, 6), (5, 3, 7), (6, 3, 9), (7, NULL, 8);
"""
MEAN = "(SELECT AVG(paid) FROM sale t WHERE t.id = shop.id)"


@pytest.mark.parametrize(
    ("sql", "reduced"),
    [
        (
            f"SELECT COUNT(*) FROM sale, shop WHERE sale.id = shop.id AND town = 'Rome' AND paid < {MEAN}",
            True,
        ),
        (
            f"SELECT COUNT(*) FROM sale LEFT JOIN shop ON sale.id = shop.id WHERE paid < {MEAN}",
            False,
        ),
        (
            "SELECT COUNT(*) FROM sale s LEFT JOIN shop ON s.id = shop.id AND town = 'Rome' WHERE s.paid > 5 "
            "AND s.paid <= (SELECT MAX(paid) FROM sale t WHERE t.id = s.id)",
            True,
        ),
        (
            "SELECT COUNT(*) FROM sale s WHERE s.paid <= (SELECT MAX(paid) FROM sale t WHERE t.id = s.id)",
            False,
        ),
        (
            "SELECT COUNT(*) FROM sale s WHERE s.paid > 5 AND EXISTS (SELECT 1 FROM shop WHERE shop.id = s.id) "
            "AND s.paid <= (SELECT MAX(paid) FROM sale t WHERE t.id = s.id)",
            True,
        ),
    ],
)
def test_only_the_groups_that_are_asked_for(sql: str, reduced: bool) -> None:
    (read,) = explain(dp4sql.load_policy(POLICY), sql, dialect=POSTGRES).reads
    grouped = re.findall(r"FROM \"sale\" AS t\d+( WHERE EXISTS .*?)? GROUP BY", read)
    assert [bool(condition) for condition in grouped] == [reduced], read
    with duckdb.connect() as engine:
        engine.execute(ROWS)
        assert engine.execute(read).fetchall() == engine.execute(sql).fetchall()
