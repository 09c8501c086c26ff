"""Exact distributions by walking every outcome of every draw."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

Outcome = TypeVar("Outcome", bound=Hashable)
Distribution = Mapping[Outcome, Fraction]


class _Undecided(Exception):
    def __init__(self, weights: Sequence[int]) -> None:
        super().__init__()
        self.weights = list(weights)


def distribution(run: Callable[[Callable[[Sequence[int]], int]], Outcome]) -> Distribution[Outcome]:
    """The law of `run(choose)`, where `choose` picks index i with probability weights[i] / sum.

    `run` is repeated with every sequence of choices it can meet; it has to be deterministic otherwise.
    """
    found: dict[Outcome, Fraction] = {}
    waiting: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while waiting:
        path, chance = waiting.pop()
        try:
            outcome = run(_scripted(path))
        except _Undecided as undecided:
            waiting += _branches(path, chance, undecided.weights)
        else:
            found[outcome] = found.get(outcome, Fraction(0)) + chance
    assert sum(found.values()) == 1
    return found


def _branches(
    path: tuple[int, ...], chance: Fraction, weights: Sequence[int]
) -> list[tuple[tuple[int, ...], Fraction]]:
    assert min(weights) > 0, "an outcome that only some values can give"
    return [((*path, i), chance * Fraction(w, sum(weights))) for i, w in enumerate(weights)]


def _scripted(path: tuple[int, ...]) -> Callable[[Sequence[int]], int]:
    left = list(path)

    def choose(weights: Sequence[int]) -> int:
        if not left:
            raise _Undecided(weights)
        return left.pop(0)

    return choose


def worst_ratio(laws: Sequence[Distribution[Outcome]]) -> Fraction:
    """Largest likelihood ratio between any two of the laws, which must have one support."""
    assert all(law.keys() == laws[0].keys() for law in laws)
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])
