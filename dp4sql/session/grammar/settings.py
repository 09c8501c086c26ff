"""SET, SHOW, RESET and DISCARD."""

from __future__ import annotations

from dp4sql.errors import InvalidParameter, Refused, Unsupported
from dp4sql.session import zones
from dp4sql.session.commands import Command, Discard, Ignored, Reset, Set, Show
from dp4sql.session.grammar.transactions import modes
from dp4sql.session.reader import Reader


def set_(read: Reader) -> Command:
    if read.accept("SESSION", "CHARACTERISTICS", "AS", "TRANSACTION"):
        return Set({f"default_{name}": value for name, value in modes(read).items()})
    if read.accept("TRANSACTION"):
        if read.accept("SNAPSHOT"):
            raise Unsupported(
                "snapshots are not supported", hint="Leave SET TRANSACTION SNAPSHOT out."
            )
        return Set(dict(modes(read)), local=True)
    if read.accept("CONSTRAINTS"):
        return Ignored("SET CONSTRAINTS")
    local = read.accept("LOCAL")
    local or read.accept("SESSION")
    name = _special_name(read)
    if name in ("role", "session_authorization"):
        return _no_other_role(read)
    return Set({name: _value(read)}, local)


def _special_name(read: Reader) -> str:
    """The setting that is to change, read up to its value."""
    for words, name in ((("TIME", "ZONE"), "timezone"), (("NAMES",), "client_encoding")):
        if read.accept(*words):
            return name
    for words, name in ((("ROLE",), "role"), (("AUTHORIZATION",), "session_authorization")):
        if read.accept(*words):
            read.accept("=") or read.accept("TO")
            return name
    name = read.setting()
    if not (read.accept("=") or read.accept("TO")):
        raise read.unexpected()
    return name


def _value(read: Reader) -> str | None:
    if read.accept("DEFAULT") or read.accept("LOCAL"):
        read.expect_end()
        return None
    if read.accept("INTERVAL"):
        return _offset(read)
    return read.list_of_values()


def _offset(read: Reader) -> str:
    """SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE, as Sequelize has it."""
    east = zones.seconds(text) if ":" in (text := read.text()) else None
    read.accept("HOUR", "TO", "MINUTE")
    read.expect_end()
    name = None if east is None else zones.at(east)
    if name is None:
        raise InvalidParameter(
            "a time zone's interval is not one of hours and minutes",
            hint="SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE, or a name: 'Europe/Berlin'.",
        )
    return name


def _no_other_role(read: Reader) -> Command:
    if read.accept("NONE") or read.accept("DEFAULT"):
        return Ignored("SET")
    raise Refused("a session cannot change its role", hint="Log in as the other user.")


def show(read: Reader) -> Command:
    for words, name in (
        (("TIME", "ZONE"), "timezone"),
        (("TRANSACTION", "ISOLATION", "LEVEL"), "transaction_isolation"),
        (("SESSION", "AUTHORIZATION"), "session_authorization"),
    ):
        if read.accept(*words):
            read.expect_end()
            return Show(name)
    name = read.setting()
    read.expect_end()
    return Show(name)


def reset(read: Reader) -> Command:
    if read.accept("ALL"):
        return Reset(None)
    if read.accept("ROLE") or read.accept("SESSION", "AUTHORIZATION"):
        return Ignored("RESET")
    if read.accept("TIME", "ZONE"):
        return Reset("timezone")
    name = read.setting()
    read.expect_end()
    return Reset(name)


def discard(read: Reader) -> Command:
    for what in ("ALL", "PLANS", "SEQUENCES", "TEMPORARY", "TEMP"):
        if read.accept(what):
            read.expect_end()
            return Discard(what)
    raise read.unexpected()
