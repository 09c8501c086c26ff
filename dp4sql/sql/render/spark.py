"""What Spark may be asked: the functions that mean there what they mean in Postgres, and cannot fail.

Everything else is refused. Spark counts weekdays from another day, has its own TRUNC, makes intervals of
differences of dates, and adds months by its own rules.
"""

from __future__ import annotations

from typing import Final

from dp4sql.algebra.digits import width
from dp4sql.algebra.expr import Call
from dp4sql.algebra.types import INTEGERS
from dp4sql.errors import Unsupported

LOGIC: Final = ("and", "or", "not", "=", "<>", "<", "<=", ">", ">=", "is distinct", "is null")
TRUTH: Final = (
    "is true",
    "is false",
    "coalesce",
    "least",
    "greatest",
    "nullif",
    "held in",
    "array",
)
NUMBERS: Final = (
    "+",
    "-",
    "*",
    "/",
    "%",
    "neg",
    "abs",
    "floor",
    "ceil",
    "round",
    "sqrt",
    "ln",
    "log10",
    "exp",
)
TEXTS: Final = ("like", "ilike", "||", "substring", "lower", "upper", "length", "replace")
FIELDS: Final = ("year", "quarter", "month", "day", "hour", "minute")
KNOWN: Final = frozenset(
    (*LOGIC, *TRUTH, *NUMBERS, *TEXTS, "date_trunc", *(f"extract_{field}" for field in FIELDS))
)


def require(op: str, expr: Call) -> None:
    """Unsupported where `op` is not known to be safe on Spark."""
    if op not in KNOWN:
        name = op.removeprefix("extract_").upper()
        raise Unsupported(
            f"{name} has no safe form on Spark",
            hint="The same query works where the data lies in DuckDB or Postgres.",
        )
    if op == "/" and expr.type.kind in INTEGERS:
        dividend = width(expr.args[0])
        if dividend is None or dividend.digits > 18:
            raise Unsupported(
                "a quotient of integers beyond 18 digits has no safe form on Spark",
                hint="Cast the dividend to double precision.",
            )
