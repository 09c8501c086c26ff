"""The queries, and how many of their first output columns name the group of a row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dp4sql.bench.queries import tpch_queries

ANALYSTS: Final = Path(__file__).parents[2] / "tests" / "coverage" / "analysts.sql"
_QUERY: Final = re.compile(
    r"^-- (A\d+) (\w+) on (\w+) keys (\d)\n(.*?);$", re.MULTILINE | re.DOTALL
)


COUNTS: Final = """SELECT l_returnflag, l_linestatus, COUNT(*) AS count_order
FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus"""


@dataclass(frozen=True, slots=True)
class Query:
    id: str
    name: str
    database: str
    sql: str
    keys: int

    def plain(self) -> dict[str, str]:
        return {"id": self.id, "sql": self.sql}


def queries() -> list[Query]:
    own = [
        Query(id, name, database, sql, int(keys))
        for id, name, database, keys, sql in _QUERY.findall(ANALYSTS.read_text())
    ]
    own.append(Query("B01", "count_order of Q1 alone", "tpch", COUNTS, 2))
    return own + [Query(q.name, "", "tpch", q.sql, q.keys) for q in tpch_queries()]
