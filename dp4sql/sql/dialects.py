"""How engines differ: type names, table names, a few functions. DuckDB, Postgres and Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, cast

from dp4sql.algebra.nodes import Agg
from dp4sql.algebra.schema import Table
from dp4sql.algebra.types import TIMES, Type

DialectName = Literal["duckdb", "postgres", "spark"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """`huge` is an exact integer type of 38 digits; `max_digits` the precision of exact decimals."""

    name: DialectName
    huge: str
    max_digits: int

    def quote(self, name: str) -> str:
        if self.name == "spark":
            return "`" + name.replace("`", "``") + "`"
        return '"' + name.replace('"', '""') + '"'

    def string(self, value: str) -> str:
        """A constant text. Spark has no way to write a quote, and takes a backslash before one for its own."""
        if self.name == "spark" and ("'" in value or value.endswith("\\")):
            return f"CAST(X'{value.encode().hex()}' AS STRING)"
        return "'" + value.replace("'", "''") + "'"

    def array(self, items: list[str]) -> str:
        left, right = ("ARRAY(", ")") if self.name == "spark" else ("ARRAY[", "]")
        return f"{left}{', '.join(items)}{right}"

    @property
    def text(self) -> str:
        return {"duckdb": "VARCHAR", "postgres": "TEXT", "spark": "STRING"}[self.name]

    def table(self, table: Table) -> str:
        name = self.quote(table.relname or table.name)
        return name if table.schema == "public" else f"{self.quote(table.schema)}.{name}"

    def type_name(self, type: Type) -> str:
        """The engine's name for a Postgres type."""
        match type.kind:
            case "numeric":
                return self._numeric(type)
            case "character varying" | "character" | "text" | "unknown" | "jsonb":
                return self.text
            case "double precision":
                return "DOUBLE PRECISION" if self.name == "postgres" else "DOUBLE"
            case "timestamp without time zone":
                return "TIMESTAMP_NTZ" if self.name == "spark" else "TIMESTAMP"
            case "timestamp with time zone":
                return "TIMESTAMP_LTZ" if self.name == "spark" else "TIMESTAMPTZ"
            case _:
                return type.kind.upper()

    def time_word(self, zoned: bool) -> str:
        """What stands before a timestamp literal."""
        if self.name == "spark":
            return "TIMESTAMP_LTZ" if zoned else "TIMESTAMP_NTZ"
        return "TIMESTAMPTZ" if zoned else "TIMESTAMP"

    def series(self, first: int, last: int, type: Type, step: int) -> str:
        """A SELECT of one column c0: integers, dates in days since 1970-01-01, or timestamps in steps of so many
        microseconds since then."""
        source = {
            "duckdb": f"range({first}, {last + 1}) AS r(i)",
            "postgres": f"generate_series({first}, {last}) AS r(i)",
            "spark": f"(SELECT explode(sequence({first}, {last})) AS i) AS r",
        }[self.name]
        if type.kind == "date":
            return f"SELECT DATE '1970-01-01' + CAST(i AS INTEGER) AS c0 FROM {source}"
        if type.kind in TIMES:
            moment = {
                "duckdb": f"MAKE_TIMESTAMP(i * {step})",
                "postgres": f"TIMESTAMP '1970-01-01' + i * INTERVAL '{step} microseconds'",
                "spark": f"TIMESTAMP_MICROS(i * {step})",
            }[self.name]
            return f"SELECT CAST({moment} AS {self.type_name(type)}) AS c0 FROM {source}"
        return f"SELECT CAST(i AS {self.type_name(type)}) AS c0 FROM {source}"

    def _numeric(self, type: Type) -> str:
        if type.precision is not None:
            return f"DECIMAL({min(type.precision, self.max_digits)},{type.scale or 0})"
        if self.name == "postgres":
            return "NUMERIC"
        return "DOUBLE" if type.scale is None else f"DECIMAL(38,{min(type.scale, 18)})"

    def summed(self, text: str, digits: int = 0) -> str:
        """An integer of so many digits whose sum cannot overflow: Spark sums integers in 64 bits."""
        return f"CAST({text} AS DECIMAL({max(19, digits)},0))" if self.name == "spark" else text

    def aggregates(self, agg: Agg) -> Callable[[str], str]:
        match agg.function:
            case "count_star":
                return lambda _: "COUNT(*)"
            case "count_distinct":
                return lambda arg: f"COUNT(DISTINCT {arg})"
            case "sum_distinct":
                return lambda arg: f"SUM(DISTINCT {arg})"
            case "quantile_cont" | "quantile_disc":
                name = "PERCENTILE_CONT" if agg.function == "quantile_cont" else "PERCENTILE_DISC"
                share, order = agg.fraction, ""
                if agg.descending:
                    share, order = 1 - cast(Decimal, agg.fraction), " DESC"
                return lambda arg: f"{name}({share}) WITHIN GROUP (ORDER BY {arg}{order})"
            case _:
                return lambda arg: f"{agg.function.upper()}({arg})"


DUCKDB: Final = Dialect("duckdb", "HUGEINT", 38)
POSTGRES: Final = Dialect("postgres", "NUMERIC", 1000)
SPARK: Final = Dialect("spark", "DECIMAL(38,0)", 38)
DIALECTS: Final = {d.name: d for d in (DUCKDB, POSTGRES, SPARK)}
