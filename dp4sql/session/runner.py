"""What each statement is and does: queries to their answers, the rest changes the session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from dp4sql.algebra.types import TEXT
from dp4sql.errors import FailedTransaction, NoTransaction, StalePlan, SyntaxError_
from dp4sql.rows import OutputColumn, Released
from dp4sql.session import commands as c
from dp4sql.session.answers import Answers
from dp4sql.session.prepared import Arguments, Names, Portal, Prepared
from dp4sql.session.results import Result, fields_of, move, of_released
from dp4sql.session.state import REPORTED, State
from dp4sql.sql.lexer import Statement
from dp4sql.wire.connection import Connection


class Runner:
    """Prepares and runs the statements of one session."""

    def __init__(self, connection: Connection, state: State, answers: Answers) -> None:
        self._out, self._state, self._answers = connection, state, answers
        self.names = Names()

    # ------------------------------------------------------------ what a statement is

    def check_transaction(self, command: c.Command) -> None:
        ends = isinstance(command, c.Commit | c.Rollback | c.RollbackTo)
        if self._state.status == b"E" and not ends:
            raise FailedTransaction(
                "current transaction is aborted, commands ignored until end of transaction block",
                hint="ROLLBACK ends it.",
            )

    async def prepare(
        self, statement: Statement, command: c.Command, oids: tuple[int, ...], *, describe: bool
    ) -> Prepared:
        """The statement's parameters and columns, as far as `describe` asks for them."""
        self.check_transaction(command)
        match command:
            case c.Select(query):
                return await self._answers.prepare(query, command, oids, describe=describe)
            case c.Explain(query) | c.Copy(query) | c.Declare(query=query):
                # Described in any case: a mistake in the query shows here, not at the first FETCH.
                inner = await self._answers.prepare(query, c.Select(query), oids, describe=True)
                fields = _PLAN if isinstance(command, c.Explain) else None
                whole = replace(inner, statement=statement, command=command, fields=fields)
                return replace(whole, inner=inner, lasting=False)
            case c.Show(name):
                return Prepared(statement, command, fields=fields_of((_shown(name),)))
            case c.Fetch(cursor, move=False):
                portal = self.names.portals.get(cursor)
                fields = portal.prepared.fields if portal else None
                return Prepared(statement, command, fields=fields)
            case c.ExecutePrepared(name):
                return Prepared(statement, command, fields=self.names.statement(name).fields)
            case _:
                return Prepared(statement, command)

    # ------------------------------------------------------------ what a statement does

    async def run(
        self, prepared: Prepared, arguments: Arguments, formats: tuple[int, ...]
    ) -> Result:
        command = prepared.command
        assert command is not None
        self.check_transaction(command)
        match command:
            case c.Select():
                return await self._answers.query(prepared, arguments, formats)
            case c.Explain():
                return await self._answers.explain(prepared, command, arguments, formats)
            case c.Copy():
                return await self._answers.copy(prepared, command, arguments)
            case c.Show(name):
                return await self._show(prepared.statement, name, formats)
            case c.Set() | c.Reset() | c.Discard():
                return await self._change_settings(command)
            case c.Begin() | c.Commit() | c.Rollback():
                return self._transaction(command)
            case c.Savepoint() | c.Release() | c.RollbackTo():
                return self._savepoint(command)
            case c.Prepare():
                return await self._prepare_named(command)
            case c.ExecutePrepared():
                return await self._execute_named(command, formats)
            case c.Deallocate(name):
                return self._deallocate(name)
            case c.Declare():
                return self._declare(command, prepared, arguments)
            case c.Fetch():
                return await self._fetch(command, formats)
            case c.CloseCursor(name):
                return self._close_cursor(name)
            case c.Ignored(tag):
                return Result(tag)
            case _:
                assert_never(command)

    async def result(self, portal: Portal, formats: tuple[int, ...]) -> Result:
        """The portal's answer in `formats`. A released one is never asked for twice."""
        kept = portal.result
        if kept is None:
            kept = await self.run(portal.prepared, portal.arguments, formats)
            for notice in kept.notices:
                self._out.send(notice)
        elif kept.formats != formats and kept.released is not None:
            kept = of_released(
                kept.released, formats, self._state.zone, kept.tag, counted=kept.counted
            )
        elif kept.formats != formats:
            kept = await self.run(portal.prepared, portal.arguments, formats)
        portal.result = replace(kept, notices=()) if kept.notices else kept
        if portal.result.size > _LARGE:
            self.names.check_room()
        return portal.result

    # ------------------------------------------------------------ transactions

    def _transaction(self, command: c.Begin | c.Commit | c.Rollback) -> Result:
        if isinstance(command, c.Begin):
            if self._state.in_transaction:
                self._warn("25001", "there is already a transaction in progress")
            self._state.begin(command.modes)
            return Result("BEGIN")
        if not self._state.in_transaction:
            self._warn("25P01", "there is no transaction in progress")
        if isinstance(command, c.Commit):
            tag = "COMMIT" if self._state.commit() else "ROLLBACK"
        else:
            tag = "ROLLBACK"
            self._state.rollback()
        self.names.end_transaction()
        if command.chain:
            self._state.begin({})
        return Result(tag)

    def _savepoint(self, command: c.Savepoint | c.Release | c.RollbackTo) -> Result:
        match command:
            case c.Savepoint(name):
                self._state.savepoint(name)
                return Result("SAVEPOINT")
            case c.Release(name):
                self._state.release(name)
                return Result("RELEASE")
            case c.RollbackTo(name):
                self._state.rollback_to(name)
                return Result("ROLLBACK")

    def _warn(self, sqlstate: str, text: str) -> None:
        self._out.notice(text, severity="WARNING", sqlstate=sqlstate)

    # ------------------------------------------------------------ settings

    async def _show(self, statement: Statement, name: str, formats: tuple[int, ...]) -> Result:
        if not self._state.known(name):
            return await self._answers.show_elsewhere(statement)
        shown = Released((_shown(name),), [(self._state.show(name),)])
        return of_released(shown, formats or (0,), self._state.zone, "SHOW", counted=False)

    async def _change_settings(self, command: c.Set | c.Reset | c.Discard) -> Result:
        match command:
            case c.Set(values, local):
                if local and not self._state.in_transaction:
                    self._warn("25P01", "SET LOCAL can only be used in transaction blocks")
                    return Result("SET")
                await self._set(values, local=local)
                return Result("SET")
            case c.Reset(None):
                self._state.reset_all()
                return Result("RESET")
            case c.Reset(name):
                await self._set({str(name): None}, local=False)
                return Result("RESET")
            case c.Discard("ALL"):
                return self._discard_all()
            case c.Discard(what):
                return Result(f"DISCARD {what}")

    async def _set(self, values: Mapping[str, str | None], *, local: bool) -> None:
        for name, value in values.items():
            if not self._state.known(name):
                await self._answers.set_elsewhere(name, value)
        self._state.set(values, local=local)

    def _discard_all(self) -> Result:
        if self._state.in_transaction:
            raise NoTransaction("DISCARD ALL cannot run inside a transaction block")
        self._state.reset_all()
        self.names = Names()
        self._answers.close()
        return Result("DISCARD ALL")

    # ------------------------------------------------------------ statements and cursors by name

    async def _prepare_named(self, command: c.Prepare) -> Result:
        self.names.check_free(command.name)
        oids = tuple([await self._answers.type_oid(name) for name in command.types])
        inner = c.Select(command.query)
        prepared = await self.prepare(command.query, inner, oids, describe=True)
        self.names.add_statement(command.name, prepared)
        return Result("PREPARE")

    async def _execute_named(self, command: c.ExecutePrepared, formats: tuple[int, ...]) -> Result:
        prepared = self.names.statement(command.name)
        given, wanted = len(command.arguments), len(prepared.oids)
        if given != wanted:
            raise SyntaxError_(
                f'wrong number of parameters for prepared statement "{command.name}"',
                detail=f"Expected {wanted} parameters but got {given}.",
            )
        _check_formats(formats, prepared)
        values = tuple(None if text is None else text.encode() for text in command.arguments)
        return await self.run(prepared, Arguments(values, (0,) * given), formats)

    def _deallocate(self, name: str | None) -> Result:
        if name is None:
            self.names.statements.clear()
            return Result("DEALLOCATE ALL")
        self.names.statement(name)
        del self.names.statements[name]
        return Result("DEALLOCATE")

    def _declare(self, command: c.Declare, prepared: Prepared, arguments: Arguments) -> Result:
        if not (command.hold or self._state.in_transaction):
            raise NoTransaction(
                "DECLARE CURSOR can only be used in transaction blocks",
                hint="BEGIN starts one; WITH HOLD works without.",
            )
        assert prepared.inner is not None
        formats = (0,) * len(prepared.inner.fields or ())
        portal = Portal(prepared.inner, arguments, formats, command.hold)
        self.names.add_portal(command.name, portal, "cursor")
        return Result("DECLARE CURSOR")

    async def _fetch(self, command: c.Fetch, formats: tuple[int, ...]) -> Result:
        portal = self.names.portal(command.cursor, "cursor")
        _check_formats(formats, portal.prepared)
        fields = portal.prepared.fields or ()
        codes = formats or (0,) * len(fields)
        result = await self.result(portal, codes)
        moved = move(command, portal.position, len(result.rows))
        portal.position = moved.position
        rows = moved.of(result.rows)
        if command.move:
            return Result(f"MOVE {len(rows)}")
        return Result("FETCH", fields, codes, rows, counted=True)

    def _close_cursor(self, name: str | None) -> Result:
        if name is None:
            self.names.portals.clear()
            return Result("CLOSE CURSOR ALL")
        self.names.portal(name, "cursor")
        del self.names.portals[name]
        return Result("CLOSE CURSOR")


#: From this size on an answer is counted against what a session may keep.
_LARGE: Final = 1 << 16
_PLAN: Final = fields_of((OutputColumn("QUERY PLAN", TEXT),))


def _check_formats(formats: tuple[int, ...], prepared: Prepared) -> None:
    """What is named may be another statement than it was when its columns were given formats."""
    if formats and len(formats) != len(prepared.fields or ()):
        raise StalePlan("cached plan must not change result type", hint="Bind the statement again.")


def _shown(name: str) -> OutputColumn:
    """The column of SHOW, named as Postgres spells the setting."""
    spelled = next((known for known in REPORTED if known.lower() == name), name)
    return OutputColumn(spelled, TEXT)
