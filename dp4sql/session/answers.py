"""Queries to those who answer them: policy tables to the pipeline, the rest to the empty Postgres."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from dp4sql.algebra.types import TEXT, Type, Value
from dp4sql.aside import aside
from dp4sql.catalog.constants import is_constant
from dp4sql.catalog.own import own_tables, setting
from dp4sql.catalog.route import Route, relation_name
from dp4sql.catalog.service import Catalog
from dp4sql.catalog.upstream import CatalogError, Described, Relayed, Upstream
from dp4sql.errors import Dp4sqlError, StalePlan
from dp4sql.pipeline import Pipeline
from dp4sql.policy.types import parse_type
from dp4sql.rows import PART, OutputColumn, Released
from dp4sql.session.commands import Command, Copy, Explain
from dp4sql.session.copy import copied, layout
from dp4sql.session.elsewhere import Elsewhere, sets
from dp4sql.session.own import rows_of
from dp4sql.session.prepared import Arguments, Prepared
from dp4sql.session.results import Result, fields_of, of_released
from dp4sql.session.state import State
from dp4sql.sql.lexer import Statement
from dp4sql.sql.lower.names import meant
from dp4sql.sql.parse import nearest
from dp4sql.wire.parameters import decode
from dp4sql.wire.values import oid_of, type_of

#: Sessions can lift their default, and an operator's database belongs to the role that all of them have there.
READ_ONLY: Final = {"transaction_read_only": "on"}
_NO_TABLE: Final = re.compile(r'relation "(?:[^".]*\.)?(.+)" does not exist')


@dataclass(frozen=True, slots=True)
class Served:
    """What answers under one policy file, and which queries it answers."""

    pipeline: Pipeline
    route: Callable[[Statement], Route]


class Answers:
    """The two sources of rows of one session, which share its settings."""

    def __init__(
        self,
        served: Callable[[], Served],
        catalog: Catalog,
        state: State,
        role: str,
    ) -> None:
        """`served` gives what answers now: another pipeline after the policy file was read again."""
        self._served, self._catalog = served, catalog
        self._state, self._role = state, role
        self._elsewhere = Elsewhere(catalog, state, role)
        self._connected_for: Served | None = None

    @property
    def served(self) -> Served:
        return self._served()

    def close(self) -> None:
        """Give the connection to the catalog's Postgres back; the next query opens another."""
        self._elsewhere.close()

    # ------------------------------------------------------------ describing

    async def prepare(
        self, statement: Statement, command: Command, oids: tuple[int, ...], *, describe: bool
    ) -> Prepared:
        """A query with its route and, when `describe` asks for it, its columns and parameters."""
        with placed(statement):
            with self.noted(statement):
                served, text = self._served(), statement.text
                route = await aside(text, served.route, statement)
                bare = Prepared(statement, command, route, oids, served=served)
                if not describe:
                    return bare
                if route == "private":
                    return await aside(text, self._described, bare)
            constant = not oids and is_constant(statement)
            with self._nearest():
                found = await self._shape(statement, oids, constant)
            return replace(bare, oids=found.parameters, fields=found.fields, lasting=constant)

    async def _shape(
        self, statement: Statement, oids: tuple[int, ...], constant: bool
    ) -> Described:
        if constant and (kept := self._catalog.kept.find(statement.text)):
            return cast(Described, kept)
        found = await (await self._session()).describe(statement.text, oids)
        if constant:
            self._catalog.kept.keep(statement.text, found)
        return found

    @contextlib.contextmanager
    def noted(self, statement: Statement) -> Iterator[None]:
        """Tell the journals of a statement that is refused before it is asked."""
        try:
            yield
        except Dp4sqlError as error:
            self._served().pipeline.refused(statement.text, self._role, error)
            raise

    @contextlib.contextmanager
    def _nearest(self) -> Iterator[None]:
        """The empty Postgres answers what names no table of the policy: a typo, more often than not."""
        try:
            yield
        except CatalogError as error:
            if error.hint is None and (found := _NO_TABLE.fullmatch(error.message)):
                tables = self._served().pipeline.policy.schema.tables.values()
                known = [relation_name(table) for table in tables]
                error.hint = meant(nearest(found[1], known), "Tables", known)
            raise

    def _described(self, bare: Prepared) -> Prepared:
        declared = [type_of(oid) for oid in bare.oids]
        text, own = bare.statement.text, self._state.current.own
        assert isinstance(bare.served, Served)
        shape = bare.served.pipeline.describe(text, declared, own, now=self._now())
        types = tuple(shape.parameters)
        shown = tuple(oid_of(_text_if_unknown(type)) for type in types)
        fields = fields_of(shape.columns)
        return replace(
            bare, oids=shown, types=types, fields=fields, error_columns=own.error_columns
        )

    async def _current(self, prepared: Prepared) -> Prepared:
        """The same under the policy file and settings that hold now, or a refusal in Postgres's words."""
        own = self._state.current.own
        described = prepared.fields is not None and prepared.route == "private"
        same = not described or prepared.error_columns == own.error_columns
        if prepared.served is self._served() and same:
            return prepared
        assert prepared.command is not None
        again = await self.prepare(
            prepared.statement,
            prepared.command,
            prepared.oids,
            describe=prepared.fields is not None,
        )
        if (again.fields, again.oids) != (prepared.fields, prepared.oids):
            raise StalePlan(
                "cached plan must not change result type",
                hint="The policy file, or dp4sql.error_columns, has changed. Prepare the statement again.",
            )
        return again

    # ------------------------------------------------------------ answering

    async def query(
        self, prepared: Prepared, arguments: Arguments, formats: tuple[int, ...]
    ) -> Result:
        prepared = await self._current(prepared)
        with placed(prepared.statement):
            if prepared.route == "private":
                released = await self._released(prepared, arguments)
                codes = formats or (0,) * len(released.columns)
                return of_released(released, codes, self._state.zone, "SELECT", counted=True)
            with self._nearest():
                return await self._catalogued(prepared, arguments, formats)

    async def _catalogued(
        self, prepared: Prepared, arguments: Arguments, formats: tuple[int, ...]
    ) -> Result:
        statement = prepared.statement
        key = (statement.text, formats)
        constant = not arguments.values and is_constant(statement)
        if constant and (kept := self._catalog.kept.find(key)):
            return cast(Result, kept)
        given = (arguments.values, arguments.formats)
        local = READ_ONLY | await self._own_rows(statement)

        async def run(session: Upstream) -> Relayed:
            return await session.run(statement.text, prepared.oids, *given, formats, local)

        session = await self._session()
        setting = sets(statement)
        found = await (
            self._elsewhere.setting(statement, arguments, run) if setting else run(session)
        )
        result = self._relayed(found, formats)
        if constant:
            result = replace(result, lasting=True)
            self._catalog.kept.keep(key, result)
        return result

    async def _own_rows(self, statement: Statement) -> dict[str, str]:
        """Settings that hold the rows of dp4sql.budget and the like, where the statement names them."""
        pipeline, own = self._served().pipeline, self._state.current.own
        names = own_tables(statement)
        found = asyncio.to_thread(rows_of, names, pipeline, own, self._role) if names else None
        return (
            {setting(name): json.dumps(rows) for name, rows in (await found).items()}
            if found
            else {}
        )

    async def _released(self, prepared: Prepared, arguments: Arguments) -> Released:
        return await self._served().pipeline.query(
            prepared.statement.text,
            self._values(prepared, arguments),
            self._state.current.own,
            parameter_types=prepared.types,
            role=self._role,
            now=self._now(),
        )

    def _now(self) -> datetime.datetime:
        """The moment of a statement, by the clock of the session."""
        return datetime.datetime.now(self._state.zone)

    def _values(self, prepared: Prepared, arguments: Arguments) -> tuple[Value, ...]:
        zone = self._state.zone
        triples = zip(prepared.types, arguments.formats, arguments.values, strict=True)
        return tuple(None if v is None else decode(t, code, v, zone) for t, code, v in triples)

    async def explain(
        self, whole: Prepared, command: Explain, arguments: Arguments, formats: tuple[int, ...]
    ) -> Result:
        """The free derivation; for a catalog query the plan of the empty Postgres."""
        assert whole.inner is not None
        inner = await self._current(whole.inner)
        if inner.route == "catalog":
            return await self._verbatim(whole, arguments, formats)
        with placed(command.query):
            values = self._values(inner, arguments)
            own = self._state.current.own
            explain = self._served().pipeline.explain
            how: Mapping[str, Any] = {
                "format": command.format,
                "role": self._role,
                "now": self._now(),
            }
            text = await asyncio.to_thread(explain, command.query.text, values, own, **how)
        lines = [text] if command.format == "json" else text.splitlines()
        column = OutputColumn("QUERY PLAN", TEXT)
        rows: list[tuple[Value, ...]] = [(line,) for line in lines]
        return of_released(
            Released((column,), rows), formats or (0,), self._state.zone, "EXPLAIN", counted=False
        )

    async def copy(self, whole: Prepared, command: Copy, arguments: Arguments) -> Result:
        assert whole.inner is not None
        inner = await self._current(whole.inner)
        if inner.route == "catalog":
            return await self._verbatim(whole, Arguments(), ())
        how = layout(command.options)
        with placed(command.query):
            released = await self._released(inner, arguments)
        if len(released.rows) <= PART:
            return copied(released, how, self._state.zone)
        try:
            return await asyncio.to_thread(copied, released, how, self._state.zone)
        except asyncio.CancelledError as error:
            error.add_note(f"It had been answered: {'; '.join(released.notices)}.")
            raise

    async def _verbatim(
        self, whole: Prepared, arguments: Arguments, formats: tuple[int, ...]
    ) -> Result:
        with placed(whole.statement):
            return await self._catalogued(whole, arguments, formats)

    def _relayed(self, found: Relayed, formats: tuple[int, ...]) -> Result:
        self._elsewhere.reported(found)
        notices = tuple(found.notices)
        size = sum(map(len, found.rows))
        if found.fields is None:
            return Result(found.tag, rows=found.rows, notices=notices, size=size)
        verb, _, _ = found.tag.partition(" ")
        codes = formats or (0,) * len(found.fields)
        counted = verb == "SELECT"
        return Result(verb, found.fields, codes, found.rows, counted, None, notices, size)

    # ------------------------------------------------------------ settings of the other Postgres

    async def set_elsewhere(self, name: str, value: str | None) -> None:
        """Change a setting that the session does not know itself; Postgres says whether it exists."""
        await self._session()
        await self._elsewhere.set(name, value)

    async def type_oid(self, name: str) -> int:
        """The OID of a type by any name that Postgres knows for it."""
        with contextlib.suppress(ValueError):
            return oid_of(parse_type(name))
        session = await self._session()
        found = await session.run("SELECT $1::regtype::oid", (25,), (name.encode(),), (), (1,))
        return int.from_bytes(found.rows[0][-4:], "big")

    async def show_elsewhere(self, statement: Statement) -> Result:
        with placed(statement):
            return self._relayed(await (await self._session()).run(statement.text), ())

    async def _session(self) -> Upstream:
        """Another one after the policy file was read again, for other tables."""
        if self._connected_for is not self._served():
            self.close()
            self._connected_for = self._served()
        return await self._elsewhere.session()


def _text_if_unknown(type: Type) -> Type:
    return TEXT if type.kind == "unknown" else type


class placed:
    """Errors name a place in the statement; clients count from the start of what they sent."""

    __slots__ = ("_start",)

    def __init__(self, statement: Statement) -> None:
        self._start = statement.start

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Dp4sqlError) and error.position is not None:
            error.position += self._start
