"""What the guard lets pass is looked at: an argument of the parser's that nobody reads would be another question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
from sqlglot import exp

import dp4sql
from dp4sql.errors import Dp4sqlError
from dp4sql.sql.lower import lowering
from dp4sql.sql.lower.guard import KNOWN, check
from tests.soundness.test_positions import POLICY, STATEMENTS
from tests.sql.test_outside import POLICY as OTHER
from tests.sql.test_outside import STANDING_OUTSIDE

#: The parser's own properties read these, which shows nowhere.
PLAIN: Final = frozenset({"this", "expression", "expressions", "quoted", "is_string"})
#: True of all that Postgres's text is parsed to, or said elsewhere in the tree.
SAME: Final = frozenset(
    {
        (exp.Chr, "charset"),
        (exp.Table, "catalog"),
        (exp.Count, "big_int"),
        (exp.DataType, "nested"),
        (exp.Fetch, "direction"),
        (exp.Fetch, "limit_options"),
        (exp.Greatest, "ignore_nulls"),
        (exp.Least, "ignore_nulls"),
        (exp.LimitOptions, "percent"),
        (exp.LimitOptions, "rows"),
        (exp.LimitOptions, "with_ties"),
        (exp.Array, "value_constructor"),
        (exp.Concat, "safe"),
        (exp.Concat, "coalesce"),
        (exp.Window, "over"),
    }
)
#: Copies of these are read, or what they order has no order.
COPIED: Final = frozenset({(exp.Select, "from_"), (exp.Ordered, "nulls_first")})


class Watched(dict[str, Any]):
    """The arguments of a node, and which of them somebody asked for."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__(given)
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:  # type: ignore[override]
        self.read.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)


@pytest.mark.parametrize(
    ("policy", "sql"),
    [(POLICY, sql) for sql in STATEMENTS.strip().splitlines()]
    + [(OTHER, sql) for sql in STANDING_OUTSIDE],
)
def test_every_argument_is_read(policy: Any, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[exp.Expr] = []

    def watched(tree: exp.Expr) -> exp.Expr:
        check(tree)
        for node in tree.walk():
            node.args = Watched(node.args)
        seen.append(tree)
        return tree

    monkeypatch.setattr(lowering, "check", watched)
    dp4sql.explain(policy, sql)
    assert seen
    assert set(_unread(seen)) - SAME - COPIED == set()


def _unread(trees: list[exp.Expr]) -> Iterator[tuple[type[exp.Expr], str]]:
    for node in (node for tree in trees for node in tree.walk()):
        if isinstance(node.args, Watched):
            for name, value in node.args.items():
                if value not in (None, []) and name not in node.args.read | PLAIN:
                    yield type(node), name


def test_an_unknown_argument_is_refused() -> None:
    for kind, names in KNOWN.items():
        for name in kind.arg_types.keys() - names:
            with pytest.raises(Dp4sqlError):
                check(kind(**{name: exp.Null()}))
