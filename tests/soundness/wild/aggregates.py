"""Random grouping keys and aggregates."""

from __future__ import annotations

from .expressions import TEXTS, TIMES, Expressions, Scope

PAIRED = ("CORR", "COVAR_POP", "REGR_SLOPE", "REGR_COUNT", "REGR_AVGX", "REGR_R2")


class Aggregates(Expressions):
    """What a grouped SELECT lists."""

    def key(self, scope: Scope) -> str:
        """Most have bins that a domain or a range gives."""
        s = self.rng.choice([s for s in scope if s.table in TEXTS])
        match s.table:
            case "p":
                others = ("'r'", s["g"])
                return self.drawn(
                    lambda: s[self.one(("g", "h", "ch", "k", "b", "d", "w.n"))],
                    lambda: self._moved(s["d"], s["t"], s["tz"]),
                    lambda: self._bucket(s["x"], s["f"], s["q"], s["z"], s["y"], s["k"]),
                    lambda: (
                        f"CASE WHEN {self.condition(scope)} THEN 'q' ELSE {self.one(others)} END"
                    ),
                    lambda: f"({self.condition(scope)})",
                    lambda: f"COALESCE({s['h']}, 'n')",
                    lambda: f"LPAD({s['g']}, 2, 'x')",
                )
            case "w":
                return s[self.one(("label", "kind", "n", "place"))]
            case _:
                return self.drawn(lambda: s["kind"], lambda: f"({self.condition(scope)})")

    def _moved(self, d: str, t: str, tz: str) -> str:
        return self.drawn(
            lambda: (
                f"EXTRACT({self.one(('DOW', 'MONTH', 'DAY', 'WEEK'))} FROM {self.one((d, t, tz))})"
            ),
            lambda: (
                f"TO_CHAR({self.one((d, t))}, '{self.one(('Dy', 'HH24', 'YYYY-MM-DD', 'FMMonth'))}')"
            ),
            lambda: (
                f"DATE_TRUNC('{self.one(('week', 'hour', 'day', 'month'))}', {self.one((d, t, tz))})"
            ),
            lambda: f"{t}::date",
            lambda: f"DATE_TRUNC('day', {t} + INTERVAL '30 minutes')",
        )

    def _bucket(self, x: str, f: str, q: str, z: str, y: str, k: str) -> str:
        return self.one(
            (
                f"WIDTH_BUCKET({x}, 0, 10, 3)",
                f"WIDTH_BUCKET({f}, 0, 1, 3)",
                f"FLOOR({q} / 100000) * 100000",
                f"FLOOR({x} / 2.0) * 2",
                f"FLOOR({f} * 4) / 4",
                f"ROUND({f}::numeric, 1)",
                f"({z} / 10) * 10",
                f"ROUND({y})",
                f"{k} + 1",
                f"{k} * {k}",
            )
        )

    def aggregate(self, scope: Scope) -> str:
        kinds = (self._additive, self._additive, self._spread, self._rank, self._distinct)
        found = self.rng.choice(kinds)(scope)
        if self.rng.random() < 0.15:
            found += f" FILTER (WHERE {self.condition(scope)})"
        return found

    def _additive(self, scope: Scope) -> str:
        return self.drawn(
            lambda: "COUNT(*)",
            lambda: f"SUM({self.number(scope)})",
            lambda: f"SUM({self.number(scope, 1)})",
            lambda: f"SUM({self.number(scope, 0)} * (1 - {self.number(scope, 0)}))",
            lambda: f"AVG({self.number(scope)})",
            lambda: (
                f"COUNT({self.one((self.number(scope), self.text(scope), self.moment(scope)))})"
            ),
        )

    def _spread(self, scope: Scope) -> str:
        return self.drawn(
            lambda: f"{self.one(('VARIANCE', 'STDDEV', 'VAR_POP'))}({self.number(scope, 1)})",
            lambda: f"{self.one(('BOOL_AND', 'BOOL_OR'))}({self.condition(scope)})",
            lambda: f"{self.one(PAIRED)}({self.number(scope, 1)}, {self.number(scope, 0)})",
        )

    def _rank(self, scope: Scope) -> str:
        moments = self.columns(scope, TIMES)
        ordered = self.drawn(
            lambda: self.number(scope, 1),
            lambda: self.text(scope, 0),
            lambda: self.one(moments) if moments else self.number(scope, 0),
            lambda: f"DATE_TRUNC('week', {self.one(moments)})" if moments else self.text(scope, 0),
        )
        way = self.one(("", "", " DESC"))
        return self.drawn(
            lambda: f"{self.one(('MIN', 'MAX', 'MIN', 'MAX', 'MEDIAN'))}({ordered})",
            lambda: (
                f"PERCENTILE_DISC({self.one(('0', '0.1', '0.9', '1'))}) WITHIN GROUP (ORDER BY {ordered}{way})"
            ),
            lambda: f"PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY {self.number(scope, 1)}{way})",
            lambda: f"PERCENTILE_DISC(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY {ordered})",
        )

    def _distinct(self, scope: Scope) -> str:
        return self.drawn(
            lambda: (
                f"COUNT(DISTINCT {self.one((self.number(scope, 1), self.text(scope), self.moment(scope)))})"
            ),
            lambda: f"SUM(DISTINCT {self.number(scope, 1)})",
        )
