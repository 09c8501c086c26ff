"""Postgres type names as they stand in a policy file."""

from __future__ import annotations

import datetime
import re
import uuid
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from dp4sql.algebra.types import INTEGERS, NUMBERS, TEXTS, TIMES, Kind, Type, Value

NAMES: dict[str, Kind] = {
    "smallint": "smallint",
    "int2": "smallint",
    "integer": "integer",
    "int": "integer",
    "int4": "integer",
    "bigint": "bigint",
    "int8": "bigint",
    "numeric": "numeric",
    "decimal": "numeric",
    "real": "real",
    "float4": "real",
    "double precision": "double precision",
    "float8": "double precision",
    "double": "double precision",
    "boolean": "boolean",
    "bool": "boolean",
    "text": "text",
    "varchar": "character varying",
    "character varying": "character varying",
    "char": "character",
    "character": "character",
    "bpchar": "character",
    "date": "date",
    "timestamp": "timestamp without time zone",
    "timestamp without time zone": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "timestamp with time zone": "timestamp with time zone",
    "uuid": "uuid",
}


def parse_type(text: str) -> Type | None:
    """`numeric(15,2)`, `varchar(25)`, `double precision`; None when it is no known type."""
    match = re.fullmatch(r"\s*([a-zA-Z0-9 ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*", text)
    kind = NAMES.get(" ".join(match[1].lower().split())) if match else None
    if match is None or kind is None:
        return None
    if match[2] is None:
        return Type(kind)
    if kind == "numeric":
        return Type(kind, precision=int(match[2]), scale=int(match[3] or 0))
    if kind in ("character varying", "character") and match[3] is None:
        return Type(kind, length=int(match[2]))
    return None


def exact(text: str) -> Fraction | None:
    """A number from its text; None when it is none."""
    try:
        return Fraction(text.strip().replace("_", ""))
    except (ValueError, ZeroDivisionError):
        return None


EPOCH = datetime.date(1970, 1, 1)


def end_of_range(text: str, type: Type) -> Fraction | None:
    """An end of a range: a number, or an ISO date counted in days since 1970-01-01."""
    if type.kind in TIMES:
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
        return (moment.date() - EPOCH).days + Fraction(seconds, 86400)
    return exact(text) if type.kind in NUMBERS else None


def value_of(text: str, type: Type) -> Value:
    """A domain value of the column's type; ValueError when it is none."""
    try:
        return _value(text, type)
    except InvalidOperation as error:
        raise ValueError(text) from error


def _value(text: str, type: Type) -> Value:
    if type.kind in TEXTS:
        return text
    if type.kind in INTEGERS:
        return int(text)
    if type.kind == "numeric":
        return Decimal(text)
    if type.kind == "boolean":
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else _bad(text)
    if type.kind == "date":
        return datetime.date.fromisoformat(text)
    if type.kind == "uuid":
        return uuid.UUID(text)
    return _bad(text)


def _bad(text: str) -> Value:
    raise ValueError(text)
