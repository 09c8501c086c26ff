"""From noisy excesses to verdicts: post-processing of what has been released, and of public coins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dp4sql.mechanisms.certify.control import level
from dp4sql.mechanisms.certify.forms import Bound, Form
from dp4sql.mechanisms.certify.margins import PValue, margin
from dp4sql.policy.certify import Control


@dataclass(frozen=True, slots=True)
class Evidence:
    """A statement's noisy excess and what an excess is worth."""

    form: Form
    excess: int
    p_value: PValue


@dataclass(frozen=True, slots=True)
class Verdict:
    """`bound` is None where the control leaves no valid one for a statement that is not emitted."""

    emitted: bool
    p_value: Fraction
    level: Fraction
    margin: int
    bound: Bound | None


def judge(evidence: Sequence[Evidence], control: Control, beta: Fraction) -> list[Verdict]:
    p_values = [e.p_value(e.excess) for e in evidence]
    at = level(control, p_values, beta)
    found, tau = [], 0
    for e, p in zip(evidence, p_values, strict=True):
        tau = margin(e.p_value, at, near=tau)
        found.append(_verdict(e, p, at, tau, control))
    return found


def _verdict(e: Evidence, p: Fraction, at: Fraction, tau: int, control: Control) -> Verdict:
    lower = e.excess - tau
    return Verdict(p <= at, p, at, tau, _bound(e.form, lower, control))


def _bound(form: Form, lower: int, control: Control) -> Bound | None:
    """What may be quoted beside the decision.

    Holm's emissions support the claim itself and no more (bounds that go further would need beta of their
    own); the false discovery rate covers the emitted alone, at the level of the selection (Benjamini and
    Yekutieli, "False discovery rate-adjusted multiple confidence intervals").
    """
    match control:
        case "per_statement" | "bonferroni":
            return form.bound(lower)
        case "report":
            return form.bound(1) if lower >= 1 else None
        case "fdr":
            return form.bound(lower) if lower >= 1 else None
