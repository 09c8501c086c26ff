"""Qrlew: rewrites SQL into SQL that adds noise, for Postgres to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol import Rows, job, serve
from pyqrlew import Dataset, Dialect
from sqlalchemy import create_engine, text


def dataset(given: dict[str, Any], engine: Any) -> Any:
    """The tables with the ranges and domains that the policy declares."""
    found = Dataset.from_database("bench", engine, schema_name="public")
    for table, parts in given["tables"].items():
        for name, column in parts["columns"].items():
            if column.get("domain") and column["kind"] == "text":
                found = found.with_possible_values("public", table, name, column["domain"])
            elif "low" in column and column["kind"] == "number":
                found = found.with_range("public", table, name, column["low"], column["high"])
    return found


def main() -> None:
    given = job()
    engine = create_engine(given["url"].replace("postgresql://", "postgresql+psycopg2://"))
    data = dataset(given, engine)
    unit = [(table, [tuple(step) for step in path], key) for table, path, key in given["unit"]]
    price = {"epsilon": given["epsilon"], "delta": given["delta"]}

    def answer(sql: str) -> Callable[[], Rows]:
        relation = data.relation(sql, Dialect.PostgreSql)
        private = relation.rewrite_with_differential_privacy(
            data, unit, price, max_multiplicity=given["most"]
        )
        rewritten = private.relation().to_query(Dialect.PostgreSql)

        def run() -> Rows:
            with engine.connect() as connection:
                return [
                    list(row) for row in connection.execute(text(rewritten.replace(":", r"\:")))
                ]

        return run

    serve(given, answer)


main()
