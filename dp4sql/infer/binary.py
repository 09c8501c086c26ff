"""Rules for joins and for EXISTS, IN and their negations (paper Figure 6), for one policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dp4sql.algebra.bounds import Bound, plus, times
from dp4sql.infer.terms import (
    Attrs,
    Distinct,
    Term,
    Terms,
    changed,
    comes_or_goes,
    map_distinct,
    tidy,
    touched,
)


@dataclass(frozen=True, slots=True)
class Side:
    """One input of a join: its terms, its columns, its join columns and the frequency of a key value."""

    terms: Terms
    columns: Attrs
    keys: Attrs
    frequency: Bound


def general_join(left: Side, right: Side, pairs: tuple[tuple[str, str], ...]) -> Terms:
    """T-Join1 to T-Join4, a term of one side at a time.

    A slot meets at most `frequency` rows of the partner on either side. A joined row that lies in a slot
    of both inputs is counted once, with the input whose slot may come, go or change its key; so a slot
    whose key is fixed only ever meets, for its own count, partner rows that stay or are replaced in place.
    """
    there = dict(pairs)
    back = {b: a for a, b in pairs}
    return tidy((*_one_side(left, right, there), *_one_side(right, left, back)))


def _one_side(own: Side, partner: Side, names: Mapping[str, str]) -> Terms:
    in_place = changed(
        t for t in partner.terms if t.kind in ("Rep", "Opt") and t.fixes(partner.keys)
    )
    replaced = changed(t for t in partner.terms if t.stays(partner.keys))
    result = []
    for term in own.terms:
        n = times(term.n, partner.frequency)
        seen = _with_partner_keys(term.distinct, names)
        match term.kind:
            case "Del" | "Add":
                result.append(replace(term, n=n, attrs=frozenset(), distinct=seen))
            case "Rep" if term.fixes(own.keys):
                result.append(replace(term, n=n, attrs=term.attrs | replaced, distinct=seen))
            case "Opt" if term.fixes(own.keys):
                result.append(replace(term, n=n, attrs=term.attrs | in_place, distinct=seen))
            case "Rep" | "Opt":
                attrs = term.attrs | partner.columns
                result.append(Term("Opt", n, attrs, seen))
    return tuple(result)


def _with_partner_keys(distinct: Distinct, names: Mapping[str, str]) -> Distinct:
    """In a joined row the partner's key equals the own one, so it takes no more values."""
    return {**distinct, **map_distinct(distinct, names.get)}


@dataclass(frozen=True, slots=True)
class KeyJoin:
    """A join of an anchored child with an anchored parent on the child's base foreign key.

    `owned`: rows of the child's base that one entity owns; `deleted`: whether that base is labelled DEL;
    `keeps_child`: LEFT JOIN; `total`: every foreign key value finds its row in the parent view.
    """

    child: Terms
    parent: Terms
    parent_columns: Attrs
    foreign_key: Attrs
    owned: Bound
    deleted: bool
    total: bool
    keeps_child: bool
    distinct: Distinct


def key_join(view: KeyJoin) -> Terms:
    """T-Key1, T-Key2, T-Key3 in one, corrected by D1, D2, D3 and D5.

    Every changed row sits on a row of the child's base that the entity owns: an unowned row refers to
    unowned rows only, and none of those changed. So `owned` slots are enough, one a base row. What may
    change in a slot is what changed in the child, and of the parent all columns if the reference itself
    may change, else the parent's changed ones.
    """
    if not view.child and not view.parent:
        return ()
    if view.deleted:
        return tidy((Term("Del", view.owned, frozenset(), view.distinct),))
    moves = bool(changed(view.child) & view.foreign_key)
    parent_flickers = comes_or_goes(view.parent)
    whole_parent = moves or (view.keeps_child and parent_flickers)
    attrs = changed(view.child) | (view.parent_columns if whole_parent else changed(view.parent))
    kind = "Opt" if comes_or_goes(view.child) or _may_lose_parent(view, moves) else "Rep"
    return tidy((Term(kind, view.owned, attrs, view.distinct),))  # type: ignore[arg-type]


def _may_lose_parent(view: KeyJoin, moves: bool) -> bool:
    """Whether the join can drop a child row on one side only.

    A deleted parent takes its reference with it: where the reference may move it must move, and it finds
    its new row if the parent is total.
    """
    if view.keeps_child:
        return False
    if any(term.kind == "Opt" for term in view.parent):
        return True
    if moves:
        return not view.total
    return comes_or_goes(view.parent)


def left_one(left: Side, right: Side) -> Terms:
    """X-LeftOne. LEFT JOIN with a side whose keys differ: each left row is there once, whatever it meets.

    Left slots stay; what a changed row meets may be another row, or none. Every right slot changes what the
    left rows with one of its key values meet, in the right columns alone, and padding is such a change.
    """
    moved = bool(right.terms)
    own = [
        replace(t, attrs=t.attrs | right.columns) if moved or not t.fixes(left.keys) else t
        for t in left.terms
    ]
    met = [
        Term(
            "Rep",
            times(touched(t, right.keys), left.frequency),
            t.attrs if t.stays(right.keys) else right.columns,
        )
        for t in right.terms
    ]
    return tidy((*own, *met))


def padded(terms: Terms, columns: Attrs) -> Terms:
    """Rows without a match, beside which the other side's `columns` are NULL."""
    return tuple(replace(term, absent=term.absent | columns) for term in terms)


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """EXISTS, IN or a negation. `left_reads` and `right_reads` are the columns that decide a match."""

    left: Terms
    right: Terms
    left_reads: Attrs
    right_reads: Attrs
    right_keys: Attrs
    left_frequency: Bound


def semi_join(view: SemiJoin) -> Terms:
    """X-Semi. Left slots stay; Rep becomes Opt where its own match may change. Every right slot that comes,
    goes or may change what is matched adds the left rows with one of its key values, each of which may
    appear or vanish unchanged."""
    roaming = [t for t in view.right if not t.stays(view.right_reads)]
    own = [
        replace(t, kind="Opt")
        if t.kind == "Rep" and (roaming or not t.fixes(view.left_reads))
        else t
        for t in view.left
    ]
    slots = plus(*(touched(t, view.right_keys) for t in roaming))
    return tidy((*own, Term("Opt", times(slots, view.left_frequency))))


def owned_only(
    terms: Terms, owned: Bound, deleted: bool, distinct: Distinct, *, flickers: bool, attrs: Attrs
) -> Terms:
    """X-Hang. The other side hangs on this one by the only link through which its rows are owned, and
    that link cannot change: then every changed row is one that the entity owns here."""
    if not terms:
        return ()
    if deleted:
        return tidy((Term("Del", owned, frozenset(), distinct),))
    return tidy((Term("Opt" if flickers else "Rep", owned, attrs, distinct),))
