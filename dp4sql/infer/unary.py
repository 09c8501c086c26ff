"""Rules for select, project, grouping and DISTINCT (paper Figure 4), one function a rule or family.

Every rule takes the terms of its input and gives the terms of its output, for one policy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from dp4sql.algebra.bounds import Bound, least, plus, times
from dp4sql.algebra.expr import Call, Case, Cast, Col, Expr, Lit, reads
from dp4sql.algebra.nodes import Agg
from dp4sql.infer.terms import (
    NONE,
    Attrs,
    Distinct,
    Term,
    Terms,
    changed,
    map_distinct,
    tidy,
    touched,
)


def select(terms: Terms, predicate: Expr) -> Terms:
    """T-Sel1, T-Sel2, T-Sel3. Del, Add and Opt pass; Rep n A passes if the predicate reads no column of A,
    and is Opt n A otherwise, because either side of a slot may be filtered away."""
    read = reads(predicate)
    return tidy(
        replace(term, kind="Opt") if term.kind == "Rep" and term.attrs & read else term
        for term in terms
    )


def project(terms: Terms, outputs: Mapping[str, Expr]) -> Terms:
    """T-Prj1, T-Prj2, T-Prj3. A becomes the output columns that read A; a Rep with none left vanishes."""
    passed = {expr.id: id for id, expr in outputs.items() if isinstance(expr, Col)}

    def through(term: Term) -> Term:
        attrs = frozenset(id for id, expr in outputs.items() if reads(expr) & term.attrs)
        seen = map_distinct(term.distinct, passed.get)
        absent = {id for id, expr in outputs.items() if term.absent and is_null(expr, term.absent)}
        return replace(term, attrs=attrs, distinct=seen, absent=frozenset(absent))

    return tidy(map(through, terms))


def is_null(expr: Expr, absent: Attrs) -> bool:
    """Whether `expr` is NULL where the columns `absent` are; a FILTER is a CASE without ELSE."""
    match expr:
        case Col(id):
            return id in absent
        case Lit(None):
            return True
        case Cast(arg):
            return is_null(arg, absent)
        case Call("+" | "-" | "*", args):
            return any(is_null(arg, absent) for arg in args)
        case Case(whens, default):
            return all(is_null(then, absent) for then in (*(then for _, then in whens), default))
        case _:
            return False


def affected(aggs: tuple[Agg, ...], attrs: Attrs) -> Attrs:
    """Aggregates that move when only `attrs` of a group's rows do: COUNT(*) never does."""
    return frozenset(agg.id for agg in aggs if agg.arg is not None and agg.arg in attrs)


def group_on_key(terms: Terms, keys: Attrs, aggs: tuple[Agg, ...]) -> Terms:
    """X-GrpKey. The keys hold a key of the view, so a group is one row: terms keep their kind, and an
    aggregate changes where its argument does."""
    return tidy(
        replace(
            term,
            attrs=(term.attrs & keys) | affected(aggs, term.attrs),
            distinct={x: pair for x, pair in term.distinct.items() if x <= keys},
            absent=term.absent & keys,
        )
        for term in terms
    )


def group_all(terms: Terms, aggs: tuple[Agg, ...]) -> Terms:
    """X-GrpAll. Without keys there is one row before and one after: Rep 1 on whatever may move."""
    if all(term.kind == "Rep" for term in terms):
        attrs = affected(aggs, changed(terms))
    else:
        attrs = frozenset(agg.id for agg in aggs)
    return tidy((Term("Rep", 1, attrs),)) if terms else ()


