"""Which sqlglot nodes are which operators, and what holds of them beside any scope."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from sqlglot import exp

from dp4sql.algebra.expr import Call, Expr, Lit
from dp4sql.algebra.types import BOOLEAN, TEXTS, TIMES, Type
from dp4sql.errors import SyntaxError_, UndefinedFunction, Unsupported
from dp4sql.sql.parse import nearest, position
from dp4sql.sql.types import is_integer, is_number

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
)


def negated(e: exp.Expr, expr: Expr) -> Expr:
    """NOT LIKE and IS NOT come as a flag on the test."""
    return Call("not", (expr,), BOOLEAN) if e.args.get("negate") else expr


def castable(source: Type, target: Type) -> bool:
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
    x, y = Decimal(a), Decimal(b)
    value = x + y if op == "+" else x - y if op == "-" else x * y
    return Lit(int(value) if is_integer(result) else value, result)


REWRITES: Final[Mapping[type[exp.Expr], str]] = {
    exp.All: "Compare with the MAX or MIN of the subquery, or use NOT EXISTS.",
    **dict.fromkeys((exp.Rollup, exp.Cube, exp.GroupingSets), "Ask one query for each grouping."),
}


def unknown(e: exp.Expr) -> Exception:
    at = position(e)
    if isinstance(e, (exp.Exists, exp.Any)):
        return Unsupported(
            f"{type(e).__name__.upper()} (SELECT ...) is supported as a condition of its own, joined to others by AND",
            hint="Ask for the two sides of the OR in queries of their own, or use a LEFT JOIN.",
            position=at,
        )
    if isinstance(e, (exp.Anonymous, exp.AnonymousAggFunc)):
        name = str(e.name).lower()
        close = nearest(name, SUGGESTED)
        return UndefinedFunction(
            f"function {name} is not on the list of allowed functions",
            hint=f"Perhaps {close} was meant."
            if close
            else "docs/sql.md lists the allowed functions.",
            position=at,
        )
    if isinstance(e, exp.Func):
        name = (e.sql_name() if hasattr(e, "sql_name") else type(e).__name__).lower()
        return UndefinedFunction(
            f"function {name} is not on the list of allowed functions",
            hint="docs/sql.md lists the allowed functions.",
            position=at,
        )
    if isinstance(e, exp.Star):
        return SyntaxError_("* is not allowed here", position=at)
    return Unsupported(
        f"{type(e).__name__} expressions are not supported", hint=REWRITES.get(type(e)), position=at
    )
