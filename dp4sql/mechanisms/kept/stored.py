"""Releases that are kept: what identifies one, and an exact text for it.

A measurement is identified by the SQL that would read it, never by the client's text. Stages that hold values
of earlier ones are identified by what those released, too. Showing a release again is post-processing.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Any, Final, assert_never

from dp4sql.algebra.expr import Constant, walk
from dp4sql.algebra.nodes import Node, expressions, walk_nodes
from dp4sql.algebra.types import Value
from dp4sql.infer.facts import Facts
from dp4sql.mechanisms.measure import Quantity
from dp4sql.mechanisms.reading import texts
from dp4sql.mechanisms.release import Measured
from dp4sql.mechanisms.stages import (
    CallStage,
    Plan,
    PublicRead,
    Release,
    ScalarStage,
    Stage,
)
from dp4sql.rows import listed
from dp4sql.sql.dialects import DUCKDB, Dialect
from dp4sql.sql.render import Renderer

BEGINS: Final = re.compile(r'\["[^"]*", "(\d+(?:/[1-9]\d*)?)", ')
MOST_ROWS: Final = 20_000
"""Releases with more rows are not kept."""

# ---------------------------------------------------------------- what identifies a release


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells a stage from others: a text for each measurement of a release (one text for any other
    stage), and digests of those. `dependent` on the values of earlier stages, which the texts leave open;
    `built`: how a release puts its values together from its measurements, which are kept without that."""

    texts: tuple[str, ...]
    dependent: bool = False
    built: str = ""
    digests: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digests", tuple(map(digest, self.texts)))


def identities(plan: Plan, facts: Facts, dialect: Dialect) -> tuple[Identity, ...]:
    return tuple(_identity(stage, facts, dialect) for stage in plan.stages)


def _identity(stage: Stage, facts: Facts, dialect: Dialect) -> Identity:
    match stage:
        case Release():
            return _release(stage, facts, dialect)
        case ScalarStage(node, column):
            return Identity((Renderer(DUCKDB).statement(node, ((column, "c0"),)),))
        case PublicRead(node, columns):
            named = tuple((id, f"c{i}") for i, (id, _) in enumerate(columns))
            return Identity((Renderer(dialect).statement(node, named),))
        case CallStage():
            # It draws anew, or keeps what it draws by itself: nobody can tell beforehand.
            return Identity(())
        case _:
            assert_never(stage)


def _release(release: Release, facts: Facts, dialect: Dialect) -> Identity:
    each = zip(texts(release, facts, dialect), release.measurements, strict=True)
    trees = (release.node, *((release.bins,) if release.bins is not None else ()))
    found = tuple(_text(text, m.quantity) for text, m in each)
    return Identity(found, any(has_constants(tree) for tree in trees), _built(release))


def _built(release: Release) -> str:
    """VARIANCE and STDDEV have the same measurements."""
    columns = ((c.agg.function, c.agg.fraction, c.agg.type, c.measurements) for c in release.built)
    return json.dumps([list(map(str, column)) for column in columns])


def _text(text: str, q: Quantity) -> str:
    return json.dumps([text, q.kind, str(q.unit), str(q.center), q.low, q.high, repr(q.rank)])


def has_constants(node: Node) -> bool:
    return any(
        isinstance(part, Constant)
        for inner in walk_nodes(node)
        for expr in expressions(inner)
        for part in walk(expr)
    )


def digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


# ---------------------------------------------------------------- an exact text for it


class Unkeepable(Exception):
    """A key that has no exact text here."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One noisy measurement: a column of keys for each grouping key, and an integer a row."""

    at: str
    scale: Fraction
    keys: tuple[tuple[Value, ...], ...]
    values: tuple[int, ...]


def encode(stored: Stored) -> str:
    """Equal for equal content; `decode` gives back the very same values."""
    keys = [_plain(column) for column in stored.keys]
    return json.dumps([stored.at, str(stored.scale), keys, list(stored.values)])


def no_finer(text: str, scale: Fraction) -> bool:
    """Whether `text` begins as that of a measurement with a scale of `scale` or more; it is not read on."""
    begins = BEGINS.match(text)
    return begins is not None and Fraction(begins[1]) >= scale


def decode(text: str) -> Stored:
    at, scale, keys, values = json.loads(text)
    columns = tuple(_column(*key) for key in keys)
    if any(len(column) != len(values) for column in columns):
        raise ValueError("keys and values of different length")
    return Stored(at, Fraction(scale), columns, tuple(map(int, values)))


def _plain(column: Sequence[Value]) -> tuple[str, list[Any]]:
    """The one type of a column's values, and those as JSON has them."""
    found = {_kind(type) for type in set(map(type, column)) - {NoneType}}
    if len(found) > 1:
        raise Unkeepable("a grouping key has values of several types")
    if not found:
        return "null", list(column)
    (tag,) = found
    write = _CODECS[tag][1]
    return tag, [None if value is None else write(value) for value in column]


def _kind(type: type) -> str:
    """A bool is no int here, nor a datetime a date."""
    for name, (supertype, _, _) in _CODECS.items():
        if issubclass(type, supertype):
            return name
    raise Unkeepable("a grouping key is of a type that cannot be kept")


def _column(tag: str, values: Sequence[Any]) -> tuple[Value, ...]:
    if tag == "null":
        return tuple(None for _ in values)
    read = _CODECS[tag][2]
    return tuple(None if value is None else read(value) for value in values)


def _span(value: datetime.timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


#: Python type, to JSON, from JSON. A subtype stands before its supertype.
_CODECS: Final[Mapping[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "bool": (bool, bool, bool),
    "int": (int, int, int),
    "float": (float, float.hex, float.fromhex),
    "decimal": (Decimal, str, Decimal),
    "str": (str, str, str),
    "datetime": (
        datetime.datetime,
        datetime.datetime.isoformat,
        datetime.datetime.fromisoformat,
    ),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "interval": (datetime.timedelta, _span, lambda parts: datetime.timedelta(*parts)),
    "uuid": (uuid.UUID, str, uuid.UUID),
}


# ---------------------------------------------------------------- releases and their measurements


def taken_apart(
    measured: Measured, scales: Sequence[Fraction], at: datetime.datetime
) -> list[Stored]:
    moment = at.isoformat(timespec="milliseconds")
    keys = tuple(tuple(listed(column)) for column in measured.keys)
    return [
        Stored(moment, scale, keys, tuple(map(int, values)))
        for scale, values in zip(scales, measured.noisy, strict=True)
    ]


def put_together(parts: Sequence[Stored]) -> Measured | None:
    """None where the parts have different bins: the data changed in between, and nobody said so."""
    if not parts or any(part.keys != parts[0].keys for part in parts):
        return None
    return Measured(parts[0].keys, tuple(part.values for part in parts))
