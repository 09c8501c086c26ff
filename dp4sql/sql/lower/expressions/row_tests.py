"""Rows in brackets: (a, b) = (1, 2), (a, b) < (c, d), (a, b) IN ((1, 2), (3, 4)), and OVERLAPS of two spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from dp4sql.algebra.expr import Call, Case, Expr, Lit, conjunction
from dp4sql.algebra.types import BOOLEAN, TIMES, UNKNOWN
from dp4sql.errors import SyntaxError_, Unsupported
from dp4sql.sql.lower.expressions.operators import COMPARISONS
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.expressions import Expressions

MOST: Final = 1000


def row(e: exp.Expr | None) -> list[exp.Expr] | None:
    """The fields of (a, b) or ROW(a, b); None for what is no row."""
    if isinstance(e, exp.Tuple) or (isinstance(e, exp.Anonymous) and str(e.name).lower() == "row"):
        return list(e.expressions)
    return None


def is_row_test(e: exp.Expr) -> bool:
    if isinstance(e, exp.Overlaps):
        return True
    return (type(e) in COMPARISONS or isinstance(e, exp.In)) and row(e.this) is not None


class RowTests:
    """Lowers one test; `ex` lowers its fields."""

    def __init__(self, ex: Expressions) -> None:
        self.ex = ex

    def lower(self, e: exp.Expr) -> Expr:
        if isinstance(e, exp.Overlaps):
            return self._overlaps(e)
        if isinstance(e, exp.In):
            return self._in(e)
        left, right = self._fields(e.this, e), self._fields(e.expression, e)
        return self._compared(COMPARISONS[type(e)], left, right, e)

    def _fields(self, e: exp.Expr | None, at: exp.Expr) -> list[Expr]:
        fields = row(e)
        if fields is None:
            raise Unsupported(
                "a row such as (a, b) is compared with rows only",
                hint="For instance (a, b) = (1, 2), or (a, b) IN ((1, 2), (3, 4)).",
                position=position(at),
            )
        return [self.ex.lower(field) for field in fields]

    def _compared(self, op: str, left: list[Expr], right: list[Expr], at: exp.Expr) -> Expr:
        if len(left) != len(right) or not left:
            raise SyntaxError_(
                "unequal number of entries in row expressions", position=position(at)
            )
        if op == "<>":
            return Call("not", (self._compared("=", left, right, at),), BOOLEAN)
        pairs = list(zip(left, right, strict=True))
        if op == "=":
            return conjunction(tuple(self.ex.compare("=", a, b, at) for a, b in pairs))
        return self._ordered(op, pairs, at)

    def _ordered(self, op: str, pairs: list[tuple[Expr, Expr]], at: exp.Expr) -> Expr:
        """The first fields that differ decide."""
        (a, b), *rest = pairs
        if not rest:
            return self.ex.compare(op, a, b, at)
        equal, later = self.ex.compare("=", a, b, at), self._ordered(op, rest, at)
        tied = Call("and", (equal, later), BOOLEAN)
        return Call("or", (self.ex.compare(op[0], a, b, at), tied), BOOLEAN)

    def _in(self, e: exp.In) -> Expr:
        left = self._fields(e.this, e)
        if e.args.get("query") is not None or len(e.expressions) > MOST:
            raise Unsupported(
                f"this IN of rows is supported beside AND in WHERE only, or with at most {MOST} rows",
                position=position(e),
            )
        rows = [part for item in e.expressions for part in listed(item)]
        tests = tuple(self._compared("=", left, self._fields(item, e), e) for item in rows)
        return tests[0] if len(tests) == 1 else Call("or", tests, BOOLEAN)

    # ------------------------------------------------------------ OVERLAPS

    def _overlaps(self, e: exp.Overlaps) -> Expr:
        """Spans without their later ends; one of no length is a moment. As Postgres has it for NULLs."""
        s1, e1, s2, e2 = self._spans(e)
        known = tuple(
            Call("not", (Call("is null", (x,), BOOLEAN),), BOOLEAN) for x in (s1, e1, s2, e2)
        )
        a, b = self._ends(s1, e1, e), self._ends(s2, e2, e)
        first = (self.ex.compare(">", a[0], b[0], e), self.ex.compare("<", a[0], b[1], e))
        second = (self.ex.compare("<", a[0], b[0], e), self.ex.compare("<", b[0], a[1], e))
        same = (self.ex.compare("=", a[0], b[0], e), *known)
        found = Call("or", tuple(map(conjunction, (first, second, same))), BOOLEAN)
        whens = ((found, Lit(True, BOOLEAN)), (conjunction(known), Lit(False, BOOLEAN)))
        return Case(whens, Lit(None, UNKNOWN), BOOLEAN)

    def _spans(self, e: exp.Overlaps) -> list[Expr]:
        """Start and end of the one, then of the other."""
        spans = [self._fields(span, e) for span in (e.this, e.expression)]
        if any(len(span) != 2 for span in spans):
            raise SyntaxError_("OVERLAPS takes two spans of two ends each", position=position(e))
        starts, kind = self.ex.together([start for start, _ in spans], e, "OVERLAPS")
        self.ex.need(kind.kind in TIMES, f"OVERLAPS of {kind.kind} does not exist", e)
        ends = [end for _, end in spans]
        for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if end.type.kind == "interval":
                ends[i] = self.ex.arithmetic("+", start, end, e)
        (s1, s2, e1, e2), _ = self.ex.together([*starts, *ends], e, "OVERLAPS")
        return [s1, e1, s2, e2]

    def _ends(self, start: Expr, end: Expr, at: exp.Expr) -> tuple[Expr, Expr]:
        pair, kind = self.ex.together([start, end], at, "OVERLAPS")
        return Call("least", tuple(pair), kind), Call("greatest", tuple(pair), kind)


def listed(item: exp.Expr) -> list[exp.Expr]:
    """What stands in IN: values, or VALUES of them."""
    return list(item.expressions) if isinstance(item, exp.Values) else [item]
