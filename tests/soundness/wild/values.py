"""What the rows are made of: values inside what is declared, and values that nothing but a type forbids.

All values are the texts of SQL literals, which both engines read as the column's type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeAlias

Engine: TypeAlias = Literal["duckdb", "postgres"]
Value: TypeAlias = str | None
LONG = "x" * 3000


@dataclass(frozen=True, slots=True)
class Column:
    """`declared`: its entry in the policy. `tame` values are inside what is declared, `wild` ones are not;
    `postgres` ones only that engine holds, in a column whose type is `stored` there."""

    name: str
    declared: Mapping[str, Any]
    tame: tuple[Value, ...]
    wild: tuple[Value, ...] = ()
    postgres: tuple[Value, ...] = ()
    stored: str = ""

    @property
    def nullable(self) -> bool:
        return bool(self.declared.get("nullable"))

    def definition(self, engine: Engine) -> str:
        """Its type as `engine` has it; Postgres holds numbers of more digits than are declared."""
        type = self.declared["type"]
        if engine == "duckdb":
            return str(_DUCKDB.get(type, type))
        return self.stored or str(type)

    def draw(self, rng: Random, engine: Engine, tame: bool) -> Value:
        """Often one of the first two, which are as far apart as the range is."""
        if rng.random() < 0.4:
            return rng.choice(self.tame[:2])
        more = () if tame else self.wild + (self.postgres if engine == "postgres" else ())
        return rng.choice(self.tame + more)


_DUCKDB = {"numeric": "DOUBLE", "character(3)": "VARCHAR", "text": "VARCHAR"}


def column(
    name: str, type: str, tame: tuple[Value, ...], *others: tuple[Value, ...], **declared: Any
) -> Column:
    wild, postgres = (*others, (), ())[:2]
    stored = declared.pop("stored", "")
    return Column(name, {"type": type, **declared}, tame, wild, postgres, stored)


TEXTS = (
    "",
    " ",
    "a ",
    " a",
    "A",
    "á",
    "ä",
    "ab",
    "zz",
    "o",
    "%",
    "\\",
    "☃😀",
    "\x01",
    "1",
    "1e400",
    LONG,
)
"""Beside the values of a domain: empty, padded, of another case, with accents, not printable, very long."""
BIG = ("99", "9223372036854775807", "-9223372036854775808")
TIMES = ("infinity", "-infinity", "9999-12-31", "0001-01-01", "1970-01-01")
DUBIOUS = ("NaN", "Infinity", "-Infinity", "1e308", "-1e308", "5e-324", "-0.0")

PERSON = (
    column("g", "text", ("a", "b", "c"), TEXTS, domain=["a", "b", "c"]),
    column("h", "text", ("a", "o", "b", None), TEXTS, nullable=True, domain=["a", "b"], other="o"),
    column("ch", "character(3)", ("abc", "xyz"), ("", "zz", "ABC", "áb"), domain=["abc", "xyz"]),
    column("note", "text", ("abc", "7", None), TEXTS, nullable=True),
    column("k", "integer", ("0", "3", "1", "2"), ("7", "-1", "2147483647", "-2147483648"), range=[0, 3]),
    column("x", "integer", ("-5", "10", "0", "3"), ("11", "-2147483648", "2147483647"), range=[-5, 10]),
    column("w.n", "smallint", ("0", "4", "1"), ("32767", "-32768"), range=[0, 4]),
    column(
        "y", "numeric(6,2)", ("-1.5", "3.25", "0", None), ("9999.99", "-9999.99"), ("1.005", "3.2549", "NaN", "1e10"),
        range=[-1.5, 3.25], nullable=True, stored="numeric",
    ),
    column("z", "bigint", ("100", "200", "150"), BIG, range=[100, 200]),
    column(
        "q", "numeric(18,2)", ("0", "1000000", "0.01"), ("9999999999999999.99", "-9999999999999999.99"),
        ("0.005", "999999.996", "NaN", "1e30"), range=[0, 1000000], stored="numeric",
    ),
    column(
        "u", "numeric(10,2)", ("-50", "50", "2.5", "7.49"), ("99999999.99", "-99999999.99"), ("2.4999", "NaN"),
        range=[-50, 50], unit=5, stored="numeric",
    ),
    column(
        "nu", "numeric", ("0", "5", "0.1"), ("1e300", "-7"), ("NaN", "1e400", "-1e400", "1e-400"),
        range=[0, 5], stored="numeric",
    ),
    column("f", "double precision", ("-1", "1", "0.3"), DUBIOUS, range=[-1, 1]),
    column("r", "real", ("0", "5", "0.1"), ("NaN", "Infinity", "-Infinity", "3e38", "-0.0"), range=[0, 5]),
    column("b", "boolean", ("true", "false", None), nullable=True),
    column("d", "date", ("2020-01-01", "2020-01-20", "2020-01-07"), TIMES, range=["2020-01-01", "2020-01-20"]),
    column(
        "t", "timestamp", ("2020-01-01 05:00", "2020-01-04 23:59:59.999999", None), TIMES,
        nullable=True, range=["2020-01-01", "2020-01-05"],
    ),
    column(
        "tz", "timestamp with time zone", ("2020-01-01 05:00+00", "2020-01-04 12:00+00"), TIMES,
        range=["2020-01-01", "2020-01-05"],
    ),
    column("s", "integer", ("5", "7", "6"), ("0", "1000"), range=[5, 7]),
)  # fmt: skip
VISIT = (
    column("kind", "text", ("a", "c", "b", None), TEXTS, nullable=True, domain=["a", "b", "c"]),
    column("score", "integer", ("0", "5", "2", None), ("-7", "99", "2147483647"), nullable=True, range=[0, 5]),
    column(
        "amt", "numeric(12,2)", ("10", "20", "15.55"), ("0", "9999999999.99"), ("15.555", "NaN", "-1e20"),
        range=[10, 20], stored="numeric",
    ),
)  # fmt: skip
CALL = (
    column("kind", "text", ("a", "b", "c"), TEXTS[:-1], domain=["a", "b", "c"]),
    column("cost", "integer", ("0", "9", "4"), ("-1", "2147483647"), range=[0, 9]),
    column("place", "integer", ("0", "1", "3"), ("-1",)),
)
SHOP = (
    column("label", "text", ("l1", "l2"), ("", "L1"), domain=["l1", "l2"]),
    column("n", "integer", ("0", "5", "2"), range=[0, 5]),
    column("place", "integer", ("1", "3", None), nullable=True),
    column(
        "day", "date", ("2020-01-01", "2020-01-07", None), ("infinity", "9999-12-31"), nullable=True
    ),
)
