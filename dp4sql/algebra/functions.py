"""The allow-list of scalar functions and operators: deterministic and, as rendered, total.

`may_fail` marks what Postgres answers with an error for some arguments: the rendering yields NULL there
(or, for arithmetic, computes in a type wide enough), so an error can never tell one database from another.
`strict` functions are NULL when any argument is. `held in` (value, low, high, what a NULL becomes) is for
what dp4sql adds up itself; no query can write it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Function:
    strict: bool = True
    may_fail: bool = False


_TOTAL = Function()
_LAX = Function(strict=False)
_PARTIAL = Function(may_fail=True)

FUNCTIONS: Final[Mapping[str, Function]] = {
    **dict.fromkeys(("and", "or", "is null", "is true", "is false", "is distinct"), _LAX),
    **dict.fromkeys(("coalesce", "nullif", "least", "greatest", "concat", "concat_ws"), _LAX),
    "held in": _LAX,
    "array": _LAX,
    **dict.fromkeys(("not", "=", "<>", "<", "<=", ">", ">=", "like", "ilike", "matches"), _TOTAL),
    **dict.fromkeys(
        ("+", "-", "*", "neg", "abs", "floor", "ceil", "round", "trunc", "sign"), _TOTAL
    ),
    **dict.fromkeys(("/", "%", "sqrt", "ln", "log10", "exp", "power"), _PARTIAL),
    **dict.fromkeys(("||", "lower", "upper", "length", "trim", "ltrim", "rtrim"), _TOTAL),
    **dict.fromkeys(("substring", "replace", "position", "starts_with", "reverse"), _TOTAL),
    **dict.fromkeys(("left", "right", "split_part", "lpad", "rpad", "translate", "ascii"), _TOTAL),
    **dict.fromkeys(
        ("corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_slope"), _PARTIAL
    ),
    **dict.fromkeys(("regr_sxx", "regr_syy", "regr_sxy"), _PARTIAL),
    **dict.fromkeys(("->", "->>"), _PARTIAL),
    **dict.fromkeys(
        (
            "span",
            "age",
            "days",
            "make_date",
            "date+days",
            "date-days",
            "date-date",
            "time+interval",
        ),
        _PARTIAL,
    ),
    **dict.fromkeys(("date_trunc", "extract_year", "extract_isoyear"), _TOTAL),
    **dict.fromkeys(
        (
            "extract_month",
            "extract_day",
            "extract_hour",
            "extract_minute",
            "extract_second",
            "extract_dow",
            "extract_isodow",
            "extract_doy",
            "extract_week",
            "extract_quarter",
            "extract_epoch",
        ),
        _TOTAL,
    ),
}

PARTS: Final[Mapping[str, tuple[int, int]]] = {
    "extract_month": (1, 12),
    "extract_day": (1, 31),
    "extract_hour": (0, 23),
    "extract_minute": (0, 59),
    "extract_second": (0, 60),
    "extract_dow": (0, 6),
    "extract_isodow": (1, 7),
    "extract_doy": (1, 366),
    "extract_week": (1, 53),
    "extract_quarter": (1, 4),
}
"""Ranges of date parts, whatever the date."""

SPREADS: Final = frozenset({"stddev_samp", "stddev_pop", "var_samp", "var_pop"})
"""Window aggregates that square what they read."""
