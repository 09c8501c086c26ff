"""A query as algebra with its output columns, and the CTEs that a query may name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from dp4sql.algebra.nodes import Node
from dp4sql.errors import SyntaxError_
from dp4sql.sql.lower.names import Named
from dp4sql.sql.parse import position


@dataclass(frozen=True, slots=True)
class Lowered:
    """A query as algebra; `columns` are its output columns in order."""

    node: Node
    columns: tuple[Named, ...]


Ctes = Mapping[str, "Cte"]


@dataclass(frozen=True, slots=True)
class Cte:
    query: exp.Expr
    names: tuple[str, ...]
    visible: Ctes


#: What a query in brackets may have behind them, or before: (SELECT ...) LIMIT 1.
_OUTSIDE: Final = ("with_", "order", "limit", "offset")


def unwrapped(e: exp.Expr) -> exp.Expr:
    """The query in brackets, with what stands outside of them if anything does."""
    bare = isinstance(e, exp.Subquery) and not any(e.args.get(part) for part in _OUTSIDE)
    return e.this if bare else e


def cut_or_sorted(e: exp.Expr) -> bool:
    return any(e.args.get(part) for part in ("order", "limit", "offset"))


def renamed(named: tuple[Named, ...], names: list[str], e: exp.Expr) -> tuple[Named, ...]:
    if len(names) > len(named):
        raise SyntaxError_(
            f"{len(named)} columns available but {len(names)} column names given",
            position=position(e),
        )
    return tuple(replace(c, name=names[i]) if i < len(names) else c for i, c in enumerate(named))
