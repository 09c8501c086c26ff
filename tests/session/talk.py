"""Statements and what comes back, without a driver between."""

from __future__ import annotations

from dataclasses import dataclass

from tests.wire.live import Frame, Raw, query, report, rows


@dataclass(frozen=True)
class Reply:
    """Tags, SQLSTATE of an error or warning, rows, and the transaction status after a Query."""

    tags: list[str]
    state: str
    warned: str
    rows: list[list[bytes | None]]
    status: str
    settings: dict[str, str]


def ask(client: Raw, sql: str) -> Reply:
    client.send(query(sql))
    return reply(client.until("Z"))


def reply(frames: list[Frame]) -> Reply:
    def code(kind: str) -> str:
        return next((report(body)["C"] for found, body in frames if found == kind), "")

    tags = [body[:-1].decode() for kind, body in frames if kind == "C"]
    pairs = [body[:-1].decode().split("\0") for kind, body in frames if kind == "S"]
    return Reply(tags, code("E"), code("N"), rows(frames), frames[-1][1].decode(), dict(pairs))
