"""The 22 queries of TPC-H."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_QUERY: Final = re.compile(r"^-- (Q\d+) keys (\d)\n(.*?);$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Query:
    """`keys` output columns, the first ones, name the group of a row; the others are measures."""

    name: str
    keys: int
    sql: str


def tpch_queries() -> tuple[Query, ...]:
    text = files("dp4sql.data").joinpath("tpch_queries.sql").read_text()
    return tuple(Query(name, int(keys), sql) for name, keys, sql in _QUERY.findall(text))
