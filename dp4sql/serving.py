"""A proxy from start to stop: open the parts, listen, wait for a signal, close in order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import dp4sql
from dp4sql.budget.audit import Audit
from dp4sql.errors import Dp4sqlError, InvalidParameter
from dp4sql.policy.labels import PolicySet
from dp4sql.server import Options, Server, Tls
from dp4sql.server.health import Health
from dp4sql.server.metrics import Metrics
from dp4sql.server.options import is_local
from dp4sql.wire.auth import Verifier

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


@dataclass(frozen=True, slots=True)
class Watch:
    """What the curator wants to see: a log of statements, pages for probes, or answers without rows."""

    audit: str | os.PathLike[str] | None = None
    pages: Address | None = None
    observe: bool = False


@dataclass(frozen=True, slots=True)
class Files:
    """What is read at the start and on SIGHUP: the policy, who may log in, and by which certificate."""

    policy: PolicySet
    users: Mapping[str, Verifier] | None = None
    tls: Tls | None = None


@dataclass(slots=True)
class Running:
    """A proxy that answers: `at` is where clients connect, `pages` where probes do."""

    at: Address
    pages: Address | None
    server: Server
    metrics: Metrics
    audit: Audit | None
    _renewing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def renew(self, load: Callable[[], Files]) -> None:
        """Take what `load` reads; where one of the files is no good, all stays as it is.

        Statements that run go on under the file they began with. The audit log is opened anew.
        """
        async with self._renewing:
            try:
                if self.audit is not None:
                    self.audit.reopen()
                files = await asyncio.to_thread(load)
                pipeline = self.server.served.pipeline.renewed(files.policy)
                await pipeline.start()
                await self.server.renew(pipeline, files.users, files.tls)
            except (Dp4sqlError, OSError) as error:
                log.error("not reloaded, everything stays as it was: %s", error)
                self.metrics.reloaded(taken=False)
            else:
                log.info("reloaded: %s holds from the next statement on", files.policy.source)
                self.metrics.reloaded(taken=True)


@asynccontextmanager
async def proxy(
    policy: PolicySet,
    database: str,
    ledger: str | os.PathLike[str] | None,
    options: Options,
    listen: Address,
    watch: Watch = Watch(),
) -> AsyncIterator[Running]:
    """A proxy that answers until the block ends.

    Nobody may connect before the database has shown the tables and columns that the policy names;
    PolicyError lists those it lacks.
    """
    if options.trust and any(one.roles for one in policy.policies):
        log.warning("roles have allowances, but without --users anyone may take any role's name")
    if options.tls is None and not is_local(listen.host):
        log.warning("without --tls all that clients ask and read can be read on the way")
    async with AsyncExitStack() as closing:
        audit, metrics = Audit(watch.audit) if watch.audit else None, Metrics()
        if audit is not None:
            closing.callback(audit.close)
        pipeline = dp4sql.open_pipeline(
            policy=policy,
            database=database,
            ledger=ledger,
            journals=[metrics] if audit is None else [audit, metrics],
            observe=watch.observe,
        )
        server = Server(pipeline, options, metrics.login_refused)
        closing.push_async_callback(_close_pipeline, server)
        await pipeline.start()
        closing.push_async_callback(server.close)
        at = await _listen(server, listen)
        pages = Health(server, metrics)
        closing.push_async_callback(pages.close)
        where = await _listen(pages, watch.pages) if watch.pages else None
        yield Running(at, where, server, metrics, audit)


async def _close_pipeline(server: Server) -> None:
    await server.served.pipeline.close()


async def _listen(server: Server | Health, listen: Address) -> Address:
    try:
        return Address(listen.host, await server.listen(listen.host, listen.port))
    except OSError as error:
        option = "--listen" if isinstance(server, Server) else "--metrics-address"
        raise InvalidParameter(
            f"cannot listen on {listen}: {os.strerror(error.errno or 0)}",
            hint=f"{option} {Address(listen.host, 0)} takes a free port.",
        ) from None


async def until_stopped(reload: Callable[[], Awaitable[None]] | None = None) -> None:
    """Wait for SIGTERM or SIGINT (Ctrl-C); SIGHUP is for `reload`."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    reloading: set[asyncio.Future[None]] = set()

    def begin(work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(work())
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if reload is not None:
        loop.add_signal_handler(signal.SIGHUP, begin, reload)
    await stopped.wait()
    await asyncio.gather(*reloading)
