"""How many decimal digits an exact number can have: what decides the type that arithmetic runs in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from dp4sql.algebra.expr import Call, Case, Cast, Expr, Lit
from dp4sql.algebra.types import FLOATS, Type

DIGITS: Final = {"smallint": 5, "integer": 10, "bigint": 19}
MAX_DIGITS: Final = 38
"""What exact arithmetic has on every engine; beyond it numbers are double precision."""
SUMMABLE: Final = 26
"""Numbers of so many digits can be summed over 10**12 rows."""


@dataclass(frozen=True, slots=True)
class Width:
    """Decimal digits before and after the point that always suffice."""

    whole: int
    scale: int

    @property
    def digits(self) -> int:
        return self.whole + self.scale


#: The latest widths by the identity of an expression, which stands beside its own. To compare expressions
#: takes as long as to measure them.
_known: Final[OrderedDict[int, tuple[Expr, Width | None]]] = OrderedDict()
KNOWN: Final = 2000


def width(expr: Expr) -> Width | None:
    """Digits of an exact number; None where only double precision will do."""
    known = _known.get(id(expr))
    if known is not None and known[0] is expr:
        return known[1]
    found = _width(expr)
    found = found if found is not None and found.digits <= MAX_DIGITS else None
    _known[id(expr)] = expr, found
    if len(_known) > KNOWN:
        _known.popitem(last=False)
    return found


def together(args: Iterable[Expr]) -> Width | None:
    """Digits of a type that holds the values of all of `args`; None where only double precision will do."""
    found = _widest(tuple(args))
    return found if found is not None and found.digits <= MAX_DIGITS else None


def fits(expr: Expr) -> bool:
    """Whether an integer expression always has room in its own type. Arithmetic runs in wider ones."""
    own = width(expr)
    return own is not None and own.digits <= DIGITS.get(expr.type.kind, MAX_DIGITS)


def held(expr: Expr) -> Type:
    """The type of a column that holds `expr`. An integer that can be wider than its type says so in
    `precision`, so that arithmetic on the column leaves room for it."""
    if expr.type.kind not in DIGITS or fits(expr):
        return expr.type
    own = width(expr)
    return replace(expr.type, precision=own.digits if own is not None else MAX_DIGITS + 1)


def _width(expr: Expr) -> Width | None:
    match expr:
        case _ if expr.type.kind in FLOATS:
            return None
        case Lit(value) if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
            exponent = Decimal(value).as_tuple().exponent
            scale = max(0, -exponent) if isinstance(exponent, int) else 0
            return Width(max(1, len(str(abs(int(value))))), scale)
        case Call("+" | "-", (a, b)):
            return _joined(a, b, lambda x, y: Width(_most(x, y).whole + 1, _most(x, y).scale))
        case Call("*", (a, b)):
            return _joined(a, b, lambda x, y: Width(x.whole + y.whole, x.scale + y.scale))
        case Call("%", (a, b)):
            return _joined(a, b, _most)
        case Call("/", (a, _)) if expr.type.kind in DIGITS:
            return width(a)
        case Call("neg" | "abs", (a,)) | Call("nullif", (a, _)):
            return width(a)
        case Call("floor" | "ceil" | "trunc", (a,)):
            return _rounded(width(a), 0)
        case Call("round", (a, Lit(int() as places))):
            return _rounded(width(a), places)
        case Call("held in", (a, low, high, _)):
            return _ended(width(a), _widest((low, high)))
        case Call("coalesce" | "least" | "greatest", args):
            return _widest(args)
        case Case(whens, default):
            return _widest((*(then for _, then in whens), default))
        case Cast(arg, Type("numeric", None)):
            return width(arg)
        case _ if expr.type.kind in DIGITS:
            return Width(max(DIGITS[expr.type.kind], expr.type.precision or 0), 0)
        case _ if expr.type.kind == "numeric" and expr.type.precision is not None:
            scale = expr.type.scale or 0
            return Width(expr.type.precision - scale, scale)
        case _:
            return None


def _joined(a: Expr, b: Expr, join: Callable[[Width, Width], Width]) -> Width | None:
    x, y = width(a), width(b)
    return None if x is None or y is None else join(x, y)


def _most(x: Width, y: Width) -> Width:
    return Width(max(x.whole, y.whole), max(x.scale, y.scale))


def _rounded(own: Width | None, places: int) -> Width | None:
    return None if own is None else Width(own.whole + 1, max(0, min(own.scale, places)))


def _ended(own: Width | None, ends: Width | None) -> Width | None:
    if own is None or ends is None:
        return None
    return Width(ends.whole, max(own.scale, ends.scale))


def _widest(args: tuple[Expr, ...]) -> Width | None:
    found: Width | None = Width(1, 0)
    for arg in args:
        if not (isinstance(arg, Lit) and arg.value is None):
            own = width(arg)
            found = None if found is None or own is None else _most(found, own)
    return found
