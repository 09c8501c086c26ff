"""Frames of windows: read here and written anew, for whatever stands in one would run as it is."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from dp4sql.algebra.expr import Expr, Interval_, Lit
from dp4sql.algebra.types import NUMBERS, TIMES
from dp4sql.errors import SyntaxError_, Unsupported
from dp4sql.sql.parse import position

FARTHEST: Final = 10**9
#: In the order in which a frame may name them.
_PLACES: Final = (
    "UNBOUNDED PRECEDING",
    "PRECEDING",
    "CURRENT ROW",
    "FOLLOWING",
    "UNBOUNDED FOLLOWING",
)

Keys = tuple[tuple[Expr, bool], ...]


def frame(spec: exp.WindowSpec, order: Keys, offsets: list[Expr | None], at: exp.Expr) -> str:
    """`offsets` are what stands before the start and the end, lowered; None for what is a word."""
    kind = str(spec.args.get("kind")).upper()
    if kind not in ("ROWS", "RANGE", "GROUPS") or (kind == "GROUPS" and not order):
        raise SyntaxError_("GROUPS mode requires an ORDER BY clause", position=position(at))
    ends = [
        _end(spec.args.get(name), str(spec.args.get(f"{name}_side") or ""))
        for name in ("start", "end")
    ]
    start, end = (_PLACES.index(place) for place in ends)
    if start == 4 or end == 0 or start > end:
        raise SyntaxError_("a frame cannot end before it starts", position=position(at))
    texts = [
        place if offset is None else f"{_offset(offset, kind, order, at)} {place}"
        for place, offset in zip(ends, offsets, strict=True)
    ]
    return f"{kind} BETWEEN {texts[0]} AND {texts[1]}"


def _end(value: object, side: str) -> str:
    if value is None or value == "CURRENT ROW":
        return "CURRENT ROW"
    return f"UNBOUNDED {side}" if value == "UNBOUNDED" else side


def _offset(offset: Expr, kind: str, order: Keys, at: exp.Expr) -> str:
    value = offset.value if isinstance(offset, Lit) else None
    keys = {key.type.kind for key, _ in order}
    one = kind != "RANGE" or len(order) == 1
    match value:
        case bool():
            pass
        case int() if 0 <= value <= FARTHEST and one and (kind != "RANGE" or keys <= NUMBERS):
            return str(value)
        case Interval_() if kind == "RANGE" and one and keys <= TIMES:
            parts = (value.months, value.days, value.micros)
            if min(parts) >= 0:
                return f"INTERVAL '{parts[0]} months {parts[1]} days {parts[2]} microseconds'"
        case _:
            pass
    raise Unsupported(
        "a frame counts a constant number of rows, or with RANGE the distance to one number or time in ORDER BY",
        hint="For instance ROWS BETWEEN 6 PRECEDING AND CURRENT ROW.",
        position=position(at),
    )
