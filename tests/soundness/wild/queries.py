"""Random statements over the wild world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from .aggregates import Aggregates
from .expressions import CONSTANTS, NUMBERS, SHORT, Scope, Source

#: Names that dp4sql gives itself, that others take for two names, or that are words of SQL.
NAMES = (
    *("p1", "place", "bin", "k0", "m0", "t1", "b", "g", "c0", "r0", "f0", "u", "one"),
    *('"w.n"', '"_1"', '"select"', '"a b"', '"a""b"', '"p.k"'),
)
FRAMES = (
    "",
    "ROWS 1 PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
    "RANGE BETWEEN 1 PRECEDING AND CURRENT ROW",
    "GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING",
    "ROWS (SELECT COUNT(*) FROM p) PRECEDING",
)
WINDOWED = (
    *("RANK()", "ROW_NUMBER()", "COUNT(*)", "SUM({})", "AVG({})"),
    *("LAG({}, 1)", "NTH_VALUE({}, 2)", "LAST_VALUE({})"),
)


def random_statement(rng: Random, constants: Sequence[str] = CONSTANTS) -> str:
    return Statements(rng, constants).statement()


class Statements(Aggregates):
    """Each SELECT takes its aliases from NAMES, which clash as often as not."""

    def __init__(self, rng: Random, constants: Sequence[str]) -> None:
        super().__init__(rng, constants)
        self._names = iter(rng.sample(NAMES, len(NAMES)))

    def statement(self) -> str:
        kinds: list[tuple[float, Callable[[], str]]] = [
            (10, self.grouped),
            (1.5, self._wrapped),
            (1.5, self._combined),
            (1, self._products),
            (0.5, self._distinct_rows),
            (1, self._with_window),
            (1, self._public),
            (2, self._regrouped),
            (1, self._windowed),
            (0.5, self._answers_combined),
            (0.5, self._with),
        ]
        ((_, draw),) = self.rng.choices(kinds, [weight for weight, _ in kinds])
        return draw()

    def _alias(self) -> str:
        return next(self._names)

    # ------------------------------------------------------------ FROM

    def _from(self) -> tuple[str, Scope]:
        a, b = self._alias(), self._alias()
        p, v, w = Source(a, "p"), Source(b, "v"), Source(b, "w")
        owned = Source(b, self.one(("v", "c", "e")))
        joined = f"{owned.table} {b} JOIN p {a} ON {owned['pid']} = {p['id']}"
        options: list[tuple[float, str, Scope]] = [
            (6, f"p {a}", [p]),
            (3, f"{owned.table} {b}", [owned]),
            (2, joined, [owned, p]),
            (1.5, f"p {a} LEFT JOIN {owned.table} {b} ON {owned['pid']} = {p['id']}", [owned, p]),
            (1, f"v {a} JOIN w {b} ON {a}.kind = {b}.kind", [Source(a, "v"), w]),
            (1, f"w {b} LEFT JOIN c {a} ON {a}.kind = {b}.kind", [Source(a, "c"), w]),
            (1, f"p {a} JOIN w {b} ON {p['g']} = {w['kind']}", [p, w]),
            (
                1.5,
                f'(SELECT i.kind, i.n * 100 AS "p.k" FROM w i) {b} JOIN p ON {b}.kind = p.g',
                [Source("p", "p"), Source(b, "q")],
            ),
            (
                1.5,
                f'(SELECT i.g, i.k * 100 AS "w.n" FROM p i) {b} JOIN w ON {b}.g = w.kind',
                [Source("w", "w"), Source(b, "r")],
            ),
            (0.5, f"p {a} JOIN p {b} ON {p['k']} + 1 = {b}.s - 5", [p, Source(b, "p")]),
            (
                0.5,
                f"v {a} LEFT JOIN p {b} ON {a}.pid + 0 = {b}.id + 0",
                [Source(a, "v"), Source(b, "p")],
            ),
            (0.5, f"p {a} LEFT JOIN w {b} ON UPPER({p['h']}) = UPPER({b}.kind)", [p, w]),
            (
                0.5,
                f"w {b} LEFT JOIN p {a} ON DATE_TRUNC('month', {p['t']}) = DATE_TRUNC('month', {b}.day)",
                [p, w],
            ),
            (0.5, f"p {a} CROSS JOIN generate_series(1, 3) s(n)", [p]),
            (0.5, f"p {a} JOIN p {b} ON {p['k']} = {b}.s", [p, Source(b, "p")]),
            (0.5, f"p {a} JOIN (VALUES (0, 'a'), (3, 'á')) l (i, x) ON {p['k']} = l.i", [p]),
            (
                1,
                f"p {a} LEFT JOIN (SELECT pid, SUM(score) AS score, MAX(amt) AS amt FROM v GROUP BY pid) {b} "
                f"ON {b}.pid = {p['id']}",
                [v, p],
            ),
            (
                0.5,
                f"(SELECT DISTINCT ON (label) * FROM w ORDER BY label, n) {b} JOIN p {a} ON {p['g']} = {b}.kind",
                [p, w],
            ),
        ]
        (found,) = self.rng.choices(options, [weight for weight, *_ in options])
        return found[1], found[2]

    def _where(self, scope: Scope, share: float = 0.5) -> str:
        return f" WHERE {self.condition(scope, 2)}" if self.rng.random() < share else ""

    # ------------------------------------------------------------ SELECT

    def grouped(self) -> str:
        return self._select()[0]

    def _select(self, keyed: bool = False) -> tuple[str, list[str], list[str]]:
        """With the names of its keys and of its aggregates."""
        source, scope = self._from()
        keys = list(dict.fromkeys(self.key(scope) for _ in range(self.rng.choice((0, 0, 1, 1, 2)))))
        if keyed and not keys:
            keys = [self.key(scope)]
        aggregates = [self.aggregate(scope) for _ in range(self.rng.choice((1, 1, 2, 3)))]
        names = self._outputs(len(keys) + len(aggregates))
        items = [f"{e} AS {n}" for e, n in zip((*keys, *aggregates), names, strict=True)]
        sql = f"SELECT {', '.join(items)} FROM {source}{self._where(scope)}{self._grouping(keys)}"
        return sql, names[: len(keys)], names[len(keys) :]

    def _outputs(self, many: int) -> list[str]:
        if self.rng.random() < 0.5:
            return [f"o{i}" for i in range(many)]
        return self.rng.sample(NAMES, many)

    def _grouping(self, keys: list[str]) -> str:
        if not keys:
            return ""
        listed = ", ".join(keys)
        sets = (f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS (({listed}), ())")
        return f" GROUP BY {listed if self.rng.random() < 0.7 else self.one(sets)}"

    def _products(self) -> str:
        """Several sums of products over one table, which Postgres may multiply once a group."""
        s = Source(self._alias(), self.one(("p", "p", "v")))
        columns = self.rng.sample(("k", "s", "w.n", "x", "y", "amt", "score"), 7)
        a, b, *more = [s[c] for c in columns if c in NUMBERS[s.table]]
        c = more[0] if more else b
        sums = (
            *(f"SUM({a} * (1 - {b}))", f"SUM({a} * (1 - {b}) * (1 + {c}))", f"SUM({b} * {c})"),
            *(f"SUM({a} + {b})", f"AVG({a} * {b})", f"SUM({b})", "COUNT(*)"),
        )
        key = self.key([s])
        items = ", ".join(self.rng.sample(sums, 4))
        where = self._where([s], 0.3)
        if self.rng.random() < 0.5:
            return f"SELECT {items} FROM {s.table} {s.alias}{where}"
        return f"SELECT {key} AS o, {items} FROM {s.table} {s.alias}{where} GROUP BY {key}"

    def _distinct_rows(self) -> str:
        source, scope = self._from()
        keys = list(dict.fromkeys(self.key(scope) for _ in range(self.rng.choice((1, 2)))))
        return f"SELECT DISTINCT {', '.join(keys)} FROM {source}{self._where(scope)}"

    # ------------------------------------------------------------ over released rows

    def _regrouped(self) -> str:
        inner, keys, (a, *_) = self._select(keyed=True)
        return self.drawn(
            lambda: f"SELECT SUM(o.{a}) AS t, AVG(o.{a}) AS m FROM ({inner}) o",
            lambda: f"SELECT o.{a}, COUNT(*) AS n FROM ({inner}) o GROUP BY o.{a}",
            lambda: f"SELECT o.{keys[0]}, MAX(o.{a}) AS t FROM ({inner}) o GROUP BY o.{keys[0]}",
        )

    def _windowed(self) -> str:
        inner, keys, (a, *_) = self._select(keyed=True)
        over = self._over(f"o.{a}", f"o.{keys[0]}", f"o.{a}")
        return f"SELECT o.{keys[0]}, {over} AS r FROM ({inner}) o"

    def _wrapped(self) -> str:
        inner, keys, (a, *_) = self._select(keyed=True)
        return self.drawn(
            lambda: f"{inner} HAVING COUNT(*) > {self.one(('0', '1'))}",
            lambda: f"{inner} ORDER BY {self.one(('1', '2 DESC'))} LIMIT 3",
            lambda: f"SELECT * FROM ({inner}) o WHERE o.{a} IS NOT NULL ORDER BY 1",
            lambda: f"SELECT o.{a} AS {keys[0]}, (SELECT COUNT(*) FROM p) AS n FROM ({inner}) o",
        )

    def _over(self, value: str, partition: str, order: str) -> str:
        by = self.one(("", f"PARTITION BY {partition} "))
        way = self.one(("", " DESC", " NULLS FIRST"))
        return f"{self.one(WINDOWED).format(value)} OVER ({by}ORDER BY {order}{way} {self.one(FRAMES)})"

    # ------------------------------------------------------------ with public rows

    def _with_window(self) -> str:
        """A window over public rows, met by private ones."""
        a, b = self._alias(), self._alias()
        p, w = Source(a, "p"), Source("i", "w")
        over = self._over("i.n", "i.label", "i.n")
        name = self.one(NAMES)
        inner = f"(SELECT i.kind, i.n, {over} AS {name} FROM w i) {b}"
        sum = self.one(("COUNT(*)", f"SUM({self.number([p], 1)})"))
        where = f"{p['k']} < {b}.{name}" if self.rng.random() < 0.5 else self.condition([p])
        assert w.table == "w"
        return f"SELECT {sum} AS n FROM p {a} JOIN {inner} ON {b}.kind = {p['g']} WHERE {where}"

    def _public(self) -> str:
        scope = [Source(self._alias(), "w")]
        w = scope[0]
        items = [
            self.number(scope),
            self.text(scope),
            self.moment(scope),
            self._over(w["n"], w["label"], w["n"]),
        ]
        names = self.rng.sample(NAMES, len(items))
        listed = ", ".join(f"{e} AS {n}" for e, n in zip(items, names, strict=True))
        return f"SELECT {listed} FROM w {w.alias}{self._where(scope)} ORDER BY 1, 2, 3, 4"

    # ------------------------------------------------------------ sets, WITH

    def _combined(self) -> str:
        """Rows of two tables, counted together."""
        name, parts = self.one(NAMES), []
        for table in (self.one(("p", "v", "c", "e")), self.one(("p", "v", "e", "w"))):
            scope = [Source(self._alias(), table)]
            item = self.one((self.one(NUMBERS[table]), "*"))
            number = scope[0][item] if item != "*" else self.number(scope, 1)
            parts.append(
                f"SELECT {number} AS {name} FROM {table} {scope[0].alias}{self._where(scope, 0.3)}"
            )
        word = self.one(("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL"))
        outer = self.one(
            (
                "COUNT(*)",
                f"COUNT(DISTINCT q.{name})",
                f"SUM(LEAST(GREATEST(q.{name}, -3), 4))",
                f"MAX(q.{name})",
            )
        )
        return f"SELECT {outer} AS n FROM ({f' {word} '.join(parts)}) q"

    def _answers_combined(self) -> str:
        word = self.one(("UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
        return f"SELECT COUNT(*) AS n FROM p {word} SELECT {self.one(SHORT[:4])} {word} SELECT COUNT(*) FROM v"

    def _with(self) -> str:
        inner, keys, (a, *_) = self._select(keyed=True)
        name = self.one(("q", "p", '"w.n"', "bins"))
        joined = f"{name} x JOIN {name} y ON x.{keys[0]} = y.{keys[0]}"
        return f"WITH {name} AS ({inner}) SELECT x.{keys[0]}, y.{a} FROM {joined}"
