"""Definition 6.1: how many rows of each table one entity can own."""

from __future__ import annotations

from dp4sql.algebra.bounds import INF
from dp4sql.algebra.ownership import key_frequency, owned_bounds, owned_tables
from dp4sql.algebra.schema import Column, ForeignKey, Frequency, Schema, Table
from dp4sql.algebra.types import INTEGER
from dp4sql.policy import load_policy
from dp4sql.policy.labels import Policy

from .support import ROOT


def table(
    name: str,
    references: dict[tuple[str, ...], str] | None = None,
    frequencies: dict[tuple[str, ...], int] | None = None,
    key: tuple[str, ...] = ("id",),
    rows: int | None = None,
) -> Table:
    references = references or {}
    names = dict.fromkeys([*key, *(column for columns in references for column in columns)])
    return Table(
        name,
        key,
        {column: Column(column, INTEGER) for column in names},
        tuple(ForeignKey(columns, target) for columns, target in references.items()),
        tuple(Frequency(frozenset(c), n) for c, n in (frequencies or {}).items()),
        rows,
    )


def schema(*tables: Table) -> Schema:
    return Schema({t.name: t for t in tables})


def shipped(name: str, policy: str) -> tuple[Schema, Policy]:
    loaded = load_policy(ROOT / "policies" / f"{name}.yaml")
    return loaded.schema, next(p for p in loaded.policies if p.name == policy)


def test_university() -> None:
    declared, student = shipped("university", "student")
    assert owned_bounds(declared, "student", student.max_owned) == {
        "student": 1,
        "enrollment": 6,
        "scholarship": 2,
    }
    assert owned_bounds(declared, "faculty", {}) == {"faculty": 1, "section": 3, "enrollment": 60}


def test_tpch_at_scale_1() -> None:
    """The paper's section 9: 41 * 7 line items a customer; 694 a supplier, for l_suppkey is its key."""
    declared, customer = shipped("tpch", "customer")
    assert owned_bounds(declared, "customer", customer.max_owned) == {
        "customer": 1,
        "orders": 41,
        "lineitem": 287,
    }
    declared, supplier = shipped("tpch", "supplier")
    bounds = owned_bounds(declared, "supplier", supplier.max_owned)
    assert bounds == {"supplier": 1, "partsupp": 80, "lineitem": 694}


def test_paths_of_a_diamond_add_up() -> None:
    declared = schema(
        table("d", {("b",): "b", ("c",): "c"}, {("b",): 5, ("c",): 7}),
        table("c", {("a",): "a"}, {("a",): 3}),
        table("b", {("a",): "a"}, {("a",): 2}),
        table("a"),
    )
    assert owned_tables(declared, "a") == ("a", "c", "b", "d"), "parents first"
    assert owned_bounds(declared, "a", {})["d"] == 2 * 5 + 3 * 7
    assert owned_bounds(declared, "b", {}) == {"b": 1, "d": 5}


def test_references_to_one_table_add_up() -> None:
    declared = schema(
        table("person"),
        table("call", {("x",): "person", ("y",): "person"}, {("x",): 10, ("y",): 4}),
    )
    assert owned_bounds(declared, "person", {})["call"] == 14


def test_without_a_bound_ownership_is_infinite() -> None:
    declared = schema(table("a"), table("b", {("a",): "a"}), table("c", {("b",): "b"}, {("b",): 2}))
    assert owned_bounds(declared, "a", {}) == {"a": 1, "b": INF, "c": INF}
    assert owned_bounds(declared, "a", {"b": 3}) == {"a": 1, "b": 3, "c": 6}
    assert owned_bounds(declared, "a", {"c": 9})["c"] == 9


def test_max_owned_never_loosens() -> None:
    declared = schema(table("a"), table("b", {("a",): "a"}, {("a",): 2}))
    assert owned_bounds(declared, "a", {"b": 100})["b"] == 2


def test_fewer_columns_share_more_rows() -> None:
    """A bound for some of a key's columns bounds the whole key's rows, never the other way round."""
    child = table("c", {("x", "y"): "p"}, {("x",): 50, ("y",): 9, ("x", "y", "id"): 1})
    assert key_frequency(child, ("x", "y")) == 9
    assert key_frequency(child, ("x",)) == 50
    assert key_frequency(child, ("id", "x")) == 1, "the key is among them"
    assert key_frequency(table("c", {("x",): "p"}, rows=12), ("x",)) == 12
    assert key_frequency(table("c", {("x",): "p"}), ("x",)) == INF
