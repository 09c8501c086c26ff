"""A fixed slice of the soak: the whole pipeline on wild values in DuckDB and Postgres, and on tame ones in both."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from dp4sql.mechanisms.reading import placement

from .wild.campaign import Kind, Tally, campaign_of
from .wild.queries import random_statement

DRAWN: dict[Kind, int] = {"duckdb": 24, "postgres": 32, "both": 24}
DRAWS = [
    *("ROLLUP", "CUBE", "GROUPING SETS", "FILTER", "CASE", "COALESCE", "OVER", "ROWS", "RANGE"),
    *(
        "INTERSECT",
        "EXCEPT",
        "UNION",
        "DISTINCT ON",
        "SELECT DISTINCT",
        "WITH",
        "HAVING",
        "LIMIT",
        "EXISTS",
        "VALUES",
    ),
    *("MIN", "MAX", "PERCENTILE_DISC", "PERCENTILE_CONT", "MEDIAN", "VARIANCE", "BOOL_OR", "CORR"),
    *("LIKE", "SIMILAR TO", "~", "REPLACE", "DATE_TRUNC", "INTERVAL", "OVERLAPS", "MAKE_DATE"),
    *("::numeric", "CAST", '"w.n"', "place", '"select"', "generate_series", "FROM c ", "FROM e "),
    *("12345678901234567890.1234567890123456789", "1.00000000000000000000000000000001"),
]


@pytest.mark.parametrize("kind", DRAWN)
def test_nothing_but_noise_tells_neighbours_and_engines_apart(
    kind: Kind,
) -> None:
    def going(tally: Tally) -> bool:
        return tally.tried < DRAWN[kind] and not tally.violations

    tally = campaign_of(kind, 1, going)
    assert not tally.violations, "\n".join(tally.violations)
    assert tally.accepted > tally.tried / 3
    assert tally.attained > 0 or kind == "both"


def test_every_construct_is_drawn() -> None:
    rng = Random(1)
    drawn = "\n".join(random_statement(rng) for _ in range(2000))
    assert [word for word in DRAWS if word not in drawn] == []


def test_the_oracle_finds_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts outside a domain get no place among its own."""
    placed = placement._text

    def careless(grid: Any, text: str, *others: Any) -> tuple[str, str]:
        return placed(grid, text, *others)[0], f"{text} IS NOT NULL"

    monkeypatch.setattr(placement, "_text", careless)

    def going(tally: Tally) -> bool:
        return tally.tried < 300 and not tally.violations

    assert campaign_of("duckdb", 1, going, shrinking=False).violations
