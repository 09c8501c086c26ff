"""Which sqlglot nodes are which operators, and what holds of them beside any scope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import Final

from sqlglot import exp

from dp4sql.algebra.expr import Call, Expr, Lit
from dp4sql.algebra.types import BOOLEAN, TEXTS, TIMES, Type
from dp4sql.errors import NumberOutOfRange, SyntaxError_, UndefinedFunction, Unsupported
from dp4sql.sql.literals import MAX_EXPONENT, in_range, writable
from dp4sql.sql.lower.expressions.types import is_integer, is_number
from dp4sql.sql.parse import nearest, position

COMPARISONS: Final = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
ARITHMETIC: Final = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
TEXT_FUNCTIONS: Final = {
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Length: "length",
    exp.Reverse: "reverse",
    exp.Ascii: "ascii",
}
ROUNDING: Final = {exp.Floor: "floor", exp.Ceil: "ceil", exp.Abs: "abs", exp.Sign: "sign"}
ANALYTIC: Final = {exp.Sqrt: "sqrt", exp.Ln: "ln", exp.Exp: "exp"}
SUGGESTED: Final = (
    "lower",
    "upper",
    "length",
    "substring",
    "trim",
    "abs",
    "round",
    "floor",
    "ceil",
    "coalesce",
    "nullif",
    "greatest",
    "least",
    "extract",
    "date_trunc",
    "position",
    "replace",
    "concat",
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "median",
    "variance",
    "stddev",
    "percentile_cont",
    "percentile_disc",
)


def negated(e: exp.Expr, expr: Expr) -> Expr:
    """NOT LIKE and IS NOT come as a flag on the test."""
    return Call("not", (expr,), BOOLEAN) if e.args.get("negate") else expr


def castable(source: Type, target: Type) -> bool:
    if target.kind == "jsonb":
        return source.kind == "jsonb"
    if source.kind in TEXTS or target.kind in TEXTS:
        return True
    if is_number(source) and is_number(target):
        return True
    if source.kind in TIMES and target.kind in TIMES:
        return True
    if source.kind == "boolean":
        return target.kind in ("integer", "boolean")
    return source.kind == target.kind or (source.kind == "integer" and target.kind == "boolean")


def fold(op: str, left: Expr, right: Expr, result: Type) -> Expr | None:
    """Arithmetic on exact constants."""
    if not (isinstance(left, Lit) and isinstance(right, Lit)) or op in ("/", "%"):
        return None
    a, b = left.value, right.value
    if isinstance(a, bool) or isinstance(b, bool) or result.kind in ("real", "double precision"):
        return None
    if not isinstance(a, (int, Decimal)) or not isinstance(b, (int, Decimal)):
        return None
    value = _computed(op, Decimal(a), Decimal(b))
    return Lit(in_range(int(value), result), result) if is_integer(result) else Lit(value, result)


def _computed(op: str, x: Decimal, y: Decimal) -> Decimal:
    """With all its digits."""
    with localcontext(prec=4 * MAX_EXPONENT):
        value = x + y if op == "+" else x - y if op == "-" else x * y
    if len(value.as_tuple().digits) > 2 * MAX_EXPONENT:
        raise NumberOutOfRange("value overflows numeric format")
    writable(value)
    return value


REWRITES: Final[Mapping[type[exp.Expr], str]] = {
    exp.Tuple: "Compare the columns one by one, joined by AND; count rows of SELECT DISTINCT a, b.",
    exp.Dot: "A function of dp4sql stands in FROM: SELECT * FROM dp4sql.certify(...).",
    exp.All: "Compare with the MAX or MIN of the subquery, or use NOT EXISTS.",
}


#: What the parser calls otherwise than Postgres does.
WRITTEN: Final[Mapping[str, str]] = {
    "rand": "random()",
    "regexp_like": "~ (regular expression match)",
    "regexp_replace": "regexp_replace",
    "unix_to_time": "to_timestamp",
    "decode_case": "decode",
    "group_concat": "string_agg",
    "exploding_generate_series": "generate_series",
    "explode": "unnest",
    "int_div": "div",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "#",
    "bitwise_not": "~",
    "bitwise_left_shift": "<<",
    "bitwise_right_shift": ">>",
    "similar_to": "SIMILAR TO",
    "regexp_i_like": "~*",
    "collate": "COLLATE",
    "array": "ARRAY",
    "tuple": "a row such as (a, b)",
}


def unknown(e: exp.Expr) -> Exception:
    at = position(e)
    if isinstance(e, exp.Any):
        return Unsupported(
            "ANY (SELECT ...) is supported with = only", hint=REWRITES[exp.All], position=at
        )
    if isinstance(e, exp.Exists):
        return Unsupported(
            f"{type(e).__name__.upper()} (SELECT ...) is supported as a condition of its own, joined to others by AND",
            hint=APART,
            position=at,
        )
    if isinstance(e, exp.Star):
        return SyntaxError_("* is not allowed here", position=at)
    anonymous = isinstance(e, (exp.Anonymous, exp.AnonymousAggFunc))
    name = str(e.name).lower() if anonymous else _snake(type(e).__name__)
    shown = WRITTEN.get(name, name.removeprefix("regexp_"))
    if isinstance(e, exp.Func) and shown == name:
        shown = f"function {name}"
    if anonymous:
        return UndefinedFunction(
            f"{shown} is not on the list of allowed functions", hint=_nearest(name), position=at
        )
    if not isinstance(e, exp.Func):
        shown = shown if name in WRITTEN else shown.upper().replace("_", " ")
        return Unsupported(
            f"{shown} is not supported", hint=REWRITES.get(type(e)) or _hint(name), position=at
        )
    return UndefinedFunction(
        f"{shown} is not on the list of allowed functions", hint=_hint(name), position=at
    )


APART: Final = (
    "Count the two sides of the OR in queries of their own and add them up, less those that meet both; or "
    "test for NULL after a LEFT JOIN with (SELECT DISTINCT k FROM ...)."
)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


INSTEAD: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("clock_timestamp", "timeofday", "current_time", "localtime"),
        "An answer must not change while it is made. CURRENT_DATE and NOW() are fixed once for each statement.",
    ),
    **dict.fromkeys(
        ("rand", "random", "setseed"), "An answer must not hang on chance. Leave it out."
    ),
    **dict.fromkeys(
        ("datediff", "date_diff", "timestampdiff", "timestamp_diff"),
        "a - b counts the days between dates, EXTRACT(EPOCH FROM a - b) the seconds between timestamps, and "
        "EXTRACT(YEAR FROM AGE(a, b)) whole years.",
    ),
    **dict.fromkeys(
        ("dateadd", "date_add", "date_sub", "make_interval", "timestampadd"),
        "Add a constant interval, as in d + INTERVAL '3 months'.",
    ),
    **dict.fromkeys(
        ("strftime", "date_format", "format_date"), "TO_CHAR(d, 'YYYY-MM') writes times."
    ),
    "initcap": "Engines differ in what a word is. UPPER(LEFT(x, 1)) || LOWER(SUBSTRING(x, 2)) writes one word so.",
    "exploding_generate_series": "It stands in FROM, as in FROM generate_series(1, 10) AS g(n).",
    "explode": "VALUES in FROM lists rows, as in FROM (VALUES (1), (2)) AS v(n).",
    "isnull": "COALESCE(x, 0) replaces NULL.",
    "decode_case": "Write CASE x WHEN 1 THEN 'a' ELSE 'b' END.",
    "contains": "Write x LIKE '%text%', or POSITION('text' IN x) > 0.",
    "ends_with": "Write x LIKE '%text'.",
    "last_day": "DATE_TRUNC('month', d) + INTERVAL '1 month' - INTERVAL '1 day' is the last day of the month.",
    "months_between": "12 * EXTRACT(YEAR FROM AGE(a, b)) + EXTRACT(MONTH FROM AGE(a, b)) counts whole months.",
    "date_bin": "DATE_TRUNC gives the start of an hour, day, week, month, quarter or year.",
    "to_number": "Cast it, as in x::numeric; what is no number becomes NULL.",
    "unix_to_time": "Add it to a constant, as in timestamp '1970-01-01' + INTERVAL '90 seconds'.",
    "regexp_replace": "REPLACE and TRANSLATE change what is constant; ~ tests a regular expression.",
    "cbrt": "Write POWER(x, 1.0 / 3).",
}
"""What does the same, by the parser's name for what is refused."""


def _hint(name: str) -> str:
    return INSTEAD.get(name, "docs/sql.md lists what is allowed.")


def _nearest(name: str) -> str:
    close = None if name in INSTEAD else nearest(name, SUGGESTED)
    return f"Perhaps {close} was meant." if close else _hint(name)
