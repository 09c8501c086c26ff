"""SmartNoise SQL: validates and rewrites one-table SQL, adds noise to the rows that Postgres returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg2
from protocol import Rows, job, serve
from snsql import Privacy, from_connection

TYPES = {"number": "float", "integer": "int", "text": "string", "time": "datetime"}


def metadata(given: dict[str, Any]) -> dict[str, Any]:
    """Owned tables have a private id where one column holds the entity's key; others are private by row."""
    found: dict[str, Any] = {}
    for table, parts in given["tables"].items():
        holder = parts["holder"]
        entry: dict[str, Any] = {"max_ids": 1, "row_privacy": holder is None}
        if holder is not None:
            entry |= {"max_ids": parts["owned"], "sample_max_ids": False}
        for name, column in parts["columns"].items():
            kind = "integer" if column["whole"] else column["kind"]
            entry[name] = {"type": TYPES[kind]}
            if column["kind"] == "number" and "low" in column:
                entry[name] |= {"lower": column["low"], "upper": column["high"]}
            if name == holder:
                entry[name]["private_id"] = True
        found[table] = entry
    return {"": {"public": found}}


def main() -> None:
    given = job()
    connection = psycopg2.connect(given["url"])
    connection.autocommit = True
    described = metadata(given)

    def answer(sql: str) -> Callable[[], Rows]:
        price = Privacy(epsilon=given["epsilon"], delta=given["delta"])
        reader = from_connection(connection, engine="postgres", metadata=described, privacy=price)
        reader._rewrite(sql)
        return lambda: [list(row) for row in reader.execute(sql)[1:]]

    serve(given, answer, again=True)


main()
