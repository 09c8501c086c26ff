"""What is remembered of a node is never told of another one."""

from __future__ import annotations

from pathlib import Path

import dp4sql
from dp4sql.algebra.nodes import Scan
from dp4sql.infer.derive import Deriver
from dp4sql.infer.facts import Facts

POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"


def test_nodes_that_are_gone_leave_their_derivation_to_nobody() -> None:
    """Public and private scans, each dropped before the next is made: memory is used again at once."""
    policies = dp4sql.load_policy(POLICY)
    facts, policy = Facts(), policies.policies[0]
    deriver = Deriver(policies.schema, policy, facts)
    private = [
        bool(deriver.terms(Scan(policies.schema.table(name), f"{name}{i}")))
        for i in range(200)
        for name in ("section", "student")
    ]
    assert private == [False, True] * 200
