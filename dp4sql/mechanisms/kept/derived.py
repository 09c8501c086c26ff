"""Releases that follow from one that is kept: some of its groups, or sums over them.

Both have the same FROM, and the one that is kept has every condition of the other or none; what it lacks it must
be able to decide on its own groups. Groups partition the rows only where each key is a column with declared values
(a domain, a boolean, an IN list of the query), so that is asked for: a row in no group would be missing from a sum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dp4sql.algebra.expr import Call, Col, Expr, In, Lit, conjuncts, rewrite
from dp4sql.algebra.nodes import Node, Project, Scan, Select, columns, walk_nodes
from dp4sql.algebra.types import COMPARED, Type, Value
from dp4sql.infer.facts import Facts
from dp4sql.mechanisms.bins import BinFinder
from dp4sql.mechanisms.fitting import fit
from dp4sql.mechanisms.kept.stored import Stored
from dp4sql.mechanisms.measure import Quantity
from dp4sql.mechanisms.release import Measured
from dp4sql.mechanisms.stages import Release
from dp4sql.policy.labels import PolicySet
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.render import Renderer

ADDITIVE: Final = frozenset({"count", "count_true", "count_false", "sum", "sum_squares"})

Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What a release measures, in texts that are the same in every statement: FROM, its conditions, the keys
    it groups by, and a text for each measurement. `partition`: each row of FROM that meets the conditions is in
    exactly one group. `conditions` are those that a list of groups might decide, over columns that
    `texts` translates."""

    source: str
    where: frozenset[str]
    keys: tuple[str, ...]
    types: tuple[Type, ...]
    measures: tuple[str, ...]
    partition: bool
    conditions: Mapping[str, Expr]
    texts: Mapping[str, str]


def view(release: Release, policies: PolicySet, facts: Facts, dialect: Dialect) -> View | None:
    """None where something is measured that does not add up over groups."""
    if any(m.quantity.kind not in ADDITIVE for m in release.measurements):
        return None
    base, names, found = _peeled(release.node.child)
    renderer = Renderer(dialect)
    block = renderer.block(base)

    def text(expr: Expr) -> str:
        return renderer.expr(expr, block.names)

    keys = [_inline(release.group_by.get(k, names[k]), names) for k in release.node.keys]
    conditions = {text(c): c for c in found}
    return View(
        source=block.source,
        where=frozenset([*block.where, *conditions]),
        keys=tuple(map(text, keys)),
        types=tuple(key.type for key in keys),
        measures=tuple(_measure(m.quantity, names, text) for m in release.measurements),
        partition=BinFinder(policies, facts, release.node).partitions(),
        conditions=conditions,
        texts=block.names,
    )


def _peeled(node: Node) -> tuple[Node, dict[str, Expr], list[Expr]]:
    """Below the top selections and projections: the rest, each column over it, and the conditions."""
    match node:
        case Select(child, predicate):
            base, names, found = _peeled(child)
            return base, names, [*found, *(_inline(c, names) for c in conjuncts(predicate))]
        case Project(child, outputs):
            base, names, found = _peeled(child)
            return base, {id: _inline(expr, names) for id, expr in outputs}, found
        case _:
            return node, {id: Col(id, type) for id, type in columns(node)}, []


def _inline(expr: Expr, names: Mapping[str, Expr]) -> Expr:
    return rewrite(expr, lambda part: names.get(part.id) if isinstance(part, Col) else None)


def _measure(q: Quantity, names: Mapping[str, Expr], text: Callable[[Expr], str]) -> str:
    arg = None if q.arg is None else text(names[q.arg])
    return json.dumps([q.kind, str(q.unit), str(q.center), q.low, q.high, arg])


# ---------------------------------------------------------------- what is kept of it


@dataclass(frozen=True, slots=True)
class Entry:
    """A release that others may follow from: its conditions and keys, and where each measurement is kept."""

    where: frozenset[str]
    keys: tuple[str, ...]
    measures: Mapping[str, str]


def entry(found: View, kept_under: Sequence[str]) -> Entry | None:
    """None where nothing can follow from it."""
    if not (found.partition and found.keys):
        return None
    return Entry(found.where, found.keys, dict(zip(found.measures, kept_under, strict=True)))


def to_text(entries: Sequence[Entry]) -> str:
    return json.dumps([[sorted(e.where), e.keys, e.measures] for e in entries])


