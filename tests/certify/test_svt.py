"""Sparse vector: the loss of every output, exactly; honesty of its free certificate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod

import pytest

from dp4sql.mechanisms.certify import hist
from dp4sql.mechanisms.certify.margins import margin, plain
from dp4sql.mechanisms.certify.svt import scales, select
from dp4sql.mechanisms.certify.tails import difference
from tests.certify.laws import geometric_law, rational

THRESHOLD = 1
Output = tuple[int | None, ...]
Sum = dict[Fraction, Fraction]
"""The function of s = 0, 1, 2 ... that adds up coefficient * ratio^s."""


def times(a: Sum, b: Sum) -> Sum:
    found: Sum = {}
    for (x, c), (y, d) in product(a.items(), b.items()):
        found[x * y] = found.get(x * y, Fraction(0)) + c * d
    return found


def total(a: Sum) -> Fraction:
    return sum((c / (1 - ratio) for ratio, c in a.items() if c), start=Fraction(0))


class Toy:
    """Probabilities of `select` for noise with rational q: rho is summed over all integers in closed form,
    the nu of a statement integrate out one by one."""

    def __init__(self, rho: Fraction | None, nu: Fraction, cap: int) -> None:
        self.rho, self.nu, self.cap = rho, nu, cap

    def probability(self, data: Sequence[int], output: Output) -> Fraction:
        examined = self._examined(output)
        if self.rho is None:
            return prod(
                (self._at(0, x, o) for x, o in zip(data, examined, strict=False)), start=Fraction(1)
            )
        reach = 2 + max(abs(x) + abs(o or 0) for x, o in zip(data, output, strict=True)) + THRESHOLD
        inside = sum(
            (
                self._law(r)
                * prod(
                    (self._at(r, x, o) for x, o in zip(data, examined, strict=False)),
                    start=Fraction(1),
                )
                for r in range(-reach + 1, reach)
            ),
            start=Fraction(0),
        )
        return inside + sum(total(self._end(sign, reach, data, examined)) for sign in (-1, 1))

    def _examined(self, output: Output) -> list[int | None]:
        """The outputs up to the one that uses up the cap: later statements are not looked at."""
        found: list[int | None] = []
        for o in output:
            if sum(x is not None for x in found) == self.cap:
                assert o is None
                break
            found.append(o)
        return found

    def _law(self, r: int) -> Fraction:
        assert self.rho is not None
        return (1 - self.rho) / (1 + self.rho) * self.rho ** abs(r)

    def _at(self, r: int, x: int, o: int | None) -> Fraction:
        q = self.nu
        if o is not None:
            return (1 - q) / (1 + q) * q ** abs(o + r - x)
        k = THRESHOLD + r - x
        return 1 - q**k / (1 + q) if k >= 0 else q ** (1 - k) / (1 + q)

    def _end(
        self, sign: int, reach: int, data: Sequence[int], examined: Sequence[int | None]
    ) -> Sum:
        """The summands at rho = sign * (reach + s), as a function of s."""
        assert self.rho is not None
        found: Sum = {self.rho: self._law(reach)}
        for x, o in zip(data, examined, strict=False):
            here = self._at(sign * reach, x, o)
            rest = Fraction(1) if o is None and sign > 0 else Fraction(0)
            found = times(found, {self.nu: here - rest, Fraction(1): rest})
        return found


Case = tuple[tuple[int, ...], tuple[int, ...], Output]
"""Two neighbours and what is seen."""


def every_case(cap: int) -> Iterator[Case]:
    """All neighbours of a few pairs of statements, with all outputs up to a gap."""
    for data, move in product(product((-1, 0, 2), repeat=2), product((-1, 0, 1), repeat=2)):
        other = tuple(x + d for x, d in zip(data, move, strict=True))
        for output in product((None, 1, 2, 4), repeat=2):
            if sum(o is not None for o in output) <= cap:
                yield data, other, output


def hard_cases(cap: int, below: int = 30) -> Iterator[Case]:
    """Many statements stay below and all grow, so the threshold has to move with them, while the selected
    ones shrink: the case that the proof pays for in full."""
    for gap in (1, 3):
        output = (None,) * below + (gap,) * cap
        yield (0,) * below + (0,) * cap, (1,) * below + (-1,) * cap, output
        yield (1,) * below + (-1,) * cap, (0,) * below + (0,) * cap, output


def worst(toy: Toy, cases: Iterable[Case]) -> Fraction:
    return max(toy.probability(a, o) / toy.probability(b, o) for a, b, o in cases)


def test_the_toy_is_the_mechanism() -> None:
    """Its probabilities are those of `select`, summed over noise on a grid."""
    q, cap, data = Fraction(1, 4), 1, (0, 2)
    toy, law = Toy(q, q, cap), geometric_law(q, 9)
    found: dict[Output, Fraction] = {}
    for (r, p), (a, pa), (b, pb) in product(law.items(), repeat=3):
        output = tuple(select(data, r, (a, b), THRESHOLD, cap))
        found[output] = found.get(output, Fraction(0)) + p * pa * pb
    for output in [(None, None), (1, None), (2, None), (None, 1), (None, 3)]:
        assert abs(found[output] - toy.probability(data, output)) < Fraction(1, 10**4)


RHO, NU = Fraction(1, 2), Fraction(2, 3)


@pytest.mark.parametrize("cap", [1, 2])
def test_loss_of_every_output(cap: int) -> None:
    """At most e^(D / s1 + 2 cap D / s2), and not far below."""
    bound = 1 / RHO * (1 / NU) ** (2 * cap)
    toy = Toy(RHO, NU, cap)
    assert worst(toy, every_case(cap)) <= bound
    assert bound * Fraction(3, 4) < worst(toy, hard_cases(cap)) <= bound


def test_noise_for_one_selection_does_not_cover_two() -> None:
    assert worst(Toy(RHO, NU, 2), hard_cases(2)) > 1 / RHO * (1 / NU) ** 2


def test_a_threshold_without_noise_is_not_private() -> None:
    """Each statement below the threshold would cost."""
    nu, statements = Fraction(2, 3), 40
    toy = Toy(None, nu, 1)
    nothing: Output = (None,) * statements
    ratio = toy.probability((0,) * statements, nothing) / toy.probability(
        (1,) * statements, nothing
    )
    assert ratio > 2 * (1 / nu) ** 2


def test_scales_spend_what_they_are_given() -> None:
    for epsilon, cap in product((Fraction(1, 2), Fraction(1), Fraction(10)), (1, 5, 40)):
        assert scales(epsilon, cap).loss(cap) == epsilon


def test_the_free_certificate_is_honest_and_valid() -> None:
    """A bound above the truth needs nu - rho above the margin, whoever else is selected."""
    rho, nu, beta, cap = Fraction(1, 3), Fraction(2, 5), Fraction(1, 10), 1
    tau = margin(plain(difference(rational(rho), rational(nu))), beta)
    laws = geometric_law(rho, 12), geometric_law(nu, 12), geometric_law(nu, 12)
    for data in product((-1, 0, 3), repeat=2):
        wrong = [Fraction(0), Fraction(0)]
        for (r, p), (a, pa), (b, pb) in product(*(law.items() for law in laws)):
            for i, gap in enumerate(select(data, r, (a, b), tau + 1, cap)):
                if gap is not None and gap - tau > data[i]:
                    wrong[i] += p * pa * pb
        assert max(wrong) <= beta
    assert wrong[0] > beta / 2


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_clipping_bounds_what_a_row_can_move(cap: int) -> None:
    rows = list(product((False, True), repeat=4))
    clipped = [hist.clip(row, cap) for row in rows]
    assert all(sum(c) == min(cap, sum(r)) for r, c in zip(rows, clipped, strict=True))
    assert all(
        all(a or not b for a, b in zip(r, c, strict=True))
        for r, c in zip(rows, clipped, strict=True)
    )
    replaced = max(sum(x != y for x, y in zip(a, b, strict=True)) for a in clipped for b in clipped)
    assert replaced == hist.sensitivity(1, 2, cap, 4)
    assert max(map(sum, clipped)) == hist.sensitivity(1, 1, cap, 4)
