"""One client's session: messages in, replies out.

Query, Parse, Bind, Describe, Execute ...
  | grammar.parse      what the statement asks
  | catalog.route      whose it is: the pipeline's, the empty Postgres's, or the session's own
  | _prepare           columns and parameter types; reads no data, costs nothing
  | _run               a released or relayed answer, or a change of the session
RowDescription, DataRow ..., CommandComplete
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from dp4sql.aside import aside
from dp4sql.errors import (
    Dp4sqlError,
    InternalError,
    ProtocolViolation,
    SyntaxError_,
    Unsupported,
)
from dp4sql.remember import Remembered
from dp4sql.session import commands as c
from dp4sql.session.answers import Answers, placed
from dp4sql.session.grammar import parse
from dp4sql.session.interrupt import Interrupt
from dp4sql.session.memo import Memo
from dp4sql.session.prepared import Arguments, Portal, Prepared
from dp4sql.session.results import Result
from dp4sql.session.runner import Runner
from dp4sql.session.state import REPORTED, State
from dp4sql.sql import lexer
from dp4sql.sql.lexer import Statement
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r
from dp4sql.wire.connection import Connection
from dp4sql.wire.values import formats_for

#: Messages whose answer may be somebody else's.
_ASKING: Final = (m.Query, m.Parse, m.Execute)

log = logging.getLogger(__name__)

FLUSH_AT: Final = 1 << 16
#: Statements and messages after which others get their turn, if none of them made this session wait.
TURN: Final = 64
ROWS_AT_ONCE: Final = 256

#: Faults of the proxy itself. They end the statement, not the session, and say nothing to the client.
_FAULTS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


class Session:
    """Acts on the messages of one connection, one after the other.

    `drain` writes what `connection` holds to the socket and waits while the client is slow.
    """

    def __init__(
        self,
        connection: Connection,
        state: State,
        answers: Answers,
        drain: Callable[[], Awaitable[None]],
    ) -> None:
        self._out, self._state, self._answers, self._drain = connection, state, answers, drain
        self._runner = Runner(connection, state, answers)
        self._reported = state.current
        self._interrupt = Interrupt()
        self._memo = Memo()

    @property
    def busy(self) -> bool:
        return self._interrupt.busy

    def cancel(self) -> None:
        """Stop the running statement, if there is one."""
        self._interrupt.stop("user request")

    @property
    def idle_timeout(self) -> float | None:
        return self._state.idle_timeout

    @property
    def in_transaction(self) -> bool:
        return self._state.in_transaction

    def close(self) -> None:
        self._answers.close()

    # ------------------------------------------------------------ memory

    def remembered(self, data: bytes) -> bytes | None:
        """The reply to a whole request that is answered as it was before. None: it is to be read."""
        kept = self._memo.find(data, self._answers.served)
        if kept is None:
            self._memo.ask(data)
            return None
        if kept.renames:
            self._runner.names.rename(kept.unnamed)
        return kept.reply

    def interrupted(self) -> None:
        """More has arrived than is being answered: what is sent next is no reply to one request alone."""
        self._memo.drop()

    def replied(self, data: bytes, *, whole: bool) -> None:
        """What is sent to the client; `whole` where nothing is left unread."""
        if whole:
            self._memo.keep(data, self._runner.names.statements.get(""))
        else:
            self._memo.drop()

    # ------------------------------------------------------------ messages

    async def handle(self, event: m.Message) -> None:
        """Act on one message. Errors are reported to the client, whatever they are."""
        self._memo.see(event)
        try:
            if isinstance(event, _ASKING):
                await self._interrupt.watch(self._run(event), self._state.statement_timeout)
            else:
                self._act(event)
        except Dp4sqlError as error:
            self.fail(error)
        except _FAULTS as fault:
            log.exception("a statement failed inside the proxy")
            charged = " ".join(getattr(fault, "__notes__", ())) or None
            hint = "The proxy's log holds the details."
            self.fail(InternalError("internal error", hint=hint, detail=charged))

    def fail(self, error: Dp4sqlError) -> None:
        self._memo.forget()
        self._state.fail()
        self._out.fail(error, self._state.status)

    async def _run(self, event: m.Query | m.Parse | m.Execute) -> None:
        """The messages that may ask somebody else."""
        match event:
            case m.Query(sql):
                await self._query(sql)
            case m.Parse():
                await self._parse(event)
            case m.Execute(name, limit):
                await self._execute(name, limit)

    def _act(self, event: m.Message) -> None:
        """The messages that the session answers by itself, at once."""
        match event:
            case m.Bind():
                self._bind(event)
            case m.Describe(target, name):
                self._describe(target, name)
            case m.Sync():
                self._end_of_batch()
            case m.Close(target, name):
                self._runner.names.close(target, name)
                self._out.send(r.CLOSE_COMPLETE)
            case m.Flush():
                self._out.flush_now = True
            case m.FunctionCall():
                raise Unsupported("function calls are not supported", hint="SELECT the function.")
            case _:
                pass

    def _end_of_batch(self) -> None:
        if not self._state.in_transaction:
            self._runner.names.end_transaction()
            self._memo.rests = True
        self._out.ready(self._state.status)

    # ------------------------------------------------------------ simple query

    async def _query(self, sql: str) -> None:
        self._runner.names.statements.pop("", None)
        self._runner.names.portals.pop("", None)
        # All of it is read before any of it runs, as in Postgres.
        found = await self._parsed(sql)
        if not found:
            self._memo.forget()
            self._out.send(r.EMPTY_QUERY)
        for number, (statement, command) in enumerate(found, 1):
            if number % TURN == 0:
                await asyncio.sleep(0)
            prepared = await self._runner.prepare(statement, command, (), describe=False)
            result = await self._runner.run(prepared, Arguments(), ())
            self._memo.told(result.lasting)
            # Before the rows, which the client may not stay for: what was charged is said in any case.
            self._out.send(*result.notices)
            if result.fields is not None:
                self._out.send(r.row_description(result.fields, result.formats))
            await self._send_rows(result.rows, 0, len(result.rows))
            self._complete(result, len(result.rows))
        self._end_of_batch()

    # ------------------------------------------------------------ extended query

    async def _parsed(self, sql: str) -> tuple[tuple[Statement, c.Command], ...]:
        try:
            return await aside(sql, _parsed, sql)
        except Dp4sqlError:
            for statement in await aside(sql, lexer.statements, sql):
                with self._answers.noted(statement):
                    _command(statement)
            raise

    async def _parse(self, event: m.Parse) -> None:
        self._runner.names.check_free(event.name)
        found = await self._parsed(event.sql)
        if len(found) > 1:
            raise SyntaxError_(
                "cannot insert multiple commands into a prepared statement",
                position=found[1][0].start + 1,
            )
        if found:
            statement, command = found[0]
            oids = event.parameter_oids
            prepared = await self._runner.prepare(statement, command, oids, describe=True)
        else:
            prepared = Prepared(Statement("", 0, ()), None)
        self._memo.told(prepared.lasting)
        self._runner.names.statements.pop("", None)
        self._runner.names.add_statement(event.name, prepared)
        self._out.send(r.PARSE_COMPLETE)

    def _bind(self, event: m.Bind) -> None:
        prepared = self._runner.names.statement(event.statement)
        if prepared.command is not None:
            self._runner.check_transaction(prepared.command)
        given, wanted = len(event.parameters), len(prepared.oids)
        if given != wanted:
            raise ProtocolViolation(
                f"bind message supplies {given} parameters, "
                f'but prepared statement "{event.statement}" requires {wanted}'
            )
        codes = formats_for(event.parameter_formats, given, "parameter")
        formats = formats_for(event.result_formats, len(prepared.fields or ()), "result")
        if not event.portal:
            self._runner.names.portals.pop("", None)
        portal = Portal(prepared, Arguments(event.parameters, codes), formats)
        self._runner.names.add_portal(event.portal, portal)
        self._out.send(r.BIND_COMPLETE)

    def _describe(self, target: m.Target, name: str) -> None:
        if target == "S":
            prepared = self._runner.names.statement(name)
            self._out.send(r.parameter_description(prepared.oids))
            formats: tuple[int, ...] = (0,) * len(prepared.fields or ())
        else:
            portal = self._runner.names.portal(name)
            prepared, formats = portal.prepared, portal.formats
        if prepared.fields is None:
            self._out.send(r.NO_DATA)
        else:
            self._out.send(r.row_description(prepared.fields, formats))

    async def _execute(self, name: str, limit: int) -> None:
        portal = self._runner.names.portal(name)
        if portal.prepared.command is None:
            self._memo.forget()
            self._out.send(r.EMPTY_QUERY)
            return
        self._runner.check_transaction(portal.prepared.command)
        result = await self._runner.result(portal, portal.formats)
        self._memo.told(result.lasting)
        whole = result.fields is None or limit == 0
        start, total = portal.position, len(result.rows)
        portal.position = total if whole else min(start + limit, total)
        await self._send_rows(result.rows, start, portal.position)
        sent = portal.position - start
        if not whole and sent == limit:
            self._out.send(r.PORTAL_SUSPENDED)
        else:
            self._complete(result, sent)

    # ------------------------------------------------------------ replies

    async def _send_rows(self, rows: Sequence[bytes], first: int, last: int) -> None:
        for start in range(first, last, ROWS_AT_ONCE):
            self._out.send(*rows[start : min(start + ROWS_AT_ONCE, last)])
            if self._out.unsent > FLUSH_AT:
                await self._drain()
                # A socket that takes all at once would let nobody else have a turn.
                await asyncio.sleep(0)

    def _complete(self, result: Result, sent: int) -> None:
        if self._state.current is not self._reported:
            self._report_settings()
        self._out.send(r.command_complete(f"{result.tag} {sent}" if result.counted else result.tag))

    def _report_settings(self) -> None:
        """Tell the client which of the settings it follows have changed."""
        self._memo.forget()
        before, now = State(), self._state
        before.fixed, before.defaults, before.current = now.fixed, now.defaults, self._reported
        old, new = before.reported(), now.reported()
        for name in REPORTED:
            if old[name] != new[name]:
                self._out.send(r.parameter_status(name, new[name]))
        self._reported = now.current


def _parse_all(sql: str) -> tuple[tuple[Statement, c.Command], ...]:
    return tuple((statement, _command(statement)) for statement in lexer.statements(sql))


def _command(statement: Statement) -> c.Command:
    with placed(statement):
        return parse(statement)


_parsed = Remembered(_parse_all, len, lexer.MAX_LENGTH)
