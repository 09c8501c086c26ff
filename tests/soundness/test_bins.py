"""A row falls into one bin at most, or it would count twice. Keys that engines compute in double precision were equal
to two bins beyond 2^53."""

from __future__ import annotations

import duckdb
import pytest

import dp4sql
from dp4sql.errors import NoBins

FIRST = 2**53
RANGE = [FIRST, FIRST + 7]
POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {
                "key": ["id"],
                "columns": {
                    "id": "integer",
                    "z": {"type": "bigint", "range": RANGE},
                    "n": {"type": "numeric", "range": RANGE},
                    "f": {"type": "double precision", "range": RANGE},
                },
            }
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del"}}},
    }
)


@pytest.mark.parametrize(
    "key",
    ["FLOOR(n)", "ROUND(n)", "TRUNC(n)", "FLOOR(f::numeric)", "FLOOR(z / 2.0) * 2", "CEIL(n / 3)"],
)
def test_what_two_bins_could_be_equal_to_is_refused(key: str) -> None:
    with pytest.raises(NoBins, match="more than 15 digits"):
        dp4sql.explain(POLICY, f"SELECT {key}, COUNT(*) FROM t GROUP BY 1")


def test_lists_of_such_numbers_are_refused() -> None:
    sql = "SELECT n / 3, COUNT(*) FROM t WHERE n / 3 IN (0.1, 0.10000000000000000001) GROUP BY 1"
    with pytest.raises(NoBins, match="more than 15 digits"):
        dp4sql.explain(POLICY, sql)


@pytest.mark.parametrize(
    "key", ["f::bigint", "FLOOR(z * 1.0)", "z::double precision", "z", "z * 2"]
)
def test_each_row_has_one_bin(key: str) -> None:
    (read,) = dp4sql.explain(POLICY, f"SELECT {key}, COUNT(*) FROM t GROUP BY 1").reads
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT i AS id, {FIRST} + i AS z, z::DOUBLE AS n, z::DOUBLE AS f FROM range(8) r(i)"
        )
        counts = [count for *_, count in connection.execute(read).fetchall()]
    assert 0 < sum(counts) <= 8