def group(terms: Terms, keys: Attrs, aggs: tuple[Agg, ...]) -> Terms:
    """T-Grp2, T-Grp3, T-Grp4 with SQL's meaning: a group exists while it has rows.

    Slots whose keys are fixed and whose rows stay move the aggregates of the groups they touch (Rep).
    All others may also make a group come or go (Opt). One group can be touched by several terms, so
    the columns are joined over the terms of a kind.
    """
    calm = [t for t in terms if t.stays(keys) and affected(aggs, t.attrs)]
    wild = [t for t in terms if not t.stays(keys)]
    moved = affected(aggs, changed(calm))
    return tidy(
        (
            Term("Rep", _touched(calm, keys), moved, _groups(calm, keys)),
            Term("Opt", _touched(wild, keys), frozenset(a.id for a in aggs), _groups(wild, keys)),
        )
    )


def _touched(terms: list[Term], keys: Attrs) -> Bound:
    return plus(*(touched(term, keys) for term in terms))


def _groups(terms: list[Term], keys: Attrs) -> Distinct:
    """A touched group may be there on both sides, so both sides see all touched values."""
    wanted = {columns & keys for term in terms for columns in term.distinct if columns & keys}
    return {x: (bound := plus(*(touched(t, x) for t in terms)), bound) for x in wanted}


def distinct(terms: Terms, columns: Attrs) -> Terms:
    """T-Grp1 under SQL's meaning. Per slot one value may vanish and one may appear, and they differ in A
    alone; no more values vanish (appear) than the slots take before (after)."""
    result = []
    for term in terms:
        if term.stays(columns):
            continue
        n = term.n
        if term.kind in ("Del", "Add"):
            n = least(n, plus(term.before(columns), term.after(columns)))
        elif term.fixes(columns):
            n = least(n, touched(term, columns))
        kind = "Opt" if term.kind == "Rep" else term.kind
        result.append(replace(term, n=n, kind=kind, absent=NONE))
    return tidy(result)


Names = Collection[tuple[str, str]]
"""Columns, each with a name that it is given; one may have several."""


def union_all(left: Terms, right: Terms, left_names: Names, right_names: Names) -> Terms:
    """X-Union. The slots of both sides, under the output's column names."""
    return tidy((*renamed(left, left_names), *renamed(right, right_names)))


def renamed(terms: Terms, names: Names) -> Terms:
    return tuple(
        replace(
            term,
            attrs=frozenset(new for old, new in names if old in term.attrs),
            distinct=map_distinct(term.distinct, dict(names).get),
            absent=frozenset(new for old, new in names if old in term.absent),
        )
        for term in terms
    )


@dataclass(frozen=True, slots=True)
class LeftGrouping:
    """A GROUP BY over a LEFT JOIN whose groups are single left rows."""

    left: Terms
    right: Terms
    left_keys: Attrs
    right_keys: Attrs
    left_frequency: Bound
    group_keys: Attrs
    aggs: tuple[Agg, ...]
    arguments: Mapping[str, Attrs]


def group_left_join(view: LeftGrouping) -> Terms:
    """X-GrpLeft. A group is one left row, padded when it has no match, so it is there exactly when that row is.

    Left terms keep their kind. A right slot that comes, goes or may change its key moves the aggregates
    of every left row with one of its key values (Rep); the group itself stays.
    """
    every = frozenset(agg.id for agg in view.aggs)
    roaming = [t for t in view.right if not t.stays(view.right_keys)]
    calm = [t for t in view.right if t.stays(view.right_keys)]
    from_right = every if roaming else _reading(view, changed(calm))
    slots = plus(*(touched(t, view.right_keys) for t in view.right))
    left = [
        replace(
            term,
            attrs=(term.attrs & view.group_keys)
            | from_right
            | (_reading(view, term.attrs) if term.fixes(view.left_keys) else every),
            distinct={x: pair for x, pair in term.distinct.items() if x <= view.group_keys},
            absent=term.absent & view.group_keys,
        )
        for term in view.left
    ]
    right = Term("Rep", times(slots, view.left_frequency), from_right)
    return tidy((*left, right))


def _reading(view: LeftGrouping, attrs: Attrs) -> Attrs:
    return frozenset(agg.id for agg in view.aggs if view.arguments.get(agg.id, NONE) & attrs)
