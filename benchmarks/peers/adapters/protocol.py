"""What every adapter does: read the job, ask each query, say what came back and how long it took."""

from __future__ import annotations

import datetime
import decimal
import json
import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

Rows: TypeAlias = list[list[Any]]
Answer: TypeAlias = Callable[[str], Callable[[], Rows]]
"""From SQL to what answers it: the first call rewrites or plans, the second runs."""


def job() -> dict[str, Any]:
    """`url`, `tables`, `unit`, `owned`, `epsilon`, `delta`, `runs` and `queries` (id and SQL)."""
    loaded: dict[str, Any] = json.load(sys.stdin)
    return loaded


def serve(given: dict[str, Any], answer: Answer, again: bool = False) -> None:
    """Each query `runs` times. A peer that raises has refused; a panic, or what kills the process, is a crash.
    `again`: running rewrites once more, so that the first time does not count as part of the whole."""
    for query in given["queries"]:
        say({"asked": query["id"]})
        say({"id": query["id"], **_asked(query["sql"], answer, given["runs"], again)})


def _asked(sql: str, answer: Answer, runs: int, again: bool) -> dict[str, Any]:
    found: list[Rows] = []
    rewriting, whole = [], []
    try:
        for _ in range(runs):
            start = time.perf_counter()
            run = answer(sql)
            rewritten = time.perf_counter()
            found.append([[_plain(value) for value in row] for row in run()])
            rewriting.append(rewritten - start)
            whole.append(time.perf_counter() - (rewritten if again else start))
    except KeyboardInterrupt:
        raise
    except NotImplementedError as error:
        return {"status": "-", "said": str(error)}
    except BaseException as error:  # Rust panics are no Exceptions.
        panic = not isinstance(error, Exception)
        said = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return {"status": "crashed" if panic else "refused", "said": said}
    return {"status": "answered", "runs": found, "rewrite": rewriting, "whole": whole}


def _plain(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()[:10]
    if hasattr(value, "item"):
        return value.item()
    return value


def say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)
