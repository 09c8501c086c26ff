"""How much noise each batch gets, and what every policy loses by it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias

from dp4sql.errors import Refused
from dp4sql.mechanisms.certify import laws, svt
from dp4sql.mechanisms.certify.forms import Count, Form, Private, Steps
from dp4sql.mechanisms.certify.laws import Exact, Gap, Gaussian, Geometric, Law
from dp4sql.mechanisms.certify.report import Batch
from dp4sql.mechanisms.certify.request import Request
from dp4sql.noise import gaussian_scale
from dp4sql.noise.laplace import float_up
from dp4sql.policy.labels import PolicySet

DROWNING: Final = 2**48
"""A noise scale beyond which margins would not fit a bigint."""

Losses: TypeAlias = Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class Priced:
    """A batch, the law that its statements are decided by, and what it costs: `epsilon` under `policy`, the
    one that asks for most noise."""

    batch: Batch
    law: Law
    policy: str = ""
    epsilon: Fraction = Fraction(0)
    losses: Losses = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sparse:
    """Sparse vector: scales of the threshold's and the statements' noise, and of fresh noise for what is
    selected (None where the gap is the certificate)."""

    threshold: Fraction
    statement: Fraction
    fresh: Fraction | None


@dataclass(frozen=True, slots=True)
class Price:
    """`losses` of the whole call. `sparse` for mechanism svt alone."""

    parts: tuple[Priced, ...]
    losses: Losses
    sparse: Sparse | None = None


def price(
    policies: PolicySet, epsilons: Losses, request: Request, batches: Sequence[Batch]
) -> Price:
    """Refused where the noise would drown every count that a table can have."""
    found = _priced(policies, epsilons, request, batches)
    for part in found.parts:
        if _widest(part) > DROWNING:
            raise Refused(
                f"epsilon {float(part.epsilon):.4g} for one measurement is too little",
                hint="Noise would drown every count. Certify fewer statements, or let epsilon be larger.",
            )
    return found


def _priced(
    policies: PolicySet, epsilons: Losses, request: Request, batches: Sequence[Batch]
) -> Price:
    match request.mechanism:
        case "laplace" | "hist":
            return _laplace(policies, epsilons, request, batches)
        case "gaussian":
            return _gaussian(policies, epsilons, request, batches)
        case "svt":
            return _svt(policies, epsilons, request, batches)


def _widest(part: Priced) -> Fraction:
    """The largest noise scale of the part, in rows or weights."""
    form = part.batch.statements[0].form if part.batch.statements else None
    unit = 1 if form is None or isinstance(form, Count) else form.unit
    match part.law:
        case Exact():
            return Fraction(0)
        case Geometric(scale):
            return unit * scale
        case Gaussian(sigma):
            return unit * sigma
        case Gap(threshold, statement):
            return unit * max(threshold, statement)


def _allowed(
    policies: PolicySet, epsilons: Losses, request: Request, moved: Iterable[str], shares: int
) -> Losses:
    """What one of `shares` measurements may lose under each policy that it moves.

    Without an epsilon in the call: a share of what a query may lose. With one: that under the least demanding
    of these policies, and in proportion under stronger ones.
    """
    if request.epsilon is None:
        return {p: epsilons[p] / shares for p in moved}
    own = {p.name: p.epsilon for p in policies.policies}
    moved = list(moved)
    top = max(own[p] for p in moved)
    return {p: request.epsilon * own[p] / top for p in moved}


def _moved(bounds: Mapping[str, int]) -> list[str]:
    return [p for p, bound in bounds.items() if bound]


def _demanding(bounds: Mapping[str, int], allowed: Losses) -> str:
    return max(allowed, key=lambda p: bounds[p] / allowed[p])


def _float(scale: Fraction) -> Fraction:
    """The scale that is really drawn with: margins, p-values and losses all use it."""
    return Fraction(float_up(scale))


def _add(losses: Iterable[Losses], policies: PolicySet) -> dict[str, Fraction]:
    total = {p.name: Fraction(0) for p in policies.policies}
    for part in losses:
        for p, loss in part.items():
            total[p] += loss
    return total


def _exact(batch: Batch) -> Priced:
    """Nothing private: no noise, no price."""
    return Priced(batch, Exact())


# ---------------------------------------------------------------- mechanisms


def _laplace(
    policies: PolicySet, epsilons: Losses, request: Request, batches: Sequence[Batch]
) -> Price:
    shares = sum(not batch.public for batch in batches)
    parts = []
    for batch in batches:
        if batch.public:
            parts.append(_exact(batch))
            continue
        allowed = _allowed(policies, epsilons, request, _moved(batch.bounds), shares)
        policy = _demanding(batch.bounds, allowed)
        scale = _float(batch.bounds[policy] / allowed[policy])
        losses = {p: batch.bounds[p] / scale for p in allowed}
        law = Geometric(scale, request.margin)
        parts.append(Priced(batch, law, policy, losses[policy], losses))
    return Price(tuple(parts), _add((part.losses for part in parts), policies))


def _gaussian(
    policies: PolicySet, epsilons: Losses, request: Request, batches: Sequence[Batch]
) -> Price:
    """One vector for all: L2 squared is at most the sum of the squared L1 of its batches."""
    squares = {
        p.name: sum(batch.bounds[p.name] ** 2 for batch in batches) for p in policies.policies
    }
    if not any(squares.values()):
        return Price(tuple(map(_exact, batches)), _add((), policies))
    allowed = _allowed(policies, epsilons, request, _moved(squares), 1)
    scales = {p: gaussian_scale(squares[p], e, request.delta) for p, e in allowed.items()}
    policy = max(scales, key=lambda p: scales[p])
    law = Gaussian(scales[policy])
    parts = [
        _exact(b) if b.public else Priced(b, law, policy, allowed[policy], allowed) for b in batches
    ]
    return Price(tuple(parts), _add([allowed], policies))


def _svt(
    policies: PolicySet, epsilons: Losses, request: Request, batches: Sequence[Batch]
) -> Price:
    bounds = {p.name: max(batch.bounds[p.name] for batch in batches) for p in policies.policies}
    if not any(bounds.values()):
        return Price(tuple(map(_exact, batches)), _add((), policies))
    allowed = _allowed(policies, epsilons, request, _moved(bounds), 1)
    policy, cap = _demanding(bounds, allowed), request.cap
    unit, share = bounds[policy] / allowed[policy], request.select_share
    scales = svt.scales(share, cap)
    rho, nu = _float(unit * scales.threshold), _float(unit * scales.statement)
    fresh = _float(unit * cap / (1 - share)) if share < 1 else None
    a_unit = 1 / rho + 2 * cap / nu + (cap / fresh if fresh else 0)
    losses = {p: bounds[p] * a_unit for p in allowed}
    law = Geometric(fresh) if fresh else Gap(rho, nu)
    parts = [
        _exact(b) if b.public else Priced(b, law, policy, losses[policy], losses) for b in batches
    ]
    return Price(tuple(parts), _add([losses], policies), Sparse(rho, nu, fresh))


# ---------------------------------------------------------------- what it means in rows


def half_emission_of(part: Priced, form: Form, level: Fraction) -> int:
    """Rows above the largest unsupported count at which emission is as likely as not."""
    return form.records(laws.half_emission(part.law, level))


def optimum_of(part: Priced, form: Form, level: Fraction) -> int:
    """The same of the best certifier that loses what this batch does."""
    if part.batch.public:
        return 1
    k, moved = laws.optimum(part.epsilon, level), part.batch.bounds[part.policy]
    if isinstance(form, Private):
        return Private(form.theta, moved * form.unit).records(k)
    unit = form.unit if isinstance(form, Steps) else 1
    return Steps(form.n, form.theta, moved * unit).records(k)
