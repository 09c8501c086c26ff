"""python -m benchmarks.peers [--scale 0.01] [--runs 5] [--folder .peers]

Asks every peer the same queries on the same Postgres and writes figures.md. Every peer gets epsilon 1 a query
and knows the ranges, domains and owned rows that the shipped policies declare. dp4sql is asked twice: under
the shipped policies, and under one that protects what the peers do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from statistics import median
from threading import Thread
from typing import Any, TextIO

import psycopg

from benchmarks.peers.compare import errors, median_error, near
from benchmarks.peers.data import ENTITIES, databases, declared
from benchmarks.peers.environments import PEERS, SKIPPED, Peer, python
from benchmarks.peers.queries import Query, queries
from dp4sql.data.shipped import policy_file

HERE = Path(__file__).parent
PATIENCE = 300.0
"""Seconds that one query may take with all its runs."""


@dataclass
class Result:
    status: str
    said: str = ""
    errors: list[list[float]] = field(default_factory=list)
    rewrite: float = 0.0
    whole: float = 0.0

    @property
    def near(self) -> bool:
        return self.status == "answered" and near(self.errors)


def main() -> None:
    options = arguments()
    asked = queries()
    with databases(options.scale) as urls:
        truths = {q.id: _truth(urls[q.database], q) for q in asked}
        found = {}
        for peer in PEERS:
            if options.only and peer.adapter not in options.only:
                continue
            try:
                found[f"{peer.name} {peer.version}"] = _ask(peer, asked, urls, truths, options)
            except RuntimeError as reason:
                print(f"{peer.name}: skipped, {reason}", file=sys.stderr)
                SKIPPED[peer.name] = f"skipped: {reason}"
    text = report(asked, found, options)
    (HERE / "figures.md").write_text(text)
    print(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--scale", default="0.01", help="scale of TPC-H (0.01)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each query (5)")
    parser.add_argument("--folder", type=Path, default=Path(".peers"), help="for environments")
    names = [peer.adapter for peer in PEERS]
    parser.add_argument("--only", nargs="+", choices=names, help="these peers alone")
    return parser.parse_args()


def _truth(url: str, query: Query) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.sql.encode()).fetchall()


# ---------------------------------------------------------------- one peer


def _ask(
    peer: Peer,
    asked: list[Query],
    urls: dict[str, str],
    truths: dict[str, list[tuple[Any, ...]]],
    options: argparse.Namespace,
) -> dict[str, Result]:
    program = python(peer, options.folder)
    found: dict[str, Result] = {}
    for name, url in urls.items():
        left = [q for q in asked if q.database == name]
        file = policy_file(f"{name}_u" if peer.alone else name)
        job = {"url": url, "policy": str(file), **declared(name)}
        job["entity"] = ENTITIES[name] if peer.alone else None
        by_id = {q.id: q.sql for q in asked}
        job |= {"database": name, "counts": by_id["B01"], "exists": by_id["Q4"]}
        job |= {"epsilon": 1.0, "delta": 1e-5, "runs": options.runs}
        while left:
            unasked = len(left)
            for id, line in _lines(program, peer, {**job, "queries": [q.plain() for q in left]}):
                query = next(q for q in left if q.id == id)
                found[id] = _result(line, truths[id], query)
                left = left[left.index(query) + 1 :]
                print(f"{peer.name} {id}: {found[id].status} {found[id].said}", file=sys.stderr)
            if len(left) == unasked:
                raise RuntimeError("its program ended before the first query")
    return found


def _lines(program: Path, peer: Peer, job: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The adapter's answers. Where it dies or hangs over a query that one crashed, and the rest waits."""
    command = [str(program), str(peer.program)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(job))
        process.stdin.close()
        said: Queue[str] = Queue()
        Thread(target=_read, args=(process.stdout, said), daemon=True).start()
        current = ""
        while text := _next(said):
            line = json.loads(text)
            if "asked" in line:
                current = line["asked"]
                continue
            yield line["id"], line
            current = ""
        ended = process.poll() is not None
        process.kill()
        if current:
            yield current, {"status": "crashed", "said": "died" if ended else "no answer in time"}
        elif not ended:
            return


def _read(lines: TextIO, said: Queue[str]) -> None:
    for line in lines:
        said.put(line)
    said.put("")


def _next(said: Queue[str]) -> str:
    """The next line; nothing at the end, or when patience is."""
    try:
        return said.get(timeout=PATIENCE)
    except Empty:
        return ""


def _result(line: dict[str, Any], truth: list[tuple[Any, ...]], query: Query) -> Result:
    if line["status"] != "answered":
        return Result(line["status"], line["said"])
    off = [errors(truth, rows, query.keys) for rows in line["runs"]]
    return Result("answered", "", off, line["rewrite"][0], median(line["whole"]))


# ---------------------------------------------------------------- the report


def report(
    asked: list[Query], found: dict[str, dict[str, Result]], options: argparse.Namespace
) -> str:
    lines = [
        "# dp4sql beside its peers",
        "",
        f"{len(asked)} queries as analysts write them: a university of 1,000 students (A) and TPC-H at scale "
        f"{options.scale} (B, Q), on one Postgres, {options.runs} runs each at epsilon 1 (delta 1e-5 for peers that "
        "need one). Near: within 10 % of the truth in 80 % of the groups. Peers protect the student "
        "and the customer with all their rows, and so does dp4sql under the peers' policy (university_u and "
        "the customers of tpch_u); under the shipped policies it protects faculty and suppliers as well. "
        "Times are medians over the queries answered: of the first rewriting, and of the whole; they compare "
        "within this run alone. Those by hand have read and joined the rows before their time begins.",
        "",
        "| system | answered | near the truth | refused | crashed | rewriting ms | whole ms | at most |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_summary(name, list(results.values())) for name, results in found.items()]
    lines += [f"| {name} | {reason} | | | | | | |" for name, reason in SKIPPED.items()]
    names = list(found)
    lines += ["", "## Median relative error of each query", "", f"| query | {' | '.join(names)} |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for query in asked:
        cells = [_cell(found[name].get(query.id)) for name in names]
        lines.append(f"| {query.id} {query.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _summary(name: str, results: list[Result]) -> str:
    good = [r for r in results if r.status == "answered"]
    cells = [len(good), sum(r.near for r in good)]
    cells += [sum(r.status == status for r in results) for status in ("refused", "crashed")]
    times = ["-"] * 3
    if good:
        times = [_ms(median(r.rewrite for r in good)), _ms(median(r.whole for r in good))]
        times.append(_ms(max(r.whole for r in good)))
    return f"| {name} | {' | '.join(map(str, cells + times))} |"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


def _cell(result: Result | None) -> str:
    if result is None:
        return "-"
    return f"{median_error(result.errors):.2g}" if result.status == "answered" else result.status


if __name__ == "__main__":
    main()
