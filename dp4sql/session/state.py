"""A session's transaction and settings, with what ROLLBACK, SET LOCAL and RESET do to them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dp4sql.errors import LimitExceeded, NoTransaction, Refused, UndefinedSavepoint
from dp4sql.session import zones
from dp4sql.session.checks import CHECKS, milliseconds
from dp4sql.settings import NAMES, Settings

OWN_PREFIX: Final = "dp4sql."

MAX_SAVEPOINTS: Final = 10_000
MAX_SETTINGS: Final = 100_000
"""Characters of all names and values."""

#: Sent to the client at login and whenever they change, as Postgres spells them.
REPORTED: Final = (
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "scram_iterations",
    "search_path",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
)

#: Nobody can change these.
_FIXED: Final = {
    "in_hot_standby": "off",
    "integer_datetimes": "on",
    "is_superuser": "off",
    "max_identifier_length": "63",
    "scram_iterations": "4096",
    "server_encoding": "UTF8",
    "transaction_read_only": "on",
}

#: What drivers set before they ask anything; more than these is asked of the catalog's Postgres.
_DEFAULTS: Final = {
    "application_name": "",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "client_min_messages": "notice",
    "datestyle": "ISO, MDY",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "on",
    "extra_float_digits": "1",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
    "intervalstyle": "postgres",
    "jit": "off",
    "lc_messages": "C",
    "lock_timeout": "0",
    "row_security": "on",
    "search_path": '"$user", public',
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
    "synchronize_seqscans": "on",
    "timezone": "UTC",
    "transaction_isolation": "read committed",
    "xmloption": "content",
}

#: Settings that only the proxy knows what to do with, kept from the catalog's Postgres.
KEPT_HERE: Final = frozenset(
    {
        *(
            "transaction_isolation",
            "default_transaction_isolation",
            "default_transaction_read_only",
        ),
        "lc_messages",
    }
)


#: dp4sql's own settings as they are shown where nobody has set them.
OWN_DEFAULTS: Final = {OWN_PREFIX + name: Settings().show(name) for name in NAMES}


@dataclass(frozen=True, slots=True)
class Values:
    """The settings at one moment: Postgres's by lower-case name, dp4sql's own."""

    postgres: Mapping[str, str] = field(default_factory=dict)
    own: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class _Savepoint:
    name: str
    current: Values
    lasting: Values


class State:
    """Transaction status and settings. `current` is in force, `lasting` is what COMMIT leaves."""

    def __init__(self) -> None:
        self.status: bytes = b"I"
        self.fixed: dict[str, str] = dict(_FIXED)
        self.defaults: dict[str, str] = {}
        self.current = self.lasting = self._before = Values()
        self._savepoints: list[_Savepoint] = []

    def log_in(self, user: str, version: str, settings: Mapping[str, str]) -> None:
        """Take what the startup packet sets as the session's defaults."""
        self.fixed |= {"session_authorization": user, **_version(version)}
        self.set(settings)
        self.defaults = dict(self.current.postgres)
        self.current = self.lasting = self._before = Values(own=self.current.own)

    # ------------------------------------------------------------ transactions

    @property
    def in_transaction(self) -> bool:
        return self.status != b"I"

    def begin(self, modes: Mapping[str, str]) -> None:
        if not self.in_transaction:
            self.status = b"T"
            self._before = self.lasting = self.current
        self.set(modes, local=True)

    def commit(self) -> bool:
        """False when the transaction had failed and is rolled back instead."""
        if self.status == b"E":
            self.rollback()
            return False
        self._end(self.lasting)
        return True

    def rollback(self) -> None:
        self._end(self._before)

    def _end(self, values: Values) -> None:
        if self.in_transaction:
            self.current = self.lasting = values
        self.status = b"I"
        self._savepoints.clear()

    def fail(self) -> None:
        if self.status == b"T":
            self.status = b"E"

    def savepoint(self, name: str) -> None:
        self._inside("SAVEPOINT")
        if len(self._savepoints) >= MAX_SAVEPOINTS:
            raise LimitExceeded("too many savepoints", hint="RELEASE those not in use.")
        self._savepoints.append(_Savepoint(name, self.current, self.lasting))

    def release(self, name: str) -> None:
        self._inside("RELEASE SAVEPOINT")
        del self._savepoints[self._index(name) :]

    def rollback_to(self, name: str) -> None:
        self._inside("ROLLBACK TO SAVEPOINT")
        index = self._index(name)
        saved = self._savepoints[index]
        del self._savepoints[index + 1 :]
        self.current, self.lasting, self.status = saved.current, saved.lasting, b"T"

    def _inside(self, what: str) -> None:
        if not self.in_transaction:
            raise NoTransaction(
                f"{what} can only be used in transaction blocks", hint="BEGIN starts one."
            )

    def _index(self, name: str) -> int:
        for index in range(len(self._savepoints) - 1, -1, -1):
            if self._savepoints[index].name == name:
                return index
        raise UndefinedSavepoint(f'savepoint "{name}" does not exist')

    # ------------------------------------------------------------ settings

    def known(self, name: str) -> bool:
        """Whether the setting can be shown and changed without asking a Postgres."""
        return name.startswith(OWN_PREFIX) or name in self.fixed or name in _DEFAULTS

    def set(self, values: Mapping[str, str | None], *, local: bool = False) -> None:
        """Change settings, None for the default; InvalidParameter for what cannot be honoured."""
        changed = self.current
        for name, text in values.items():
            changed = self._with(changed, name, text)
        self.current = changed
        if not local:
            lasting = self.lasting
            for name, text in values.items():
                lasting = self._with(lasting, name, text)
            self.lasting = lasting

    def _with(self, values: Values, name: str, text: str | None) -> Values:
        if name.startswith(OWN_PREFIX):
            short = name.removeprefix(OWN_PREFIX)
            own = values.own.with_setting(short, "default" if text is None else text)
            return replace(values, own=own)
        if name in self.fixed and name != "transaction_read_only":
            raise Refused(f'parameter "{name}" cannot be changed')
        rest = {known: value for known, value in values.postgres.items() if known != name}
        if text is not None and name not in self.fixed:
            rest[name] = CHECKS.get(name, str)(text)
            if sum(map(len, rest)) + sum(map(len, rest.values())) > MAX_SETTINGS:
                raise LimitExceeded("too many settings", hint="RESET those not in use.")
        return replace(values, postgres=rest)

    def reset_all(self) -> None:
        self.current = self.lasting = Values()

    def show(self, name: str) -> str:
        """The value of a known setting."""
        if name.startswith(OWN_PREFIX):
            return self.current.own.show(name.removeprefix(OWN_PREFIX))
        if name == "transaction_isolation" and name not in self.current.postgres:
            name = "default_transaction_isolation"
        for values in (self.fixed, self.current.postgres, self.defaults, _DEFAULTS):
            if name in values:
                return values[name]
        raise KeyError(name)

    def shared(self) -> dict[str, str]:
        """What the catalog's Postgres is to hold as well: what was set, and dp4sql's own settings to show."""
        postgres = self.current.postgres
        theirs = {name: value for name, value in postgres.items() if name not in KEPT_HERE}
        return theirs | {name: self.show(name) for name in OWN_DEFAULTS}

    def reported(self) -> dict[str, str]:
        return {name: self.show(name.lower()) for name in REPORTED}

    @property
    def zone(self) -> datetime.tzinfo:
        return zones.zone(self.show("timezone"))

    @property
    def statement_timeout(self) -> float | None:
        """Seconds, None for no limit."""
        return self._seconds("statement_timeout")

    @property
    def idle_timeout(self) -> float | None:
        """Seconds that the client may say nothing, inside of a transaction or outside."""
        return self._seconds(
            "idle_in_transaction_session_timeout" if self.in_transaction else "idle_session_timeout"
        )

    def _seconds(self, name: str) -> float | None:
        text = self.show(name)
        return None if text == "0" else milliseconds(name, text) / 1000 or None


def _version(version: str) -> dict[str, str]:
    major, _, minor = version.partition(".")
    number = f"{major}{minor.split()[0] if minor else 0:0>4}"
    return {"server_version": version, "server_version_num": number}
