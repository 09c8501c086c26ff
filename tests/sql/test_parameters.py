"""$1, $2 and what looks like them: sqlglot takes `$1,$` for the start of a text in dollar quotes."""

from __future__ import annotations

import pytest

from dp4sql.errors import Dp4sqlError
from dp4sql.sql.parse import parse


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT a IN ($1,$2)", "SELECT a IN ($1, $2)"),
        ("SELECT $1+$2||$3", "SELECT $1 + $2 || $3"),
        ("SELECT f($1,$2,$1,$3)", "SELECT F($1, $2, $1, $3)"),
        ("SELECT $1::int,$2::text", "SELECT CAST($1 AS INT), CAST($2 AS TEXT)"),
        ("SELECT $1,'$2,$3'", "SELECT $1, '$2,$3'"),
        ('SELECT $1,"$2,$3"', 'SELECT $1, "$2,$3"'),
        ("SELECT $$ $1,$2 $$, $1", "SELECT ' $1,$2 ', $1"),
        ("SELECT $a$ $1,$2 $a$, $1", "SELECT ' $1,$2 ', $1"),
        ("SELECT a$1,$1", "SELECT a$1, $1"),
        ("SELECT $1 -- $2,$3\n", "SELECT $1 /* $2,$3 */"),
        ("SELECT $1 /* $2,$3 */", "SELECT $1 /* $2,$3 */"),
    ],
)
def test_parameters_are_told_from_what_looks_like_them(sql: str, read: str) -> None:
    assert parse(sql).sql("postgres") == read


@pytest.mark.parametrize(
    ("sql", "state", "position"),
    [
        ("SELECT @1", "0A000", 8),
        ("SELECT $1, @ 1", "0A000", 12),
        ("SELECT $1,$2 FROM FROM", "42601", 19),
        ("SELECT $1,$2, 'x", "42601", 15),
    ],
)
def test_errors_point_into_the_text_as_it_was_sent(sql: str, state: str, position: int) -> None:
    with pytest.raises(Dp4sqlError) as refused:
        parse(sql)
    assert (refused.value.sqlstate, refused.value.position) == (state, position)
