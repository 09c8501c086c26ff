"""A session's connection to the empty Postgres, where the session's settings are in force.

It comes and goes with what is asked; settings stay in `State`, which COMMIT, ROLLBACK and RESET go by. What
set_config() changes over there is therefore read back.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from dp4sql.catalog.service import Catalog
from dp4sql.catalog.upstream import CatalogError, Relayed, Upstream
from dp4sql.errors import Dp4sqlError
from dp4sql.session.prepared import Arguments
from dp4sql.session.state import KEPT_HERE, OWN_DEFAULTS, REPORTED, State
from dp4sql.sql.lexer import Statement

#: Seconds after which a session gives its place on the catalog's Postgres back.
IDLE: Final = 60.0

_TEXT: Final = 25
_SET: Final = (
    "SELECT set_config(name, value, false) FROM json_each_text($1::json) AS given(name, value)"
)
_RESET: Final = "SELECT set_config($1, NULL, false)"
_CHANGED: Final = (
    "SELECT json_object_agg(lower(name), current_setting(name, true)) FROM ("
    "SELECT name FROM pg_settings WHERE source = 'session' "
    "UNION SELECT name FROM json_array_elements_text($1::json) AS given(name)) AS known(name)"
)
#: Where the value starts in a DataRow of one: after type, size, number of values and the value's size.
_ONE_VALUE: Final = 1 + 4 + 2 + 4
_CUSTOM: Final = re.compile(r"[a-z_][\w$]*(?:\.[a-z_][\w$]*)+", re.IGNORECASE)

Texts: TypeAlias = Mapping[str, str]


class Elsewhere:
    """The connection, opened for the first statement that needs it and given back after a while."""

    def __init__(self, catalog: Catalog, state: State, role: str) -> None:
        self._catalog, self._state, self._role = catalog, state, role
        self._upstream: Upstream | None = None
        self._applied: dict[str, str] = {}
        self._retirement: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Give the connection back; the next query opens another."""
        if self._retirement is not None:
            self._retirement.cancel()
        if self._upstream is not None:
            self._upstream.close()
        self._upstream = None

    async def session(self) -> Upstream:
        """The connection with the session's settings in force."""
        if self._retirement is not None:
            self._retirement.cancel()
        if self._upstream is None or self._upstream.closed:
            defaults = {**self._state.defaults, **OWN_DEFAULTS}
            self._upstream = await self._catalog.connect(self._role, defaults)
            self._applied = dict(OWN_DEFAULTS)
        await self._apply(self._upstream)
        self._retirement = asyncio.get_running_loop().call_later(IDLE, self.close)
        return self._upstream

    async def _apply(self, session: Upstream) -> None:
        wanted = self._state.shared()
        for name in self._applied.keys() - wanted.keys():
            await session.run(_RESET, (_TEXT,), (name.encode(),))
        changed = {n: value for n, value in wanted.items() if self._applied.get(n) != value}
        if changed:
            await session.run(_SET, (_TEXT,), (json.dumps(changed).encode(),))
        self._applied = wanted

    # ------------------------------------------------------------ SET of what only Postgres knows

    async def set(self, name: str, value: str | None) -> None:
        """Change a setting that the session does not know itself; Postgres says whether it exists."""
        session = await self.session()
        if value is None:
            await session.run(_RESET, (_TEXT,), (name.encode(),))
            self._applied.pop(name, None)
        else:
            await session.run(_SET, (_TEXT,), (json.dumps({name: value}).encode(),))
            self._applied[name] = value

    def reported(self, found: Relayed) -> None:
        """Take what the answer says of settings that clients are told of."""
        known = {name.lower() for name in REPORTED} - self._state.fixed.keys()
        told = {name.lower(): value for name, value in found.settings.items()}
        changed = {name: value for name, value in told.items() if name in known}
        self._state.set(changed)
        self._applied |= changed

    # ------------------------------------------------------------ set_config()

    async def setting(
        self,
        statement: Statement,
        arguments: Arguments,
        run: Callable[[Upstream], Coroutine[Any, Any, Relayed]],
    ) -> Relayed:
        """Run a statement that calls set_config, and let the session's settings follow.

        What it changed within the transaction alone is told from what it left by looking before and after
        the end of it.
        """
        session = await self.session()
        names = [*self._applied, *_custom(statement, arguments)]
        await session.script("BEGIN")
        try:
            before = await _values(session, names)
            found = await run(session)
            inside = await _values(session, names)
        except CatalogError:
            await session.script("ROLLBACK")
            raise
        await session.script("COMMIT")
        after = await _values(session, names)
        try:
            self._follow(before, inside, after)
        except Dp4sqlError:
            self.close()  # with what is refused here
            raise
        return replace(found, settings={})

    def _follow(self, before: Texts, inside: Texts, after: Texts) -> None:
        lasting = _differences(before, after)
        local = _differences(after, inside)
        self._state.set(lasting)
        if self._state.in_transaction:
            self._state.set(local, local=True)
        self._applied = {**self._applied, **after}


def sets(statement: Statement) -> bool:
    """Whether the statement may call set_config."""
    return any(token.name == "set_config" for token in statement.tokens)


def _custom(statement: Statement, arguments: Arguments) -> Iterator[str]:
    """What could be a custom setting, which pg_settings does not list: a name with a point."""
    strings = [token.text[1:-1] for token in statement.tokens if token.text.startswith("'")]
    given = [value.decode(errors="replace") for value in arguments.values if value is not None]
    return (text.lower() for text in (*strings, *given) if _CUSTOM.fullmatch(text))


async def _values(session: Upstream, names: list[str]) -> dict[str, str]:
    """What differs there from the session's defaults, and the settings in `names` that there are."""
    found = await session.run(_CHANGED, (_TEXT,), (json.dumps(names).encode(),))
    values = json.loads(found.rows[0][_ONE_VALUE:] or "{}")
    return {n: value for n, value in values.items() if value is not None and n not in KEPT_HERE}


def _differences(old: Texts, new: Texts) -> dict[str, str | None]:
    names = [*new, *(old.keys() - new.keys())]
    return {name: new.get(name) for name in names if old.get(name) != new.get(name)}
