"""From exact integers to verdicts: noise and coins are drawn here, all else is pure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dp4sql.errors import InternalError
from dp4sql.mechanisms.calls import Environment
from dp4sql.mechanisms.certify import laws, svt
from dp4sql.mechanisms.certify.judge import Evidence, Verdict, judge
from dp4sql.mechanisms.certify.laws import Exact, Gap, Gaussian, Geometric
from dp4sql.mechanisms.certify.price import Price, Priced, Sparse
from dp4sql.mechanisms.certify.report import Statement
from dp4sql.mechanisms.certify.request import Request
from dp4sql.noise import gaussian, laplace, randbelow

FACES: Final = 2**64


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a statement once noise is drawn. `noisy` is the noisy integer of its coordinate,
    None where sparse vector gave none."""

    statement: Statement
    part: Priced
    noisy: int | None
    verdict: Verdict


def coin() -> Fraction:
    """Public and uniform on a fine grid in (0, 1]."""
    return Fraction(1 + randbelow(FACES), FACES)


async def release(env: Environment, request: Request, price: Price) -> list[Outcome]:
    """Reads private rows: its losses must have been charged."""
    exact = [await part.batch.integers(env) for part in price.parts]
    return await asyncio.to_thread(_released, request, price, exact)


def _released(request: Request, price: Price, exact: Sequence[Sequence[int]]) -> list[Outcome]:
    if price.sparse is not None:
        return _sparse(request, price, price.sparse, exact)
    found: list[tuple[Statement, Priced, int, Evidence]] = []
    for part, integers in zip(price.parts, exact, strict=True):
        noisy = _noisy(request, price, part, list(integers))
        coins = [coin() for _ in noisy]
        for s in part.batch.statements:
            i = s.coordinate
            p = laws.p_value(part.law, coins[i])
            found.append((s, part, noisy[i], Evidence(s.form, s.excess(noisy[i]), p)))
    return _judged(request, found)


def _judged(
    request: Request, found: Sequence[tuple[Statement, Priced, int, Evidence]]
) -> list[Outcome]:
    """What is public is decided by itself: it takes no share of beta."""
    private = [evidence for _, part, _, evidence in found if not part.batch.public]
    verdicts = iter(judge(private, request.control, request.beta))
    return [
        Outcome(s, part, noisy, _exact(e) if part.batch.public else next(verdicts))
        for s, part, noisy, e in found
    ]


def _exact(evidence: Evidence) -> Verdict:
    (verdict,) = judge([evidence], "per_statement", Fraction(0))
    return verdict


def _noisy(request: Request, price: Price, part: Priced, integers: list[int]) -> list[int]:
    """Under the law of the part, with a loss within what was charged."""
    match part.law:
        case Exact():
            return integers
        case Geometric(scale):
            moved = part.batch.bounds[part.policy]
            return laplace(integers, moved, scale, max(part.losses.values()))
        case Gaussian(sigma):
            square = sum(p.batch.bounds[part.policy] ** 2 for p in price.parts)
            return gaussian(integers, square, sigma, part.epsilon, request.delta)
        case Gap():
            raise InternalError("sparse vector draws its noise by itself")


# ---------------------------------------------------------------- sparse vector


def _sparse(
    request: Request, price: Price, sparse: Sparse, exact: Sequence[Sequence[int]]
) -> list[Outcome]:
    listed = [
        (s, part, integers[s.coordinate])
        for part, integers in zip(price.parts, exact, strict=True)
        for s in part.batch.statements
    ]
    private = [(s, part, x) for s, part, x in listed if not part.batch.public]
    margin = laws.margin(private[0][1].law, request.beta)
    (rho,) = _draws(1, sparse.threshold)
    gaps = svt.select(
        [s.excess(x) for s, _, x in private],
        rho,
        _draws(len(private), sparse.statement),
        threshold=1 if sparse.fresh else margin + 1,
        cap=request.cap,
    )
    verdicts = iter(
        _certified(request, sparse, s, part, x, gap)
        for (s, part, x), gap in zip(private, gaps, strict=True)
    )
    return [_decided(s, part, x) if part.batch.public else next(verdicts) for s, part, x in listed]


def _draws(n: int, scale: Fraction) -> list[int]:
    """Noise by itself: what it may lose is accounted for by the mechanism that uses it."""
    return laplace([0] * n, 0, scale, Fraction(0))


def _certified(
    request: Request, sparse: Sparse, s: Statement, part: Priced, x: int, gap: int | None
) -> Outcome:
    """By the gap itself, or by fresh noise for the statements that were selected."""
    if gap is None:
        nothing = Verdict(
            False, Fraction(1), request.beta, laws.margin(part.law, request.beta), None
        )
        return Outcome(s, part, None, nothing)
    toss = coin()
    seen = gap if sparse.fresh is None else s.excess(x) + _draws(1, sparse.fresh)[0]
    evidence = Evidence(s.form, seen, laws.p_value(part.law, toss))
    (verdict,) = judge([evidence], "per_statement", request.beta)
    return Outcome(s, part, None, verdict)


def _decided(s: Statement, part: Priced, x: int) -> Outcome:
    return Outcome(s, part, x, _exact(Evidence(s.form, s.excess(x), laws.p_value(part.law))))
