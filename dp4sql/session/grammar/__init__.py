"""Statements to commands, by their tokens. What would change the database is refused here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from dp4sql.errors import ReadOnly, Refused, Unsupported
from dp4sql.session.commands import (
    ALL,
    CloseCursor,
    Command,
    Copy,
    Deallocate,
    Declare,
    ExecutePrepared,
    Explain,
    Fetch,
    Ignored,
    Prepare,
    Savepoint,
    Select,
)
from dp4sql.session.grammar import settings, transactions
from dp4sql.session.reader import Reader
from dp4sql.sql.lexer import Statement


def parse(statement: Statement) -> Command:
    """What `statement` asks of the session; ReadOnly for what would write."""
    first = statement.tokens[0]
    if first.text == "(":
        return Select(statement)
    known = _COMMANDS.get(first.text.upper()) if first.kind == "word" else None
    if known is None:
        return _refuse(statement)
    read = Reader(statement)
    read.take()
    return known(read)


_WRITES: Final = frozenset(
    {
        *("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "CREATE", "ALTER", "DROP", "GRANT"),
        *("REVOKE", "COMMENT", "REINDEX", "VACUUM", "ANALYZE", "CLUSTER", "REFRESH", "IMPORT"),
        *("SECURITY", "CALL", "DO", "REASSIGN", "CHECKPOINT", "LOAD"),
    }
)


def _refuse(statement: Statement) -> Command:
    word = statement.tokens[0].text
    if word.upper() in _WRITES:
        raise _read_only(word.upper())
    raise Reader(statement).unexpected()


def _read_only(what: str) -> ReadOnly:
    return ReadOnly(
        f"cannot execute {what} in a read-only transaction",
        hint="dp4sql answers queries; run what changes things on the database itself.",
    )


# ------------------------------------------------------------------ EXPLAIN, PREPARE


def _explain(read: Reader) -> Command:
    options = read.options() if read.accept("(") else {}
    for word in ("ANALYZE", "ANALYSE", "VERBOSE"):
        if read.accept(word):
            options[word.lower()] = "on"
    if _on(options.get("analyze", "off")) or _on(options.get("analyse", "off")):
        raise Unsupported(
            "EXPLAIN ANALYZE would run the query and show how many private rows it met",
            hint="EXPLAIN alone shows the derivation, the noise and the price, free of charge.",
        )
    format = options.get("format", "text").lower()
    if format not in ("text", "json"):
        raise Unsupported(f"EXPLAIN has no format {format}", hint="FORMAT TEXT or FORMAT JSON.")
    return Explain(_query(read), "json" if format == "json" else "text")


def _on(value: str) -> bool:
    return value.lower() not in ("off", "false", "0")


def _query(read: Reader) -> Statement:
    """The rest of the statement, which has to be a query."""
    rest = read.rest()
    if not rest.tokens:
        raise read.unexpected()
    if not isinstance(parse(rest), Select):
        raise Unsupported("only queries can stand here", hint="It starts with SELECT or WITH.")
    return rest


def _prepare(read: Reader) -> Command:
    if read.accept("TRANSACTION"):
        raise transactions.two_phase()
    name = read.name()
    types = tuple(read.list_in_brackets()) if read.accept("(") else ()
    read.expect("AS")
    return Prepare(name, types, _query(read))


def _execute(read: Reader) -> Command:
    name = read.name()
    arguments = tuple(read.constants()) if read.accept("(") else ()
    read.expect_end()
    return ExecutePrepared(name, arguments)


def _deallocate(read: Reader) -> Command:
    read.accept("PREPARE")
    return Deallocate(None if read.accept("ALL") else read.last_name())


# ------------------------------------------------------------------ cursors


def _declare(read: Reader) -> Command:
    name = read.name()
    while read.accept_any("BINARY", "INSENSITIVE", "ASENSITIVE", "SCROLL", "NO"):
        pass
    read.expect("CURSOR")
    hold = read.accept("WITH", "HOLD")
    hold or read.accept("WITHOUT", "HOLD")
    read.expect("FOR")
    return Declare(name, hold, _query(read))


def _fetch(read: Reader) -> Command:
    return _fetched(read, move=False)


def _move(read: Reader) -> Command:
    return _fetched(read, move=True)


def _fetched(read: Reader, *, move: bool) -> Fetch:
    kind, count = _direction(read)
    read.accept("FROM") or read.accept("IN")
    return Fetch(read.last_name(), kind, count, move)


def _direction(read: Reader) -> tuple[Literal["forward", "absolute", "relative"], int]:
    for word, (kind, count) in _PLACES.items():
        if read.accept(word):
            return kind, count
    if read.accept("ABSOLUTE"):
        return "absolute", read.integer()
    if read.accept("RELATIVE"):
        return "relative", read.integer()
    sign = -1 if read.accept("BACKWARD") else 1
    sign == -1 or read.accept("FORWARD")
    if read.accept("ALL"):
        return "forward", sign * ALL
    return "forward", sign * (read.integer() if read.at_integer() else 1)


_PLACES: Final[dict[str, tuple[Literal["forward", "absolute"], int]]] = {
    "NEXT": ("forward", 1),
    "PRIOR": ("forward", -1),
    "FIRST": ("absolute", 1),
    "LAST": ("absolute", -1),
}


def _close(read: Reader) -> Command:
    return CloseCursor(None if read.accept("ALL") else read.last_name())


# ------------------------------------------------------------------ COPY


def _copy(read: Reader) -> Command:
    if not read.accept("("):
        return _copy_of_a_table(read)
    query = read.in_brackets()
    if not isinstance(parse(query), Select):
        raise ReadOnly("COPY can only take the rows of a query")
    read.expect("TO")
    _only_stdout(read)
    read.accept("WITH")
    options = read.options() if read.accept("(") else _old_options(read)
    read.expect_end()
    return Copy(query, options)


def _copy_of_a_table(read: Reader) -> Command:
    words = [token.text.upper() for token in read.rest().tokens]
    if "FROM" in words:
        raise _read_only("COPY FROM")
    raise Refused(
        "COPY of a table would release its rows",
        hint="COPY (SELECT count(*) FROM ...) TO STDOUT copies an answer.",
    )


def _only_stdout(read: Reader) -> None:
    # TO STDIN is the same to Postgres, and what PHP writes.
    if not read.accept_any("STDOUT", "STDIN"):
        raise Refused("COPY to a file or program is not allowed", hint="COPY ... TO STDOUT")


def _old_options(read: Reader) -> dict[str, str]:
    """The syntax before Postgres 9: BINARY, CSV HEADER, DELIMITER AS 'x', NULL AS 'x' ..."""
    options: dict[str, str] = {}
    while not read.at_end():
        if word := read.accept_any("BINARY", "CSV"):
            options["format"] = word.lower()
        elif read.accept("HEADER"):
            options["header"] = "on"
        elif read.accept("FORCE", "QUOTE"):
            names = ["*" if read.accept("*") else read.name()]
            while read.accept(","):
                names.append(read.name())
            options["force_quote"] = ",".join(names)
        elif word := read.accept_any("DELIMITER", "NULL", "QUOTE", "ESCAPE"):
            read.accept("AS")
            options[word.lower()] = read.text()
        else:
            raise read.unexpected()
    return options


def _lock(read: Reader) -> Command:
    """pg_dump locks what it reads against changes of the schema, of which there are none."""
    words = [token.text.upper() for token in read.rest().tokens]
    if words[-3:] != ["ACCESS", "SHARE", "MODE"]:
        raise _read_only("LOCK TABLE")
    return Ignored("LOCK TABLE")


def _ignored(tag: str) -> Callable[[Reader], Command]:
    return lambda read: Ignored(tag)


def _select(read: Reader) -> Command:
    return Select(read.statement)


_COMMANDS: Final[dict[str, Callable[[Reader], Command]]] = {
    "SELECT": _select,
    "WITH": _select,
    "VALUES": _select,
    "TABLE": _select,
    "BEGIN": transactions.begin,
    "START": transactions.start,
    "COMMIT": transactions.commit,
    "END": transactions.commit,
    "ROLLBACK": transactions.rollback,
    "ABORT": transactions.rollback,
    "SAVEPOINT": lambda read: Savepoint(read.last_name()),
    "RELEASE": transactions.release,
    "SET": settings.set_,
    "SHOW": settings.show,
    "RESET": settings.reset,
    "DISCARD": settings.discard,
    "EXPLAIN": _explain,
    "PREPARE": _prepare,
    "EXECUTE": _execute,
    "DEALLOCATE": _deallocate,
    "DECLARE": _declare,
    "FETCH": _fetch,
    "MOVE": _move,
    "CLOSE": _close,
    "COPY": _copy,
    "LOCK": _lock,
    "LISTEN": _ignored("LISTEN"),
    "UNLISTEN": _ignored("UNLISTEN"),
    "NOTIFY": _ignored("NOTIFY"),
}
