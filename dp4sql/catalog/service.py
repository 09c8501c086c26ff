"""The Postgres behind catalog queries: started when first needed, filled from the policy, restarted."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from dp4sql.catalog import embedded
from dp4sql.catalog.calls import functions_ddl
from dp4sql.catalog.constants import Kept
from dp4sql.catalog.ddl import LOCKDOWN, ddl, literal, quote
from dp4sql.catalog.own import own_ddl
from dp4sql.catalog.upstream import Address, Upstream
from dp4sql.errors import CatalogUnavailable, InvalidParameter, LoginRefused
from dp4sql.policy.labels import PolicySet

#: The newest version that is announced to clients. psql asks each server for the columns that catalogs had in
#: its version; those of this one are still there in 18, those of 15 and 16 are not.
ANNOUNCED: Final = "14.0"


#: Owns the tables. Clients are of its kind, for information_schema shows foreign keys to owners alone; that they
#: cannot change anything is up to the transaction, which is read-only.
OWNER: Final = "dp4sql_owner"
_OWN_ROLES: Final = (embedded.SUPERUSER, OWNER)

#: Bytes of a name in Postgres.
NAME_LENGTH: Final = 63


def check_role(name: str) -> None:
    """LoginRefused for a name that no role of a client may have in the empty Postgres."""
    reserved = name in (*_OWN_ROLES, "public", "none") or name.startswith("pg_")
    if reserved or len(name.encode()) > NAME_LENGTH:
        raise LoginRefused(
            f'role "{name[:NAME_LENGTH]}" cannot log in',
            hint=f"Names have at most {NAME_LENGTH} bytes; public, none, {', '.join(_OWN_ROLES)} and those "
            "that start with pg_ are Postgres's own.",
        )


class Catalog:
    """Sessions on an empty database that has the policy's schema.

    Without a `url` the embedded server is used, one for all clients, each under its own role. With one,
    the database it names must be empty or have been filled for the same policy before.
    """

    def __init__(self, policies: PolicySet, database: str, url: str | None = None) -> None:
        self._policies, self._database = policies, database
        self._given = address_of(url) if url else None
        self._running: embedded.Running | None = None
        self._filled = False
        self._claimed: str | None = None
        self._roles: set[str] = set()
        self._lock = asyncio.Lock()
        self.kept = Kept()
        self.version = ANNOUNCED

    async def connect(self, user: str, settings: Mapping[str, str]) -> Upstream:
        """A session for `user`, whose defaults are `settings`. Raises CatalogUnavailable."""
        async with self._lock:
            try:
                return await self._connect(user, settings)
            except CatalogUnavailable:
                if self._running is None:
                    raise
                # It was there and is no more: killed, perhaps. Once more from the beginning.
                await self._stop()
                return await self._connect(user, settings)

    async def close(self) -> None:
        async with self._lock:
            await self._stop()

    async def renew(self, policies: PolicySet) -> None:
        """Take another policy file from here on; sessions that are open keep the old schema."""
        async with self._lock:
            self._policies = policies
            await self._stop()

    async def _stop(self) -> None:
        running, self._running, self._filled = self._running, None, False
        self._roles.clear()
        if running is not None:
            await running.stop()

    async def _connect(self, user: str, settings: Mapping[str, str]) -> Upstream:
        address = await self._given_database() if self._given else await self._own_database(user)
        session = await Upstream.connect(
            address, {**settings, "default_transaction_read_only": "on"}
        )
        found = session.settings.get("server_version", ANNOUNCED)
        self.version = min(found, ANNOUNCED, key=_major)
        return session

    def _script(self) -> str:
        return f"{ddl(self._policies)}\n{own_ddl()}\n{functions_ddl()}"

    # ------------------------------------------------------------ the embedded server

    async def _own_database(self, user: str) -> Address:
        if self._running is None:
            self._running = await embedded.start()
        if not self._filled:
            await self._fill(self._running)
        if user not in self._roles:
            await self._as_superuser(
                f"CREATE ROLE {quote(user)} LOGIN; GRANT {OWNER} TO {quote(user)} WITH SET FALSE",
                self._database,
            )
            self._roles.add(user)
        return self._running.address(user, self._database)

    async def _fill(self, running: embedded.Running) -> None:
        name = quote(self._database)
        if self._database not in ("postgres", "template1", "template0"):
            await self._as_superuser(f"ALTER DATABASE postgres RENAME TO {name}", "template1")
        await self._as_superuser(
            f"REVOKE TEMPORARY ON DATABASE {name} FROM PUBLIC;{LOCKDOWN}CREATE ROLE {OWNER};"
            f"GRANT CREATE ON SCHEMA public TO {OWNER};GRANT CREATE ON DATABASE {name} TO {OWNER};"
            f"SET ROLE {OWNER};{self._script()}\nRESET ROLE;"
            f"REVOKE CREATE ON SCHEMA public FROM {OWNER};REVOKE CREATE ON DATABASE {name} FROM {OWNER}",
            self._database,
        )
        self._filled = True

    async def _as_superuser(self, script: str, database: str) -> None:
        assert self._running is not None
        address = self._running.address(embedded.SUPERUSER, database)
        session = await Upstream.connect(address, {})
        try:
            await session.script(script)
        finally:
            session.close()

    # ------------------------------------------------------------ a database of the operator's

    async def _given_database(self) -> Address:
        assert self._given is not None
        if not self._filled:
            session = await Upstream.connect(self._given, {})
            try:
                await self._claim(session)
            finally:
                session.close()
            self._filled = True
        return self._given

    async def _claim(self, session: Upstream) -> None:
        """Fill an empty database, or recognise one that was filled for this policy; what this catalog filled
        for the policy before is replaced."""
        if (await session.run(_TELLING)).rows:
            raise CatalogUnavailable(
                "the database of --catalog could tell clients more than the schema",
                hint="It needs a server without other databases or extensions, and a role that is no superuser.",
            )
        mark = f"dp4sql catalog {hashlib.sha256(self._script().encode()).hexdigest()}"
        empty = not (await session.run(_FOUND)).rows
        if not empty and not await _marked(session, mark):
            if self._claimed is None or not await _marked(session, self._claimed):
                raise CatalogUnavailable(
                    "the database of --catalog is not empty",
                    hint="Create a new database for it: the proxy shows clients all that is in there.",
                )
            await session.script(_CLEAR)
            empty = True
        if empty:
            await session.script(f"{self._script()}\nCOMMENT ON SCHEMA public IS {literal(mark)}")
        self._claimed = mark


async def _marked(session: Upstream, mark: str) -> bool:
    return bool((await session.run(f"{_MARK} = {literal(mark)}")).rows)


#: Superusers read files, and the statistics of a server are about all its databases.
_TELLING: Final = (
    "SELECT FROM pg_roles WHERE rolname = current_user AND rolsuper UNION ALL "
    "SELECT FROM pg_database WHERE NOT datistemplate "
    "AND datname NOT IN (current_database(), 'postgres') UNION ALL "
    "SELECT FROM pg_extension WHERE extname <> 'plpgsql'"
)
_FOUND: Final = (
    "SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
    "WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'"
)
_CLEAR: Final = """
DO $$ DECLARE found text; BEGIN
    FOR found IN SELECT nspname FROM pg_namespace
        WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'
    LOOP EXECUTE format('DROP SCHEMA %I CASCADE', found); END LOOP;
END $$;
CREATE SCHEMA public;
"""
_MARK: Final = "SELECT FROM pg_namespace WHERE nspname = 'public' AND obj_description(oid)"


def address_of(url: str) -> Address:
    """postgresql://user:password@host:port/database[?sslmode=require]"""
    try:
        parts = urlsplit(url)
        port = parts.port or 5432
    except ValueError:
        raise _bad_url() from None
    if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
        raise _bad_url()
    mode = parse_qs(parts.query).get("sslmode", ["disable"])[0]
    address = Address(
        parts.hostname or "127.0.0.1",
        port,
        unquote(parts.username or "postgres"),
        unquote(parts.path.strip("/")),
        unquote(parts.password or ""),
    )
    return replace(address, tls=mode not in ("disable", "allow", "prefer"))


def _bad_url() -> InvalidParameter:
    return InvalidParameter(
        "the catalog's address cannot be read",
        hint="It looks like postgresql://user:password@host:5432/database?sslmode=require.",
    )


def _major(version: str) -> int:
    """Of 14.2, 15beta1 or 16.1 (Debian 16.1-1)."""
    found = re.match(r"\d+", version)
    return int(found[0]) if found else 0
