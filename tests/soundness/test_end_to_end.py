"""The whole pipeline on neighbouring databases, many times: do the answers stay within e**epsilon?

For neighbours D and D' and every set of answers O: Pr[D' answers in O] <= e**epsilon Pr[D answers in O].
O is taken where the guarantee is tightest: every number on the far side of what D' truly holds. Both
probabilities are estimated from RUNS answers each, and each lies in the interval that Chernoff's bound gives
except with probability DOUBT, so a failure means a broken guarantee and not bad luck. The same test must
notice a pipeline whose noise has half the scale.
"""

from __future__ import annotations

import asyncio
import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.settings import Settings

RUNS = 1000
DOUBT = 1e-6

INTEGER = {"type": "integer"}
POLICY = {
    "dp4sql": 1,
    "tables": {
        "person": {
            "key": ["id"],
            "columns": {"id": INTEGER, "kind": {"type": "text", "domain": ["a", "b", "c"]}},
        },
        "visit": {
            "key": ["vid"],
            "foreign_keys": {"id": "person"},
            "max_frequency": {"id": 2},
            "columns": {"vid": INTEGER, "id": INTEGER, "cost": {**INTEGER, "range": [-1, 3]}},
        },
    },
    "policies": {
        "goes": {"entity": "person", "epsilon": 1, "labels": {"person": "del", "visit": "del"}},
        "moves": {
            "entity": "person",
            "epsilon": 1,
            "labels": {"person": {"rep": ["kind"]}, "visit": {"rep": ["cost"]}},
        },
    },
}
PERSONS = [(1, "a"), (2, "b")]
VISITS = [(1, 1, 3), (2, 1, 3), (3, 2, -1)]

Rows = Sequence[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Case:
    """A query under one policy, with neighbours on which it moves by exactly its bound."""

    policy: str
    sql: str
    before: tuple[Rows, Rows]
    after: tuple[Rows, Rows]


CASES = {
    "a person leaves a count": Case(
        "goes",
        "SELECT COUNT(*) FROM person",
        (PERSONS, VISITS),
        (PERSONS[1:], VISITS[2:]),
    ),
    "a person's visits leave a sum over a join": Case(
        "goes",
        "SELECT SUM(cost) FROM visit JOIN person USING (id) WHERE kind <> 'c'",
        (PERSONS, VISITS),
        (PERSONS[1:], VISITS[2:]),
    ),
    "a person changes bins": Case(
        "moves",
        "SELECT kind, COUNT(*) FROM person GROUP BY kind",
        (PERSONS, VISITS),
        ([(1, "c"), (2, "b")], VISITS),
    ),
    "a person's visits change two aggregates": Case(
        "moves",
        "SELECT SUM(cost), SUM(CASE WHEN cost > 0 THEN 1 ELSE 0 END) FROM visit",
        (PERSONS, VISITS),
        (PERSONS, [(1, 1, -1), (2, 1, -1), (3, 2, -1)]),
    ),
}


def create(path: Path, content: tuple[Rows, Rows]) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE person (id INTEGER, kind VARCHAR)")
        connection.execute("CREATE TABLE visit (vid INTEGER, id INTEGER, cost INTEGER)")
        for table, rows in zip(("person", "visit"), content, strict=True):
            for row in rows:
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def policy_file(name: str) -> Mapping[str, Any]:
    return {**POLICY, "policies": {name: POLICY["policies"][name]}}  # type: ignore[index]


def exact(path: Path, sql: str) -> list[float]:
    """The numbers of the answer without noise, in the order of the pipeline's rows."""
    with duckdb.connect(str(path)) as connection:
        rows = {row[:-1]: row[-1:] for row in connection.execute(sql).fetchall()}
    if "GROUP BY" in sql:
        return [float(rows.get((kind,), (0,))[0]) for kind in ("a", "b", "c")]
    ((head, tail),) = rows.items()
    return [float(value or 0) for value in (*head, *tail)]


async def answers(path: Path, case: Case) -> list[list[float]]:
    pipeline = dp4sql.open_pipeline(
        policy=policy_file(case.policy), database=f"duckdb:///{path}", ledger=f"{path}.ledger"
    )
    try:
        anew = Settings(reuse="off")
        found = [await pipeline.query(case.sql, settings=anew) for _ in range(RUNS)]
    finally:
        await pipeline.close()
    return [
        [float(value) for row in released.rows for value in row if not isinstance(value, str)]
        for released in found
    ]


def share(runs: list[list[float]], inside: Callable[[list[float]], bool]) -> float:
    return sum(map(inside, runs)) / len(runs)


def limit(seen: float, end: float) -> float:
    """The value between `seen` and `end` from which on Pr[a share such as `seen`] is at most DOUBT."""
    inner, outer = seen, end
    for _ in range(40):
        middle = (inner + outer) / 2
        if RUNS * divergence(seen, middle) < math.log(1 / DOUBT):
            inner = middle
        else:
            outer = middle
    return outer


def divergence(seen: float, true: float) -> float:
    """Kullback and Leibler's, between coins: RUNS tosses show `seen` with probability at most exp(-RUNS * it)."""
    sides = ((seen, true), (1 - seen, 1 - true))
    return sum(a * math.log(a / b) if a else 0.0 for a, b in sides)


def broken(case: Case, folder: Path) -> list[str]:
    """The directions in which the neighbours can be told apart better than epsilon allows."""
    paths = folder / "before.duckdb", folder / "after.duckdb"
    create(paths[0], case.before)
    create(paths[1], case.after)
    truths = [exact(path, case.sql) for path in paths]
    runs = [asyncio.run(answers(path, case)) for path in paths]
    found = []
    for here, there in ((0, 1), (1, 0)):

        def beyond(values: list[float], here: int = here, there: int = there) -> bool:
            return all(
                (value - mine) * (mine - theirs) >= 0
                for value, mine, theirs in zip(values, truths[here], truths[there], strict=True)
            )

        likely, unlikely = share(runs[here], beyond), share(runs[there], beyond)
        if limit(likely, 0) > math.e * limit(unlikely, 1):
            found.append(f"{likely:.3f} against {unlikely:.3f}")
    return found


@pytest.mark.parametrize("name", sorted(CASES))
def test_neighbours_cannot_be_told_apart(name: str, tmp_path: Path) -> None:
    assert broken(CASES[name], tmp_path) == []


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_neighbours_move_by_the_whole_bound(name: str, tmp_path: Path) -> None:
    """Otherwise the test above would be lenient."""
    case = CASES[name]
    create(tmp_path / "before.duckdb", case.before)
    create(tmp_path / "after.duckdb", case.after)
    before, after = (exact(tmp_path / f"{side}.duckdb", case.sql) for side in ("before", "after"))
    moved = [abs(a - b) for a, b in zip(before, after, strict=True)]
    explained = dp4sql.explain(policy_file(case.policy), case.sql)
    bounds = [aggregate.bounds[case.policy] for aggregate in explained.aggregates]
    assert bounds == ([sum(moved)] if explained.grouping else moved)


@pytest.mark.parametrize("name", ["a person leaves a count", "a person changes bins"])
def test_half_the_noise_is_noticed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = importlib.import_module("dp4sql.noise.laplace")
    sampler = core._sampler
    # It still claims the loss of the scale that it was asked for.
    monkeypatch.setattr(core, "_sampler", lambda scale: sampler(scale / 2))
    # Once in 10,000 times its shares are near enough to right ones.
    folders = [tmp_path / number for number in "123"]
    for folder in folders:
        folder.mkdir()
    assert any(broken(CASES[name], folder) for folder in folders)
