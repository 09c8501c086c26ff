"""A proxy from start to stop: open the parts, listen, wait for a signal, close in order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import dp4sql
from dp4sql.errors import InvalidParameter
from dp4sql.policy.labels import PolicySet
from dp4sql.server import Options, Server

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def psql(self, database: str, user: str) -> str:
        """The command that connects to `database` here."""
        return f"psql -h {self.host} -p {self.port} -U {user} -d {database}"


def address(text: str) -> Address:
    """HOST:PORT, [IPV6]:PORT, or a port on this machine alone."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise InvalidParameter(
            f"{text} is not an address to listen on",
            hint="127.0.0.1:6432, [::1]:6432, or 6432 alone.",
        )
    return Address(host.strip("[]") or "127.0.0.1", int(port))


@asynccontextmanager
async def proxy(
    policy: PolicySet,
    database: str,
    ledger: str | os.PathLike[str] | None,
    options: Options,
    listen: Address,
) -> AsyncIterator[Address]:
    """A proxy that answers at the address it gives, until the block ends.

    Nobody may connect before the database has shown the tables and columns that the policy names;
    PolicyError lists those it lacks.
    """
    if options.trust and any(one.roles for one in policy.policies):
        log.warning("roles have allowances, but without --users anyone may take any role's name")
    pipeline = dp4sql.open_pipeline(policy=policy, database=database, ledger=ledger)
    try:
        await pipeline.start()
        server = Server(pipeline, options)
        try:
            port = await _listen(server, listen)
            yield Address(listen.host, port)
        finally:
            await server.close()
    finally:
        await pipeline.close()


async def _listen(server: Server, listen: Address) -> int:
    try:
        return await server.listen(listen.host, listen.port)
    except OSError as error:
        raise InvalidParameter(
            f"cannot listen on {listen}: {os.strerror(error.errno or 0)}",
            hint=f"--listen {Address(listen.host, 0)} takes a free port.",
        ) from None


async def until_stopped() -> None:
    """Wait for SIGTERM or SIGINT (Ctrl-C)."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
