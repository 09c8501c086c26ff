"""The rules of the DP4SQL paper as printed (its Figures 2, 4, 6, 7 and 12). Unsound: for comparison only.

docs/soundness.md names the places (D1 to D5) where they give too small a bound. Nothing in dp4sql uses them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

Number = int | Fraction


@dataclass(frozen=True)
class Action:
    """Rep_k^A (when `attrs` is not None) or Add_a x Del_d."""

    k: Number = 0
    attrs: frozenset[str] | None = None
    add: Number = 0
    delete: Number = 0

    @property
    def rep(self) -> bool:
        return self.attrs is not None


@dataclass(frozen=True)
class View:
    """An expression's action, its columns, mmf of its columns, and the names of the rules used so far."""

    action: Action
    columns: frozenset[str]
    mmf: dict[str, Number]
    used: frozenset[str] = field(default=frozenset())

    def rule(self, name: str, action: Action, **changes: object) -> View:
        parts = {"columns": self.columns, "mmf": self.mmf, "used": self.used, **changes}
        return View(action, **{**parts, "used": parts["used"] | {name}})  # type: ignore


def delete(owned: int, columns: frozenset[str], mmf: dict[str, Number]) -> View:
    """E-Del, F-Del."""
    return View(Action(delete=owned), columns, mmf)


def replace(
    owned: int, attrs: frozenset[str], columns: frozenset[str], mmf: dict[str, Number]
) -> View:
    """E-Rep, F-Rep."""
    return View(Action(k=owned, attrs=attrs), columns, mmf)


def select(view: View, reads: frozenset[str]) -> View:
    """T-Sel1, T-Sel2, T-Sel3."""
    action = view.action
    if action.attrs is None or not action.attrs & reads:
        return view.rule("T-Sel1/2", action)
    return view.rule("T-Sel3", Action(add=action.k, delete=action.k))


def group_count(view: View, keys: frozenset[str], name: str) -> View:
    """T-Grp2, T-Grp3, T-Grp4, with the frequencies of Figure 12 (D4)."""
    columns = keys | {name}
    mmf = {key: view.mmf[key] for key in keys}
    action = view.action
    if action.attrs is None:
        moved = Action(k=action.add + action.delete, attrs=frozenset({name}))
        return view.rule("T-Grp2", moved, columns=columns, mmf=mmf)
    if action.attrs & keys:
        moved = Action(k=2 * action.k, attrs=frozenset({name}))
        return view.rule("T-Grp3", moved, columns=columns, mmf=mmf)
    return view.rule("T-Grp4", Action(attrs=frozenset()), columns=columns, mmf=mmf)


def key_join(child: View, parent: View, key_is_private: bool) -> View:
    """T-Key1 (D5), T-Key2 (D3), T-Key3 (D1, D2)."""
    columns = child.columns | parent.columns
    mmf = {**parent.mmf, **child.mmf}
    both = {"columns": columns, "mmf": mmf, "used": child.used | parent.used}
    if child.action.attrs is None:
        return child.rule("T-Key1", child.action, **both)
    if key_is_private:
        return child.rule(
            "T-Key2", Action(k=child.action.k, attrs=child.action.attrs | parent.columns), **both
        )
    attrs = child.action.attrs | (parent.action.attrs or frozenset())
    return child.rule("T-Key3", Action(k=child.action.k, attrs=attrs), **both)


def join(left: View, right: View, on: tuple[str, str]) -> View:
    """T-Join1 to T-Join4, with the frequencies of Figure 12."""
    f1, f2 = left.mmf[on[0]], right.mmf[on[1]]
    mmf = {c: m * f2 for c, m in left.mmf.items()} | {c: m * f1 for c, m in right.mmf.items()}
    used = left.used | right.used
    if any(rule.startswith("T-Grp") for rule in used):
        used |= {"Figure 12"}
    both = {"columns": left.columns | right.columns, "mmf": mmf, "used": used}
    a, b = left.action, right.action
    fixed = not (a.attrs or frozenset()) & {on[0]} and not (b.attrs or frozenset()) & {on[1]}
    if a.attrs is not None and b.attrs is not None and fixed:
        return left.rule("T-Join3", Action(k=a.k * f2 + b.k * f1, attrs=a.attrs | b.attrs), **both)
    (a1, d1), (a2, d2) = ((x.k, x.k) if x.rep else (x.add, x.delete) for x in (a, b))
    extra = a1 * a2
    return left.rule(
        "T-Join", Action(add=a1 * f2 + a2 * f1 + extra, delete=d1 * f2 + d2 * f1), **both
    )


@dataclass(frozen=True)
class Sensitivity:
    """A bound and the departures (D1 to D5) of the rules that it rests on."""

    bound: Number
    departures: tuple[str, ...]


DEPARTURES = {
    "T-Key1": ("D5",),
    "T-Key2": ("D3",),
    "T-Key3": ("D1", "D2", "D3"),
    "Figure 12": ("D4",),
}
"""Printed rules that are unsound as they stand, whether or not a given query shows it."""


def released(view: View, bound: Number) -> Sensitivity:
    found = {name for rule in view.used for name in DEPARTURES.get(rule, ())}
    return Sensitivity(bound, tuple(sorted(found)))


def count(view: View, keys: frozenset[str] = frozenset()) -> Sensitivity:
    """S-Cnt1, S-Cnt2, S-Cnt3."""
    action = view.action
    if action.attrs is None:
        return released(view, action.add + action.delete)
    return released(view, 2 * action.k if action.attrs & keys else 0)


def total(
    view: View, column: str, low: Number, high: Number, keys: frozenset[str] = frozenset()
) -> Sensitivity:
    """S-Sum1 to S-Sum4."""
    action, reach = view.action, max(abs(low), abs(high))
    if action.attrs is None:
        return released(view, (action.add + action.delete) * reach)
    if action.attrs & keys:
        return released(view, 2 * action.k * reach)
    return released(view, action.k * abs(low - high) if column in action.attrs else 0)
