"""BEGIN, COMMIT, ROLLBACK and savepoints."""

from __future__ import annotations

from typing import Final

from dp4sql.errors import Unsupported
from dp4sql.session.commands import Begin, Command, Commit, Release, Rollback, RollbackTo
from dp4sql.session.reader import Reader


def begin(read: Reader) -> Command:
    read.accept("WORK") or read.accept("TRANSACTION")
    return Begin(modes(read))


def start(read: Reader) -> Command:
    read.expect("TRANSACTION")
    return Begin(modes(read))


def modes(read: Reader) -> dict[str, str]:
    """ISOLATION LEVEL x, READ WRITE | ONLY, [NOT] DEFERRABLE. Only the level is kept: all only read."""
    found: dict[str, str] = {}
    while not read.at_end():
        if read.accept("ISOLATION", "LEVEL"):
            found["transaction_isolation"] = _level(read)
        elif not any(read.accept(*mode.split()) for mode in _ACCESS_MODES):
            raise read.unexpected()
        read.accept(",")
    return found


_ACCESS_MODES: Final = ("READ WRITE", "READ ONLY", "DEFERRABLE", "NOT DEFERRABLE")
_LEVELS: Final = ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


def _level(read: Reader) -> str:
    for level in _LEVELS:
        if read.accept(*level.split()):
            return level.lower()
    raise read.unexpected()


def commit(read: Reader) -> Command:
    if read.accept("PREPARED"):
        raise two_phase()
    return Commit(_chain(read))


def rollback(read: Reader) -> Command:
    if read.accept("PREPARED"):
        raise two_phase()
    read.accept("WORK") or read.accept("TRANSACTION")
    if read.accept("TO"):
        read.accept("SAVEPOINT")
        return RollbackTo(read.last_name())
    return Rollback(_chain(read))


def _chain(read: Reader) -> bool:
    read.accept("WORK") or read.accept("TRANSACTION")
    chain = read.accept("AND", "CHAIN")
    chain or read.accept("AND", "NO", "CHAIN")
    read.expect_end()
    return chain


def two_phase() -> Unsupported:
    return Unsupported("two-phase commit is not supported", hint="Nothing is written here.")


def release(read: Reader) -> Command:
    read.accept("SAVEPOINT")
    return Release(read.last_name())
