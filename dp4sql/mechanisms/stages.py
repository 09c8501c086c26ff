"""The parts of a plan: what is read, what is measured, what becomes a constant. All of it is data-free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dp4sql.algebra.expr import Expr
from dp4sql.algebra.nodes import Aggregate, Node
from dp4sql.algebra.types import Type
from dp4sql.infer.derivation import Derivation
from dp4sql.mechanisms.measure import Column, Quantity
from dp4sql.noise import root_up
from dp4sql.sql.lower.calls import Call
from dp4sql.sql.lower.names import Named


@dataclass(frozen=True, slots=True)
class Measurement:
    """A quantity with its bound (in units) under every policy; scale and losses follow from epsilons.
    `squares` are the bounds in L2, squared. `concentrated` are the policies whose losses add up as rho (zCDP).
    `rows`: how many a bin has at most, where a choice among candidates (a rank) depends on it and it is public."""

    quantity: Quantity
    bounds: Mapping[str, Fraction]
    squares: Mapping[str, Fraction]
    rules: Mapping[str, str]
    concentrated: frozenset[str] = frozenset()
    rows: int | None = None

    @property
    def private(self) -> bool:
        return any(self.bounds.values())

    @property
    def gaussian(self) -> bool:
        """Whether its noise is Gaussian: it is additive, and no policy that it concerns asks for pure epsilon."""
        concerned = {policy for policy, bound in self.bounds.items() if bound}
        return self.quantity.rank is None and bool(concerned) and concerned <= self.concentrated

    def loss(self, policy: str, scale: Fraction) -> Fraction:
        """What `policy` loses by noise of `scale`. Laplace noise and selections lose pure epsilon = bound /
        scale, hence rho of epsilon**2 / 2; of Gaussian noise it is half the square of the L2 bound / scale."""
        bound = self.bounds.get(policy)
        if not bound:
            return Fraction(0)
        if policy not in self.concentrated:
            return bound / scale
        return self._square(policy) / scale**2 / 2

    def scale(self, policy: str, epsilon: Fraction, share: Fraction) -> Fraction:
        """The noise that `policy` asks for with this share of what `epsilon` allows."""
        if policy not in self.concentrated:
            return self.bounds[policy] / epsilon / share
        return root_up(self._square(policy) / share) / epsilon

    def _square(self, policy: str) -> Fraction:
        return self.squares[policy] if self.gaussian else self.bounds[policy] ** 2


@dataclass(frozen=True, slots=True)
class Release:
    """A private aggregate: bins and integer columns are read in one statement, then noise is added."""

    node: Aggregate
    bins: Node | None
    group_by: Mapping[str, Expr]
    columns: tuple[tuple[str, Type], ...]
    measurements: tuple[Measurement, ...]
    built: tuple[Column, ...]
    derivations: Mapping[str, Derivation]


@dataclass(frozen=True, slots=True)
class PublicRead:
    """Rows that no policy protects, read and shown exactly."""

    node: Node
    columns: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class ScalarStage:
    """A released (or public) single value that later stages hold as a constant."""

    node: Node
    column: str
    type: Type


@dataclass(frozen=True, slots=True)
class CallStage:
    """Rows that a function in FROM releases (`dp4sql.mechanisms.functions`)."""

    call: Call

    @property
    def columns(self) -> tuple[tuple[str, Type], ...]:
        return self.call.columns


Stage = Release | PublicRead | ScalarStage | CallStage


@dataclass(frozen=True, slots=True)
class Plan:
    """Stages in order and the tree over their results that gives the answer."""

    stages: tuple[Stage, ...]
    final: Node
    columns: tuple[Named, ...]
    parameters: tuple[Type, ...]

    def calls(self) -> list[tuple[int, Call]]:
        return [(i, s.call) for i, s in enumerate(self.stages) if isinstance(s, CallStage)]

    def releases(self) -> list[tuple[int, Release]]:
        return [(i, s) for i, s in enumerate(self.stages) if isinstance(s, Release)]


@dataclass(frozen=True, slots=True)
class Price:
    """Noise scale (in units) of each measurement (stage, index), and what each policy loses in all, as epsilon
    or as rho."""

    scales: Mapping[tuple[int, int], Fraction]
    charges: Mapping[str, Fraction]


def price(
    plan: Plan,
    epsilons: Mapping[str, Fraction],
    weights: Mapping[tuple[int, int], Fraction] | None = None,
) -> Price:
    """Shares by weight, 1 where none is given: under each policy its epsilon is divided among the
    measurements that can move.

    The scale of a measurement is the largest that any policy asks for, so a policy may lose less than
    its epsilon: its charge is the sum of bound / scale, or of (bound / scale)**2 / 2 where losses add up as rho.
    """
    found = [
        ((i, j), m) for i, release in plan.releases() for j, m in enumerate(release.measurements)
    ]
    weight = {key: Fraction(1) for key, _ in found} | dict(weights or {})
    moving = {p: sum(weight[key] for key, m in found if m.bounds.get(p)) for p in epsilons}
    scales: dict[tuple[int, int], Fraction] = {}
    for key, measurement in found:
        asked = [
            measurement.scale(p, epsilons[p], weight[key] / moving[p])
            for p in epsilons
            if measurement.bounds.get(p)
        ]
        scales[key] = max(asked, default=Fraction(0))
    charges = {
        p: sum((m.loss(p, scales[key]) for key, m in found if m.bounds.get(p)), start=Fraction(0))
        for p in epsilons
    }
    return Price(scales, charges)
