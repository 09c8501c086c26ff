"""What the curator's monitoring sees: counts, charges and times of statements, and what is left.

Times of answers depend on private data, so this is for the curator alone, as the log is.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from dp4sql.budget.journal import Asked, Outcome
from dp4sql.budget.limits import budget, measure
from dp4sql.pipeline import Pipeline

# Each counter's time of birth would double the page.
disable_created_metrics()  # type: ignore[no-untyped-call]

ACCOUNT: Final = ("policy", "measure")
"""Losses are epsilon, or rho under accountant zcdp."""

BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class Metrics:
    """A journal that counts. `text` is the page in Prometheus's format."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._statements = Counter(
            "dp4sql_statements",
            "Statements on policy tables, by what became of them",
            ["outcome"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "dp4sql_statement_seconds",
            "From a statement's arrival to its end",
            registry=self._registry,
            buckets=BUCKETS,
        )
        self._charged = Counter(
            "dp4sql_charged_loss",
            "What statements of this proxy were charged",
            ["policy", "measure"],
            registry=self._registry,
        )
        self._spent = self._gauge("dp4sql_spent_loss", "What a member has lost at most", *ACCOUNT)
        self._budget = self._gauge("dp4sql_budget_loss", "What it may lose", *ACCOUNT)
        self._clients = self._gauge("dp4sql_clients", "Sessions that are open")
        self._refused = Counter(
            "dp4sql_logins_refused", "Connections that were not let in", registry=self._registry
        )
        self._reloads = Counter(
            "dp4sql_policy_reloads",
            "Policy files that were read again, by whether they were taken",
            ["outcome"],
            registry=self._registry,
        )
        for outcome in ("answered", "refused", "failed"):
            self._statements.labels(outcome)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self._registry)

    # ------------------------------------------------------------ counting

    def priced(self, asked: Asked) -> None:
        pass

    def ended(self, asked: Asked, outcome: Outcome, error: BaseException | None) -> None:
        self._statements.labels(outcome).inc()
        self._seconds.observe(monotonic() - asked.since)
        if asked.started:
            for charge in asked.charges:
                self._charged.labels(charge.policy, charge.measure).inc(float(charge.epsilon))

    def login_refused(self) -> None:
        self._refused.inc()

    def reloaded(self, taken: bool) -> None:
        self._reloads.labels("taken" if taken else "refused").inc()

    # ------------------------------------------------------------ showing

    def text(self, pipeline: Pipeline, clients: int) -> bytes:
        """Reads the ledger, so this is for a thread."""
        pipeline.ledger.refresh()
        self._clients.set(clients)
        self._show_accounts(pipeline)
        return generate_latest(self._registry)

    def _show_accounts(self, pipeline: Pipeline) -> None:
        self._spent.clear()
        self._budget.clear()
        for policy in pipeline.policy.policies:
            database = pipeline.backend.identity
            spent = pipeline.ledger.spent(database, policy.entity, policy.name)
            self._spent.labels(policy.name, measure(policy)).set(float(spent))
            if (most := budget(policy)) is not None:
                self._budget.labels(policy.name, measure(policy)).set(float(most))