def from_text(text: str | None) -> list[Entry]:
    """No entries where somebody wrote something else there."""
    try:
        rows = json.loads(text) if text else []
        return [Entry(frozenset(where), tuple(keys), dict(found)) for where, keys, found in rows]
    except (TypeError, ValueError):
        return []


# ---------------------------------------------------------------- deriving


def fits(wanted: View, present: Entry) -> bool:
    """Whether `wanted` may follow from `present`, as far as texts tell."""
    return (
        present.where <= wanted.where
        and wanted.where - present.where <= wanted.conditions.keys()
        and set(wanted.keys) <= set(present.keys)
        and set(wanted.measures) <= present.measures.keys()
        and all(type.kind in COMPARED for type in wanted.types)
    )


def public_bins(release: Release) -> Node | None:
    """The bins of a release where they need no data; None where they do."""
    reads = release.bins is not None and any(isinstance(n, Scan) for n in walk_nodes(release.bins))
    return None if reads else release.bins


def derive(
    wanted: View, present: Entry, parts: Sequence[Stored], bins: Sequence[Row]
) -> tuple[Measured, int] | None:
    """The measurements of `wanted` in `bins`, and how many noisy numbers the largest sum is of. None where a
    condition cannot be decided."""
    groups = list(zip(*parts[0].keys, strict=True))
    try:
        met = [i for i, group in enumerate(groups) if _meets(wanted, present, group)]
    except Undecided:
        return None
    places = [present.keys.index(key) for key in wanted.keys]
    members: dict[Row, list[int]] = {}
    for i in met:
        key = tuple(fit(groups[i][p], t) for p, t in zip(places, wanted.types, strict=True))
        members.setdefault(key, []).append(i)
    noisy = [[sum(part.values[i] for i in members.get(b, ())) for b in bins] for part in parts]
    most = max((len(members.get(b, ())) for b in bins), default=1)
    return Measured(tuple(zip(*bins, strict=True)), noisy), most


def wider(scale: Fraction, most: int) -> Fraction:
    """A scale whose 95 % half-width holds for the sum of `most` independent draws: their deviations add up in
    squares, and the tails of a sum are lighter than those of one draw."""
    if most <= 1:
        return scale
    return scale * Fraction(math.isqrt(most * 10**8) + 1, 10**4)


class Undecided(Exception):
    """A condition that the values of a group do not decide."""


def _meets(wanted: View, present: Entry, group: Row) -> bool:
    values = dict(zip(present.keys, group, strict=True))
    extra = wanted.where - present.where
    return all(_holds(wanted.conditions[c], wanted.texts, values) is True for c in extra)


def _holds(expr: Expr, texts: Mapping[str, str], values: Mapping[str, Value]) -> bool | None:
    """SQL's three-valued logic; None is unknown."""
    match expr:
        case Call("and" | "or" as op, args):
            return _joined(op, [_holds(arg, texts, values) for arg in args])
        case Call("not", (arg,)):
            held = _holds(arg, texts, values)
            return None if held is None else not held
        case Call("=", (a, b)):
            return _equal(_value(a, texts, values), _value(b, texts, values))
        case Call("<>", (a, b)):
            equal = _equal(_value(a, texts, values), _value(b, texts, values))
            return None if equal is None else not equal
        case In(arg, options):
            value = _value(arg, texts, values)
            return _joined("or", [_equal(value, option.value) for option in options])
        case _:
            raise Undecided


def _joined(op: str, parts: Sequence[bool | None]) -> bool | None:
    decides = op == "or"
    if any(part is decides for part in parts):
        return decides
    return None if None in parts else not decides


def _value(expr: Expr, texts: Mapping[str, str], values: Mapping[str, Value]) -> Value:
    match expr:
        case Lit(value):
            return value
        case Col(id, type) if type.kind in COMPARED and texts.get(id) in values:
            return values[texts[id]]
        case _:
            raise Undecided


def _equal(a: Value, b: Value) -> bool | None:
    if a is None or b is None:
        return None
    if type(a) is not type(b):
        raise Undecided
    return a == b


def additions(entries: Sequence[Entry], new: Entry, most: int) -> Iterator[Entry]:
    """The entries with a new one first; at most so many."""
    alike = [e for e in entries if (e.where, e.keys) == (new.where, new.keys)]
    measures = {key: kept for e in reversed(alike) for key, kept in e.measures.items()}
    yield Entry(new.where, new.keys, measures | dict(new.measures))
    yield from [e for e in entries if e not in alike][: most - 1]
