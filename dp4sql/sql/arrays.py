"""Arrays, which stand in ANY and ALL only."""

from __future__ import annotations

from sqlglot import exp


def is_array(e: exp.Expr) -> bool:
    """ARRAY[...], '{...}'::type[] and $1::type[]."""
    return isinstance(e, exp.Array) or (
        isinstance(e, exp.Cast) and e.to.this == exp.DataType.Type.ARRAY
    )
