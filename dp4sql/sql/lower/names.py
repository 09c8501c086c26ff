"""Scopes: which column id a name in the text stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from dp4sql.algebra.expr import Col, Expr
from dp4sql.algebra.types import Type
from dp4sql.errors import AmbiguousColumn, UndefinedColumn, UndefinedTable
from dp4sql.sql.parse import nearest, position


def fold(identifier: exp.Expr | str | None) -> str:
    """An identifier as Postgres stores it: lower case unless it was quoted."""
    if isinstance(identifier, exp.Identifier):
        name = str(identifier.this)
        return name if identifier.args.get("quoted") else name.lower()
    return str(identifier or "").lower()


@dataclass(frozen=True, slots=True)
class Named:
    """A visible column: its SQL name, its id and its type."""

    name: str
    id: str
    type: Type

    @property
    def col(self) -> Col:
        return Col(self.id, self.type)


def meant(close: str | None, what: str, known: Iterable[str]) -> str | None:
    """The nearest name, or the names there are."""
    if close:
        return f'Perhaps "{close}" was meant.'
    names = list(dict.fromkeys(name for name in known if name))
    return f"{what}: {', '.join(names)}." if 0 < len(names) <= 20 else None


@dataclass(slots=True)
class Relation:
    """An item of FROM. `schema` is that of a table without an alias, whose columns it may stand before."""

    alias: str
    columns: tuple[Named, ...]
    schema: str = ""

    def is_called(self, table: str, schema: str) -> bool:
        return (not table or self.alias == table) and (not schema or self.schema == schema)


@dataclass(slots=True)
class Scope:
    """The FROM clause of one SELECT. `merged` holds the columns that USING made one; `outer` is the
    enclosing SELECT for correlated subqueries."""

    relations: list[Relation] = field(default_factory=list)
    merged: dict[str, Expr] = field(default_factory=dict)
    outer: Scope | None = None

    def resolve(self, column: exp.Column) -> Expr:
        name, table = fold(column.this), fold(column.args.get("table"))
        schema = fold(column.args.get("db"))
        scope: Scope | None = self
        while scope is not None:
            found = scope._find(name, table, schema, column)
            if found is not None:
                return found
            scope = scope.outer
        raise self._unknown(name, table, column)

    def _find(self, name: str, table: str, schema: str, column: exp.Column) -> Expr | None:
        if not table and name in self.merged:
            return self.merged[name]
        hits = [
            named.col
            for relation in self.relations
            if relation.is_called(table, schema)
            for named in relation.columns
            if named.name == name
        ]
        if len(set(hits)) > 1:
            raise AmbiguousColumn(
                f'column reference "{name}" is ambiguous',
                hint="Write it with its table, as in t." + name + ".",
                position=position(column),
            )
        return hits[0] if hits else None

    def _unknown(self, name: str, table: str, column: exp.Column) -> Exception:
        relations = [r for scope in self._chain() for r in scope.relations]
        if table and not any(r.alias == table for r in relations):
            close = nearest(table, (r.alias for r in relations))
            return UndefinedTable(
                f'missing FROM-clause entry for table "{table}"',
                hint=meant(close, "Tables here", (r.alias for r in relations)),
                position=position(column),
            )
        close = nearest(
            name, (c.name for r in relations for c in r.columns if table in ("", r.alias))
        )
        hint = meant(close, "Columns", (c.name for r in relations for c in r.columns))
        if not close and not table and column.this.args.get("quoted"):
            hint = f"Text stands in single quotes: '{name}'. {hint or ''}".rstrip()
        shown = f"{table}.{name}" if table else f'"{name}"'
        return UndefinedColumn(
            f"column {shown} does not exist",
            hint=hint,
            position=position(column),
        )

    def _chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def star(self, table: str = "") -> list[tuple[str, Expr]]:
        """What `*` or `table.*` stands for, USING columns once and first."""
        if table:
            return [(c.name, c.col) for r in self.relations if r.alias == table for c in r.columns]
        found: list[tuple[str, Expr]] = list(self.merged.items())
        found += [
            (c.name, c.col) for r in self.relations for c in r.columns if c.name not in self.merged
        ]
        return found
