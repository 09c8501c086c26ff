"""Words that a reader may quote: what is claimed, how surely, about what, and what it does not say."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dp4sql.algebra.types import Value
from dp4sql.mechanisms.certify.forms import Private
from dp4sql.mechanisms.certify.price import half_emission_of
from dp4sql.mechanisms.certify.release import Outcome
from dp4sql.mechanisms.certify.report import Statement
from dp4sql.mechanisms.certify.request import Request
from dp4sql.policy.certify import REFERENCE
from dp4sql.policy.labels import PolicySet


def percent(fraction: Fraction) -> str:
    return f"{float(100 * fraction):.4g} %"


def rendered(request: Request, statement: Statement) -> str:
    """The statement with its values; the certified meaning is that of population and predicate."""
    names: dict[tuple[str, str], Value] = {
        (slot, field): value
        for slot, fields in statement.binding.items()
        for field, value in fields.items()
    }
    names |= {
        (key, ""): value
        for key, value in zip(request.template.group_by, statement.group, strict=False)
    }
    names["theta", ""] = percent(statement.form.theta)
    return REFERENCE.sub(lambda m: str(names.get((m[1], m[2] or ""), m[0])), request.template.text)


def certificate(policies: PolicySet, request: Request, found: Outcome) -> str:
    if found.statement.population == 0:
        return "Nothing is claimed: the population is empty."
    if found.part.batch.public:
        return f"Exact: {_support(found)}. Nothing private is behind it, so it has no noise and no price."
    return (
        _emitted(policies, request, found) if found.verdict.emitted else _abstained(request, found)
    )


def _emitted(policies: PolicySet, request: Request, found: Outcome) -> str:
    return (
        f"{_confidence(request)}: {_support(found)}. {_risk(request)} {_adjacency(policies, request, found)} "
        "About the rows stored now alone, not about a wider population."
    )


def _support(found: Outcome) -> str:
    bound, statement = found.verdict.bound, found.statement
    if isinstance(statement.form, Private):
        size = "a population of private size"
        return f"the fraction is above {percent(statement.form.theta)} of {size}"
    if bound is None or bound.count is None:
        return f"no bound of the {statement.population} rows is certified"
    return f"at least {bound.count} of {statement.population} rows, {percent(bound.fraction)}, support it"


def _confidence(request: Request) -> str:
    sure = percent(1 - request.beta)
    match request.control:
        case "per_statement":
            return f"With {sure} confidence"
        case "report" | "bonferroni":
            return f"With {sure} confidence for all statements of this report together"
        case "fdr":
            return f"As one of a list whose expected false share is at most {percent(request.beta)}"


def _risk(request: Request) -> str:
    risk = percent(request.beta)
    match request.control:
        case "per_statement":
            return f"Had the support been below the threshold, this would appear with probability {risk} at most."
        case "report" | "bonferroni":
            return f"Any statement of the report with too little support appears with probability {risk} at most."
        case "fdr":
            return "The risk is that of the list, not of each statement in it."


def adjacency(policies: PolicySet, policy: str) -> str:
    """Whose data is protected."""
    entity = next((p.entity for p in policies.policies if p.name == policy), None)
    return f"one {entity} with all rows it owns (policy {policy})" if entity else "none: public"


def _adjacency(policies: PolicySet, request: Request, found: Outcome) -> str:
    part = found.part
    delta = f", delta {float(request.delta):g}" if request.mechanism == "gaussian" else ""
    whose = adjacency(policies, part.policy)
    return (
        f"Private for {whose}, which moves the support by {_rows(part.batch.support[part.policy])} at most; "
        f"epsilon {float(part.epsilon):.4g}{delta}."
    )


def _abstained(request: Request, found: Outcome) -> str:
    """Say how much support would have been enough."""
    past = " Statements past the cap of selections are not looked at."
    return (
        "Not certified; this is no evidence against it. "
        f"{_enough(found)} A larger epsilon lowers that.{past if request.mechanism == 'svt' else ''}"
    )


def _enough(found: Outcome) -> str:
    form = found.statement.form
    above = half_emission_of(found.part, form, found.verdict.level)
    if isinstance(form, Private):
        more = f"{_rows(above)} more in favour than {percent(form.theta)} of the population"
        return f"Emission becomes as likely as not at {more}."
    enough = form.t - 1 + above
    if enough > form.n:
        return f"Emission as likely as not would take {enough} rows; the population has {form.n}."
    return f"Emission becomes as likely as not at {enough} of {form.n} rows."


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def slots_json(statement: Statement, group_by: tuple[str, ...]) -> Mapping[str, object]:
    """Slots and groups as JSON values."""
    found: dict[str, object] = {
        slot: _plain(fields[""]) if "" in fields else {f: _plain(v) for f, v in fields.items()}
        for slot, fields in statement.binding.items()
    }
    return found | {k: _plain(v) for k, v in zip(group_by, statement.group, strict=False)}


def _plain(value: Value) -> object:
    return value if value is None or isinstance(value, bool | int | str) else str(value)
