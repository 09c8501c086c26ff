"""Random expressions over tables of the wild world, by type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Source:
    """A table of the world in FROM, under an alias as SQL writes it."""

    alias: str
    table: str

    def __getitem__(self, column: str) -> str:
        name = column if column.isidentifier() else f'"{column}"'
        return f"{self.alias}.{name}"


Scope: TypeAlias = Sequence[Source]

NUMBERS = {
    "p": ("k", "x", "y", "z", "q", "u", "nu", "f", "r", "s", "w.n"),
    "v": ("score", "amt"),
    "c": ("cost", "place"),
    "e": ("cost", "place"),
    "w": ("n", "place"),
    "q": ("p.k",),
    "r": ("w.n",),
}
"""Of subqueries, too, whose columns have the names that dp4sql gives to those of a table."""
TEXTS = {
    "p": ("g", "h", "ch", "note"),
    "v": ("kind",),
    "c": ("kind", "cid"),
    "e": ("kind",),
    "w": ("kind", "label"),
}
TIMES = {"p": ("d", "t", "tz"), "w": ("day",)}
SHORT = ("0", "1", "3", "-1", "0.5", "1.5", "150", "2147483648", "9223372036854775807")
CONSTANTS = (
    *SHORT,
    *("1e-40", "1e300", "99999999999999999999999999999999999999"),
    *("0.00000000000000000000000000000000000001", "1.00000000000000000000000000000001"),
    "12345678901234567890.1234567890123456789",
)
"""Long ones have more digits than any exact type of DuckDB, which compares them in double precision."""
LITERALS = (
    "'a'",
    "''",
    "'a '",
    "'A'",
    "'á'",
    "'%'",
    "'\\'",
    "'☃'",
    "'1e400'",
    "'zz'",
    "'2020-01-05'",
)
MOMENTS = (
    "DATE '2020-01-05'",
    "DATE '0001-01-01'",
    "DATE '9999-12-31'",
    "TIMESTAMP '2020-01-03 12:00:00'",
)
INTERVALS = (
    "1 day",
    "1 month",
    "-100 years",
    "2147483647 days",
    "290000 years",
    "3 hours",
    "1 second",
)
PARTS = ("YEAR", "MONTH", "DAY", "DOW", "WEEK", "QUARTER", "EPOCH", "DOY", "ISOYEAR", "HOUR")
UNITS = ("day", "month", "week", "year", "quarter", "hour", "decade", "century")
CASTS = (
    "integer",
    "bigint",
    "smallint",
    "numeric(8,1)",
    "numeric(38,30)",
    "numeric",
    "double precision",
    "real",
)
#: Twice in place of each letter of a long text it is more than engines hold.
GROWN = "x" * 200
LIKES = ("'a%'", "'_'", "'%\\%'", "'%á'")
PATTERNS = ("'^a'", "'a+b?$'", "'(a|á)*'", "'[a-z]{1,3}'", "'.*'")  # fmt: skip


class Expressions:
    """`depth` bounds how far they are nested."""

    def __init__(self, rng: Random, constants: Sequence[str] = CONSTANTS) -> None:
        self.rng, self.constants = rng, constants
        self._fresh = 0

    def one(self, of: Sequence[str]) -> str:
        return self.rng.choice(of)

    def drawn(self, *of: Callable[[], str]) -> str:
        return self.rng.choice(of)()

    def columns(self, scope: Scope, among: dict[str, tuple[str, ...]]) -> list[str]:
        return [s[c] for s in scope for c in among.get(s.table, ())]

    # ------------------------------------------------------------ numbers

    def number(self, scope: Scope, depth: int = 2) -> str:
        columns = self.columns(scope, NUMBERS)
        if depth == 0 or self.rng.random() < 0.3:
            return self.one(columns)
        kinds = (self._arithmetic, self._conditional, self._function, self._rounded, self._counted)
        return self.rng.choice(kinds)(scope, depth - 1)

    def _arithmetic(self, scope: Scope, depth: int) -> str:
        a, b = self.number(scope, depth), self.number(scope, depth)
        return self.drawn(
            lambda: f"{a} * {b}",
            lambda: f"{a} * (1 - {b})",
            lambda: f"{a} * (1 + {b}) * (2 - {b})",
            lambda: f"{a} + {b}",
            lambda: f"{a} {self.one('+-*')} {self.one(self.constants)}",
            lambda: f"{a} / {self.one(('2', '4.0', '3', b))}",
            lambda: f"{a} % {self.one(('3', b))}",
            lambda: f"- {a}",
        )

    def _conditional(self, scope: Scope, depth: int) -> str:
        a, b = self.number(scope, depth), self.number(scope, depth)
        return self.drawn(
            lambda: (
                f"CASE WHEN {self.condition(scope, depth)} THEN {a} ELSE {self.one(('0', b, 'NULL'))} END"
            ),
            lambda: f"CASE WHEN {self.condition(scope, depth)} THEN {a} END",
            lambda: f"COALESCE({a}, {self.one(('0', '7', b))})",
            lambda: f"NULLIF({a}, {self.one(('0', b))})",
            lambda: f"LEAST(GREATEST({a}, -3), 4)",
            lambda: f"{self.one(('LEAST', 'GREATEST'))}({a}, {b})",
        )

    def _function(self, scope: Scope, depth: int) -> str:
        a = self.number(scope, depth)
        return self.drawn(
            lambda: f"{self.one(('ABS', 'SIGN', 'SQRT', 'LN', 'EXP', 'LOG'))}({a})",
            lambda: f"POWER({a}, {self.one(('2', '0.5', '-1'))})",
            lambda: f"WIDTH_BUCKET({a}, 0, 10, 4)",
            lambda: f"({a})::{self.one(CASTS)}",
            lambda: f"CAST({self.text(scope, depth)} AS {self.one(CASTS[:6])})",
        )

    def _rounded(self, scope: Scope, depth: int) -> str:
        a = self.number(scope, depth)
        return self.drawn(
            lambda: f"{self.one(('ROUND', 'FLOOR', 'CEIL', 'TRUNC'))}({a})",
            lambda: f"ROUND({a}::numeric, {self.one(('1', '2', '-1'))})",
        )

    def _counted(self, scope: Scope, depth: int) -> str:
        """What is counted in texts and moments."""
        text, moment = self.text(scope, depth), self.moment(scope, depth)
        return self.drawn(
            lambda: f"LENGTH({text})",
            lambda: f"ASCII({text})",
            lambda: f"POSITION('a' IN {text})",
            lambda: f"EXTRACT({self.one(PARTS)} FROM {moment})",
            lambda: f"EXTRACT(EPOCH FROM {moment} - {self.moment(scope, depth)})",
            lambda: f"EXTRACT(YEAR FROM AGE({moment}, {self.moment(scope, depth)}))",
        )

    # ------------------------------------------------------------ texts

    def text(self, scope: Scope, depth: int = 1) -> str:
        columns = self.columns(scope, TEXTS) or ["'a'"]
        a = self.one(columns)
        if depth <= 0 or self.rng.random() < 0.4:
            return a
        b = self.text(scope, depth - 1)
        return self.drawn(
            lambda: f"{self.one(('LPAD', 'RPAD'))}({b}, {self.one(('0', '1', '3', '-1'))}, 'xy')",
            lambda: f"SPLIT_PART({b}, 'a', {self.one(('1', '2', '-1'))})",
            lambda: f"TRANSLATE({b}, 'ab', 'b')",
            lambda: f"CONCAT_WS('-', {a}, {b}, {self.number(scope, 0)})",
            lambda: f"({a} || {b})",
            lambda: f"REPLACE({b}, 'a', 'bb')",
            lambda: f"REPLACE(REPLACE({b}, 'x', '{GROWN}'), 'x', '{GROWN}')",
            lambda: f"{self.one(('UPPER', 'LOWER', 'TRIM', 'REVERSE'))}({b})",
            lambda: f"COALESCE({b}, {a})",
            lambda: (
                f"{self.one(('LEFT', 'RIGHT'))}({b}, {self.one(('0', '1', '-1', '2147483647'))})"
            ),
            lambda: f"SUBSTRING({b} FROM {self.number(scope, 0)}::integer FOR 2)",
            lambda: (
                f"TO_CHAR({self.moment(scope, 0)}, '{self.one(('YYYY-MM', 'Mon YY', 'IYYY-IW', 'DDD'))}')"
            ),
            lambda: f"CASE WHEN {self.condition(scope, 0)} THEN {b} END",
            lambda: f"({b})::varchar({self.one(('1', '3'))})",
            lambda: f"({self.number(scope, 0)})::text",
        )

    # ------------------------------------------------------------ moments

    def moment(self, scope: Scope, depth: int = 1) -> str:
        columns = self.columns(scope, TIMES)
        if not columns:
            return self.one(MOMENTS)
        a = self.one(columns)
        if depth <= 0 or self.rng.random() < 0.4:
            return a
        b = self.moment(scope, depth - 1)
        return self.drawn(
            lambda: f"({a} {self.one('+-')} INTERVAL '{self.one(INTERVALS)}')",
            lambda: f"DATE_TRUNC('{self.one(UNITS)}', {b})",
            lambda: f"({b})::{self.one(('date', 'timestamp'))}",
            lambda: (
                f"MAKE_DATE({self.number(scope, 0)}::integer, 1, {self.number(scope, 0)}::integer)"
            ),
            lambda: f"CAST({self.text(scope, 0)} AS date)",
            lambda: f"LEAST({b}, {self.one(MOMENTS[:3])})",
            lambda: f"COALESCE({b}, {a})",
            lambda: f"({a})::date + {self.one(('1', '99999999', self.number(scope, 0)))}",
            lambda: f"{a} AT TIME ZONE 'UTC'",
            lambda: "CURRENT_DATE",
        )

    # ------------------------------------------------------------ conditions

    def condition(self, scope: Scope, depth: int = 1) -> str:
        if depth > 0 and self.rng.random() < 0.15:
            a, b = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return self.drawn(
                lambda: f"({a} OR {b})", lambda: f"({a} AND {b})", lambda: f"NOT ({a})"
            )
        kinds = (
            self._compared,
            self._compared,
            self._matched,
            self._timed,
            self._listed,
            self._exists,
        )
        return self.rng.choice(kinds)(scope, max(0, depth - 1))  # fmt: skip

    def _compared(self, scope: Scope, depth: int) -> str:
        a, b = self.number(scope, depth), self.number(scope, depth)
        return self.drawn(
            lambda: f"{a} {self.one(('>', '<', '=', '>=', '<>'))} {self.one(self.constants)}",
            lambda: f"{a} {self.one(('>', '<', '='))} {b}",
            lambda: f"{a} BETWEEN {self.one(self.constants)} AND {self.one(self.constants)}",
            lambda: f"{a} IS {self.one(('', 'NOT '))}NULL",
            lambda: f"{a} IS DISTINCT FROM {b}",
            lambda: f"({a}, {b}) < (2, 3)",
        )

    def _matched(self, scope: Scope, depth: int) -> str:
        a, b = self.text(scope, depth), self.text(scope, 0)
        return self.drawn(
            lambda: f"{a} {self.one(('=', '<', '<>'))} {self.one((b, *LITERALS))}",
            lambda: f"{a} {self.one(('LIKE', 'ILIKE', 'NOT LIKE'))} {self.one(LIKES)}",
            lambda: f"{a} {self.one(('~', '~*', '!~', 'SIMILAR TO'))} {self.one(PATTERNS)}",
            lambda: f"{a} IN ('a', 'b ', 'á')",
        )

    def _timed(self, scope: Scope, depth: int) -> str:
        a, b = self.moment(scope, depth), self.moment(scope, 0)
        return self.drawn(
            lambda: f"{a} {self.one(('<', '>', '='))} {self.one((b, *MOMENTS))}",
            lambda: f"{a} - {b} > INTERVAL '{self.one(INTERVALS)}'",
            lambda: f"({a}, {b}) OVERLAPS ({b}, INTERVAL '1 day')",
            lambda: f"TO_CHAR({a}, 'YYYY') = '2020'",
        )

    def _listed(self, scope: Scope, depth: int) -> str:
        a = self.number(scope, depth)
        long = ", ".join(self.rng.sample(self.constants, 3))
        flags = [s["b"] for s in scope if s.table == "p"]
        return self.drawn(
            lambda: f"{a} {self.one(('', 'NOT '))}IN ({long})",
            lambda: f"{a} = ANY(ARRAY[1, 2])",
            lambda: f"{a} <> ALL(ARRAY[1, NULL])",
            lambda: f"({self.number(scope, 0)}, {self.text(scope, 0)}) IN ((1, 'a'), (2, 'b'))",
            lambda: self.one(flags) if flags else f"{a} > 1",
        )

    def _exists(self, scope: Scope, depth: int) -> str:
        persons = [s for s in scope if s.table == "p"]
        if not persons:
            return self._compared(scope, depth)
        p, s = self.rng.choice(persons), self._name()
        id = p["id"]
        return self.drawn(
            lambda: f"EXISTS (SELECT 1 FROM v {s} WHERE {s}.pid = {id} AND {s}.score > 1)",
            lambda: f"NOT EXISTS (SELECT 1 FROM c {s} WHERE {s}.pid = {id} AND {s}.kind = 'a')",
            lambda: f"{id} IN (SELECT {s}.pid FROM e {s} WHERE {s}.cost > 2)",
            lambda: f"{p['g']} IN (SELECT {s}.kind FROM w {s})",
            lambda: f"(SELECT COUNT(*) FROM v {s} WHERE {s}.pid = {id}) > 1",
            lambda: f"COALESCE((SELECT SUM({s}.cost) FROM e {s} WHERE {s}.pid = {id}), 0) > 3",
            lambda: f"EXISTS (SELECT 1 FROM p {s} WHERE {s}.k = {p['k']} AND {s}.x > 5)",
            lambda: f"{p['k']} IN (SELECT {s}.k FROM p {s} WHERE {s}.x > 0)",
            lambda: f"{p['x']} > (SELECT {self.one(('AVG', 'MAX', 'SUM'))}({s}.n) FROM w {s})",
            lambda: f"{p['x']} < (SELECT {self.one(('AVG', 'COUNT', 'MIN'))}({s}.x) FROM p {s})",
        )

    def _name(self) -> str:
        self._fresh += 1
        return f"s{self._fresh}"
