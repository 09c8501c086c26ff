"""What follows from sums over pairs of numbers, as SQL: correlation, covariance and the line of best fit.

`n` rows, sums `x` and `y` of both sides, `xx` and `yy` of their squares and `xy` of their products. NULL where
Postgres has NULL: without rows, and where a divisor is 0; so where noise makes either negative, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAMES: Final = ("n", "x", "y", "xx", "yy", "xy")

_XX: Final = "({n} * {xx} - {x} * {x})"
_YY: Final = "({n} * {yy} - {y} * {y})"
_XY: Final = "({n} * {xy} - {x} * {y})"
_R: Final = f"{_XY} / (SQRT({_XX}) * SQRT({_YY}))"

FORMULAS: Final[Mapping[str, tuple[str, str]]] = {
    "corr": (f"{{n}} > 0 AND {_XX} > 0 AND {_YY} > 0", f"GREATEST(-1.0e0, LEAST(1.0e0, {_R}))"),
    "covar_pop": ("{n} > 0", f"{_XY} / ({{n}} * {{n}})"),
    "covar_samp": ("{n} > 1", f"{_XY} / ({{n}} * ({{n}} - 1))"),
    "regr_avgx": ("{n} > 0", "{x} / {n}"),
    "regr_avgy": ("{n} > 0", "{y} / {n}"),
    "regr_sxx": ("{n} > 0", f"GREATEST(0.0e0, {_XX} / {{n}})"),
    "regr_syy": ("{n} > 0", f"GREATEST(0.0e0, {_YY} / {{n}})"),
    "regr_sxy": ("{n} > 0", f"{_XY} / {{n}}"),
    "regr_slope": (f"{{n}} > 0 AND {_XX} > 0", f"{_XY} / {_XX}"),
}
"""For each the condition under which it has a value, and that value."""


def taken(op: str) -> frozenset[str]:
    """The sums that a formula reads."""
    return frozenset(name for name in NAMES if f"{{{name}}}" in "".join(FORMULAS[op]))
