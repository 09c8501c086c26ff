"""What follows from sums over pairs of numbers, in doubles: the formulas of `dp4sql.sql.pair_sums`."""

from __future__ import annotations

from typing import Final

from dp4sql.algebra.expr import Call
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.pair_sums import FORMULAS, NAMES
from dp4sql.sql.render.numbers import to_double

LARGE: Final = "1e70"
SMALL: Final = "1e-70"
"""Between these no product or quotient of the formulas leaves double precision. What is smaller counts as 0."""


def of_sums(op: str, expr: Call, texts: list[str], dialect: Dialect) -> str:
    doubles = (to_double(arg, text, dialect) for arg, text in zip(expr.args, texts, strict=True))
    values = dict(zip(NAMES, map(_moderate, doubles), strict=True))
    test, value = FORMULAS[op]
    return f"CASE WHEN {test.format(**values)} THEN {value.format(**values)} END"


def _moderate(x: str) -> str:
    return f"(CASE WHEN ABS({x}) < {SMALL} THEN 0.0e0 WHEN ABS({x}) <= {LARGE} THEN {x} END)"
