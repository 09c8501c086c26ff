"""The queries of docs/coverage.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dp4sql.bench.queries import tpch_queries

_HEADER = re.compile(r"^-- ([A-Z]\d+) (\w+) on (\w+) keys (\d)\n(.*?);$", re.MULTILINE | re.DOTALL)

NAMES = {
    1: "pricing summary", 2: "minimum cost supplier", 3: "shipping priority", 4: "order priority",
    5: "local supplier volume", 6: "forecast revenue change", 7: "volume shipping",
    8: "national market share", 9: "product type profit", 10: "returned items",
    11: "important stock", 12: "shipping modes", 13: "customer distribution", 14: "promotion effect",
    15: "top supplier", 16: "parts and suppliers", 17: "small-quantity orders",
    18: "large volume customers", 19: "discounted revenue", 20: "potential part promotion",
    21: "suppliers who kept orders waiting", 22: "global sales opportunity",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Query:
    id: str
    name: str
    database: str
    keys: int
    sql: str


def read(file: str) -> list[Query]:
    """Those of one file: `-- A01 name_of_it on university keys 1`, then the text. `keys`: how many output columns
    tell rows apart."""
    text = (Path(__file__).parent / f"{file}.sql").read_text()
    return [
        Query(id, name.replace("_", " "), database, int(keys), sql)
        for id, name, database, keys, sql in _HEADER.findall(text)
    ]


def tpch22() -> list[Query]:
    return [Query(q.name, NAMES[int(q.name[1:])], "tpch", q.keys, q.sql) for q in tpch_queries()]
