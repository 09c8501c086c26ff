"""SQL types under Postgres's names, and the values their literals hold."""

from __future__ import annotations

import datetime
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, TypeAlias

Element: TypeAlias = (
    bool
    | int
    | float
    | Decimal
    | str
    | datetime.date
    | datetime.datetime
    | datetime.timedelta
    | uuid.UUID
    | None
)
Value: TypeAlias = Element | tuple[Element, ...]
"""An array is a parameter's value alone."""

Kind: TypeAlias = Literal[
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "boolean",
    "text",
    "character varying",
    "character",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
    "interval",
    "uuid",
    "jsonb",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Type:
    """A Postgres type. `length` for character types, `precision` and `scale` for numeric. An integer with a
    `precision` is wider in the engine than Postgres would let it be. `array`: an array of such values, which
    a parameter alone can be."""

    kind: Kind
    precision: int | None = None
    scale: int | None = None
    length: int | None = None
    array: bool = False

    def __str__(self) -> str:
        if self.array:
            return f"{self.kind}[]"
        if self.kind == "numeric" and self.precision is not None:
            return f"numeric({self.precision},{self.scale or 0})"
        if self.length is not None:
            return f"{self.kind}({self.length})"
        return self.kind


INTEGERS: Final = frozenset({"smallint", "integer", "bigint"})
FLOATS: Final = frozenset({"real", "double precision"})
NUMBERS: Final = INTEGERS | FLOATS | {"numeric"}
COMPARED: Final = INTEGERS | {
    "text",
    "character varying",
    "boolean",
    "date",
    "timestamp without time zone",
}
"""Types whose values are equal in Python exactly where they are in SQL."""
LIMITS: Final = {"smallint": 2**15, "integer": 2**31, "bigint": 2**63}
TEXTS: Final = frozenset({"text", "character varying", "character"})
TIMES: Final = frozenset({"date", "timestamp without time zone", "timestamp with time zone"})

SMALLINT: Final = Type("smallint")
INTEGER: Final = Type("integer")
BIGINT: Final = Type("bigint")
NUMERIC: Final = Type("numeric")
DOUBLE: Final = Type("double precision")
BOOLEAN: Final = Type("boolean")
TEXT: Final = Type("text")
DATE: Final = Type("date")
TIMESTAMP: Final = Type("timestamp without time zone")
TIMESTAMPTZ: Final = Type("timestamp with time zone")
INTERVAL: Final = Type("interval")
UUID: Final = Type("uuid")
JSONB: Final = Type("jsonb")
"""Of what functions release: no column of a database has it. Values are texts (`dp4sql.algebra.jsonb`)."""
UNKNOWN: Final = Type("unknown")
