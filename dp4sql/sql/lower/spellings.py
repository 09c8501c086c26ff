"""Aggregates under the names that other systems give them, as Postgres writes them.

APPROX_... is exact here before the noise, and carries no error of its own beside that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from dp4sql.errors import SyntaxError_
from dp4sql.sql.parse import position

Ordered = type[exp.PercentileCont] | type[exp.PercentileDisc]


def _percentile(kind: Ordered) -> Callable[[exp.Expr, list[exp.Expr]], exp.Expr]:
    def written(e: exp.Expr, arguments: list[exp.Expr]) -> exp.Expr:
        x, fraction = _taken(e, arguments, 2, "a column and a fraction, as in (x, 0.9)")
        return exp.WithinGroup(
            this=kind(this=fraction), expression=exp.Order(expressions=[exp.Ordered(this=x)])
        )

    return written


def _single(kind: type[exp.Expr]) -> Callable[[exp.Expr, list[exp.Expr]], exp.Expr]:
    def written(e: exp.Expr, arguments: list[exp.Expr]) -> exp.Expr:
        (x,) = _taken(e, arguments, 1, "one argument")
        return kind(this=x)

    return written


def _distinct(e: exp.Expr, arguments: list[exp.Expr]) -> exp.Expr:
    (x,) = _taken(e, arguments, 1, "one argument")
    return exp.Count(this=exp.Distinct(expressions=[x]))


def _count_if(e: exp.Expr, arguments: list[exp.Expr]) -> exp.Expr:
    (x,) = _taken(e, arguments, 1, "one condition")
    return exp.Count(this=exp.Case(ifs=[exp.If(this=x, true=exp.Literal.number(1))]))


def _taken(e: exp.Expr, arguments: list[exp.Expr], count: int, what: str) -> list[exp.Expr]:
    if len(arguments) != count:
        raise SyntaxError_(f"{name(e).upper()} takes {what}", position=position(e))
    return arguments


SPELLINGS: Final[Mapping[str, Callable[[exp.Expr, list[exp.Expr]], exp.Expr]]] = {
    "quantile_cont": _percentile(exp.PercentileCont),
    **dict.fromkeys(
        ("quantile", "quantile_disc", "approx_quantile", "approx_percentile"),
        _percentile(exp.PercentileDisc),
    ),
    "approx_median": _single(exp.Median),
    "every": _single(exp.LogicalAnd),
    **dict.fromkeys(("approx_distinct", "approx_count_distinct"), _distinct),
    **dict.fromkeys(("count_if", "countif"), _count_if),
}

_NODES: Final[Mapping[type[exp.Expr], tuple[str, tuple[str, ...]]]] = {
    exp.ApproxQuantile: ("approx_quantile", ("this", "quantile")),
    exp.Quantile: ("quantile", ("this", "quantile")),
    exp.ApproxDistinct: ("approx_count_distinct", ("this",)),
    exp.CountIf: ("count_if", ("this",)),
}
"""What the parser has a class for: its name and where its arguments are."""


def name(e: exp.Expr) -> str:
    if type(e) in _NODES:
        return _NODES[type(e)][0]
    return str(e.name).lower() if isinstance(e, exp.Anonymous) else ""


def is_spelling(e: exp.Expr) -> bool:
    return name(e) in SPELLINGS


def written(e: exp.Expr) -> exp.Expr | None:
    """The same as Postgres writes it; None where `e` is no other name of an aggregate."""
    rule = SPELLINGS.get(name(e))
    if rule is None:
        return None
    _, places = _NODES.get(type(e), ("", ()))
    arguments = [e.args[p] for p in places if e.args.get(p) is not None] or e.expressions
    return rule(e, arguments)
