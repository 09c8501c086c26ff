"""A request as batches: what is measured together, under which statements, and what each costs.

Everything here reads the policy file, the request and public data alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby

from dp4sql.errors import Unsupported
from dp4sql.mechanisms.calls import Environment
from dp4sql.mechanisms.certify.forms import Count, Form, Private, Steps
from dp4sql.mechanisms.certify.questions import Key, Questions, Target
from dp4sql.mechanisms.certify.request import Request
from dp4sql.mechanisms.certify.slots import Binding, bindings, sources, too_many
from dp4sql.policy.certify import references
from dp4sql.policy.labels import PolicySet


@dataclass(frozen=True, slots=True)
class Statement:
    """One candidate. `population` is None where it is private; `coordinate` is its place in the batch."""

    binding: Binding
    group: Key
    form: Form
    population: int | None
    coordinate: int

    def excess(self, noisy: int) -> int:
        """From the noisy integer of its coordinate, see `Batch.integers`."""
        return self.form.excess(noisy) if isinstance(self.form, Count) else noisy


@dataclass(frozen=True, slots=True)
class Batch:
    """Integers that get noise together. `bounds`: their L1 sensitivity under each policy; `support`: that of
    a support count, in rows, for the reader.

    `size` is read beside `target` where the weight of a group needs the private size of the population.
    """

    target: Target
    bindings: tuple[Binding, ...]
    statements: tuple[Statement, ...]
    groups: tuple[Key, ...]
    bounds: Mapping[str, int]
    support: Mapping[str, int]
    size: Target | None = None

    @property
    def public(self) -> bool:
        return not any(self.bounds.values())

    @property
    def coordinates(self) -> int:
        return 1 + self.statements[-1].coordinate

    async def integers(self, env: Environment) -> list[int]:
        """The exact integers, one a coordinate: counts, which serve every threshold, or the excess of the
        one claim that the batch is for."""
        rows = await self.target.read(env, self.bindings)
        nothing = [0] * (self.coordinates // len(self.groups))
        found = [x for group in self.groups for x in rows.get(group, nothing)]
        form = self.statements[0].form
        if self.size is not None and isinstance(form, Private):
            n = (await self.size.read(env, self.bindings))[()][0]
            favour, against = form.weights
            found = [favour * x + against * (n - x) for x in found]
        return found if isinstance(form, Count) else [form.excess(x) for x in found]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same for every value of the slots; EXPLAIN shows it. `weights` has a read for thresholds
    over a private population where one aggregate can give the weight of a statement."""

    request: Request
    questions: Questions
    size: Target
    count: Target
    weights: Mapping[Fraction, Target]

    @property
    def private_population(self) -> bool:
        return not self.size.public

    def example(self) -> list[Batch]:
        """A batch for a population of one row and no slots: what it costs is what each costs."""
        return _for_size(self, self.count, [{}], [()], None if self.private_population else 1)


def plan(policies: PolicySet, request: Request) -> Plan:
    """Derives the sensitivities; refuses what has none."""
    found = sources(policies, request.template, request.bind)
    types = {(n, f): t for n, source in found.items() for f, t in source.fields.items()}
    questions = Questions(policies, request.template, types)
    size, count = questions.size(), questions.count()
    if not size.public and request.margin in ("sharp", "paper"):
        raise Unsupported(
            f"margin {request.margin} over a population of private size",
            hint="The paper's margins take the size as known; use margin exact.",
        )
    weights = {} if size.public else _weights(questions, request)
    return Plan(request, questions, size, count, weights)


def _weights(questions: Questions, request: Request) -> dict[Fraction, Target]:
    """A predicate with EXISTS or IN (SELECT ...) is no value to sum: its weight takes two counts."""
    if request.template.group_by or request.mechanism == "hist":
        return {}
    try:
        return {t: questions.weight(*Private(t).weights) for t in request.thetas}
    except Unsupported:
        return {}


# ---------------------------------------------------------------- batches


async def batches(env: Environment, planned: Plan) -> list[Batch]:
    """Every statement once, in public order. Reads public slots, groups and sizes."""
    request = planned.request
    found = sources(env.policies, request.template, request.bind)
    every = await bindings(env, found, request.bind, request.max_statements)
    made: list[Batch] = []
    for together in _together(request, every):
        made += await _measured(env, planned, together)
        if sum(len(batch.statements) for batch in made) > request.max_statements:
            raise too_many(request.max_statements)
    return made


def _together(request: Request, every: Sequence[Binding]) -> list[list[Binding]]:
    """Bindings that share a measurement: under hist, those that agree in the slots of the population."""
    if request.mechanism != "hist":
        return [[binding] for binding in every]
    slots = sorted({slot for slot, _ in references(request.template.population)})

    def key(binding: Binding) -> str:
        return repr([binding[slot] for slot in slots])

    return [list(part) for _, part in groupby(sorted(every, key=key), key=key)]


async def _measured(env: Environment, planned: Plan, together: list[Binding]) -> list[Batch]:
    """The batches of one population: one for all thresholds where its size is known, else one for each."""
    request, target = planned.request, planned.count
    groups: list[Key] = [()]
    if request.mechanism == "hist":
        target = planned.questions.clipped(len(together), request.cap)
    elif request.template.group_by:
        groups = await target.groups(env, together[0])
    private = planned.private_population
    n = None if private else (await planned.size.read(env, together))[()][0]
    return _for_size(planned, target, together, groups, n)


def _for_size(
    planned: Plan, target: Target, together: list[Binding], groups: list[Key], n: int | None
) -> list[Batch]:
    request = planned.request
    if n is None:
        return [_weighed(planned, target, together, groups, theta) for theta in request.thetas]
    if request.margin != "threshold":
        forms = [Count(n, theta) for theta in request.thetas]
        return [_batch(target, together, groups, forms, target.bounds, n)]
    unit = max(1, *target.bounds.values())
    bounds = {p: min(1, bound) for p, bound in target.bounds.items()}
    return [
        _batch(target, together, groups, [Steps(n, theta, unit)], bounds, n)
        for theta in request.thetas
    ]


def _weighed(
    planned: Plan, target: Target, together: list[Binding], groups: list[Key], theta: Fraction
) -> Batch:
    """A threshold over a private population, in one read or in two. Two counts move the weights b N - a n of
    k statements by b L1(counts) + k a D(n) together. The weight of one statement goes in steps."""
    a, b, k = theta.numerator, theta.denominator, len(together) * len(groups)
    bounds = {p: b * d + k * a * planned.size.bounds[p] for p, d in target.bounds.items()}
    weight = planned.weights.get(theta)
    if weight is not None:
        bounds = dict(weight.bounds)
    unit = max(1, *bounds.values()) if k == 1 else 1
    if k == 1:
        bounds = {p: min(1, bound) for p, bound in bounds.items()}
    made = _batch(weight or target, together, groups, [Private(theta, unit)], bounds, None)
    return replace(made, size=None if weight else planned.size, support=target.bounds)


def _batch(
    target: Target,
    together: list[Binding],
    groups: list[Key],
    forms: Sequence[Form],
    bounds: Mapping[str, int],
    n: int | None,
) -> Batch:
    """Nothing is said about an empty population, so nothing of it is measured: its bounds are 0."""
    places = enumerate((binding, group) for binding in together for group in groups)
    statements = tuple(
        Statement(binding, group, form, n, i) for i, (binding, group) in places for form in forms
    )
    if n == 0:
        bounds = dict.fromkeys(bounds, 0)
    return Batch(target, tuple(together), statements, tuple(groups), bounds, target.bounds)
