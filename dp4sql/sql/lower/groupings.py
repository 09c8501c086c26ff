"""ROLLUP, CUBE and GROUPING SETS: one SELECT for each set of keys, joined by UNION ALL.

A key that a set leaves out is NULL in it, and GROUPING(key) says which are. Each set is a release of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final

from sqlglot import exp

from dp4sql.errors import SyntaxError_, Unsupported
from dp4sql.sql.lower.aggregates import is_aggregate
from dp4sql.sql.lower.headings import output_name
from dp4sql.sql.lower.names import fold
from dp4sql.sql.parse import position

MOST: Final = 32

Keys = tuple[exp.Expr, ...]


Absent = exp.Tag
"""NULL of the type of a key that a set leaves out: a node that no text is parsed to."""


def has_sets(e: exp.Select) -> bool:
    group = e.args.get("group")
    return group is not None and any(map(_is_set, group.expressions))


def _is_set(e: exp.Expr) -> bool:
    return isinstance(e, exp.Rollup | exp.Cube | exp.GroupingSets)


def spread(e: exp.Select) -> exp.Expr:
    """`e` as a UNION ALL over its sets, with its ORDER BY and LIMIT outside."""
    _refuse(e)
    every = [_key(item, e) for item in _leaves(e.args["group"].expressions)]
    parts = [_part(e, keys, every) for keys in _sets(e)]
    whole: exp.Expr = parts[0]
    for part in parts[1:]:
        whole = exp.Union(this=whole, expression=part, distinct=False)
    if e.args.get("order"):
        whole.set("order", _order(e))
    for clause in ("limit", "offset"):
        if e.args.get(clause):
            whole.set(clause, e.args[clause].copy())
    return whole


def _refuse(e: exp.Select) -> None:
    """What looks at the rows of all sets together would look at each set alone."""
    clauses = [*e.expressions, *(e.args["order"].expressions if e.args.get("order") else ())]
    window = next((w for clause in clauses for w in clause.find_all(exp.Window)), None)
    if window is not None or e.args.get("distinct"):
        raise Unsupported(
            "window functions and DISTINCT beside ROLLUP, CUBE and GROUPING SETS are not supported",
            hint="Group in a subquery of FROM, and apply them to its rows.",
            position=position(window or e),
        )


def _sets(e: exp.Select) -> list[Keys]:
    """Every set of keys: those of the clauses combined with each other."""
    choices = [_choices(item, e) for item in e.args["group"].expressions]
    _check(math.prod(map(len, choices)), e)
    return [tuple(itertools.chain(*chosen)) for chosen in itertools.product(*choices)]


def _check(groupings: int, e: exp.Select) -> None:
    """Before they are made: 30 keys of CUBE are a billion."""
    if groupings > MOST:
        shown = groupings if groupings <= 1000 else "over 1000"
        raise Unsupported(
            f"{shown} groupings in one query are not supported",
            hint=f"Ask for at most {MOST}, in GROUPING SETS.",
            position=position(e.args["group"]),
        )


def _choices(item: exp.Expr, e: exp.Select) -> list[Keys]:
    match item:
        case exp.Rollup():
            steps = [_keys(part, e) for part in item.expressions]
            _check(len(steps) + 1, e)
            return [_joined(steps[:n]) for n in range(len(steps), -1, -1)]
        case exp.Cube():
            steps = [_keys(part, e) for part in item.expressions]
            _check(1 << len(steps), e)
            sizes = range(len(steps), -1, -1)
            return [_joined(c) for n in sizes for c in itertools.combinations(steps, n)]
        case exp.GroupingSets():
            return [
                keys
                for part in item.expressions
                for keys in (_choices(part, e) if _is_set(part) else [_keys(part, e)])
            ]
        case _:
            return [_keys(item, e)]


def _keys(item: exp.Expr, e: exp.Select) -> Keys:
    parts = item.expressions if isinstance(item, exp.Tuple) else [item]
    return tuple(_key(part, e) for part in parts)


def _joined(parts: Iterable[Keys]) -> Keys:
    return tuple(itertools.chain(*parts))


def _leaves(items: Sequence[exp.Expr]) -> Iterable[exp.Expr]:
    for item in items:
        if _is_set(item) or isinstance(item, exp.Tuple):
            yield from _leaves(item.expressions)
        else:
            yield item


def _key(item: exp.Expr, e: exp.Select) -> exp.Expr:
    """What a position or an output name stands for."""
    while isinstance(item, exp.Paren):
        item = item.this
    if isinstance(item, exp.Literal) and not item.is_string:
        index = int(str(item.this)) if str(item.this).isdigit() else 0
        if not 1 <= index <= len(e.expressions):
            raise SyntaxError_(
                f"GROUP BY position {item.this} is not in select list", position=position(item)
            )
        return _bare(e.expressions[index - 1])
    if isinstance(item, exp.Column) and not item.args.get("table"):
        for output in e.expressions:
            if isinstance(output, exp.Alias) and output_name(output) == fold(item.this):
                return _bare(output)
    return item


def _bare(output: exp.Expr) -> exp.Expr:
    return output.this if isinstance(output, exp.Alias) else output


def _part(e: exp.Select, keys: Keys, every: Sequence[exp.Expr]) -> exp.Select:
    """`e` grouped by `keys`, where the others of `every` key are NULL."""
    absent = [key for key in every if key not in keys]
    part = e.copy()
    for clause in ("order", "limit", "offset"):
        part.set(clause, None)
    part.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
    outputs = []
    for output in part.expressions:
        name = output_name(output)
        shown = exp.to_identifier(name, quoted=True)
        outputs.append(exp.Alias(this=_without(_bare(output), absent), alias=shown))
    part.set("expressions", outputs)
    having = part.args.get("having")
    if having is not None:
        having.set("this", _without(having.this, absent))
    elif not keys:
        # One row for all, also where no output is an aggregate.
        part.set("having", exp.Having(this=exp.GTE(this=_all(), expression=_all())))
    return part


def _all() -> exp.Expr:
    return exp.Count(this=exp.Star(), big_int=True)


def _without(e: exp.Expr, absent: Sequence[exp.Expr]) -> exp.Expr:
    """`e` with NULL for the absent keys, except in what aggregates take (FILTER too), and GROUPING as a number."""
    if isinstance(e, exp.Grouping):
        bits = [str(int(key in absent)) for key in e.expressions]
        return exp.Literal.number(int("".join(bits), 2))
    if e in absent:
        return Absent(this=e)
    if isinstance(e, exp.Query) or is_aggregate(e):
        return e
    for name, value in list(e.args.items()):
        if isinstance(value, exp.Expr):
            e.set(name, _without(value, absent))
        elif isinstance(value, list):
            e.set(name, [_without(v, absent) if isinstance(v, exp.Expr) else v for v in value])
    return e


def _order(e: exp.Select) -> exp.Expr:
    """ORDER BY over the union: by position where it repeats an output."""
    order = e.args["order"].copy()
    outputs = [_bare(output) for output in e.expressions]
    for item in order.expressions:
        if item.this in outputs:
            item.set("this", exp.Literal.number(outputs.index(item.this) + 1))
    return order
