"""The codec, the statements' grammar and the parameters' decoders against bytes that a fuzzer bends.

python -m tests.wire.fuzz [--seconds 60]        skipped where atheris is not installed

Whatever arrives, what comes out is an event or an error that a client may see; never another exception,
and never more memory than the bytes are worth (libFuzzer stops at 1 GB or 10 seconds an input).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import sys
from dataclasses import replace


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    seconds = parser.parse_args().seconds
    if importlib.util.find_spec("atheris") is None:
        print("fuzz: skipped, atheris is not installed (pip install atheris)")
        return
    _fuzz(seconds)


def _fuzz(seconds: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["dp4sql.wire", "dp4sql.session", "dp4sql.sql.lexer"]):
        from dp4sql.algebra.types import Type
        from dp4sql.errors import Dp4sqlError, InvalidEncoding
        from dp4sql.session.grammar import parse
        from dp4sql.sql import lexer
        from dp4sql.wire import parameters
        from dp4sql.wire.connection import Connection, Phase

    kinds = sorted(parameters._BINARY_IN)

    def stream(data: bytes, phase: Phase) -> None:
        connection = Connection(limit=1 << 16)
        connection.phase = phase
        with contextlib.suppress(Dp4sqlError):
            for start in range(0, len(data), 7):
                connection.receive(data[start : start + 7])
                while connection.unread:
                    try:
                        if connection.next_event() is None:
                            break
                    except InvalidEncoding as error:
                        connection.fail(error, b"I")

    def one(data: bytes) -> None:
        stream(data, Phase.OPENING)
        stream(data, Phase.READY)
        with contextlib.suppress(Dp4sqlError):
            for statement in lexer._statements(data.decode(errors="replace")):
                parse(statement)
        if data:
            kind = Type(kinds[data[0] % len(kinds)])
            for code, array in itertools.product((0, 1), (False, True)):
                with contextlib.suppress(Dp4sqlError):
                    parameters.decode(replace(kind, array=array), code, data[1:])

    limits = ["-timeout=10", "-rss_limit_mb=1024", "-max_len=4096"]
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", *limits], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
