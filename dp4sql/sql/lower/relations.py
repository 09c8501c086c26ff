"""One item of FROM to algebra: a table, a CTE, a function, a subquery or VALUES."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from dp4sql.algebra.expr import Lit
from dp4sql.algebra.nodes import Fetched, Node, Scan, Values
from dp4sql.errors import Refused, SyntaxError_, UndefinedTable, Unsupported
from dp4sql.sql.lower.calls import SCHEMA, Call, arguments, find
from dp4sql.sql.lower.lowered import Ctes, Lowered, renamed, unwrapped
from dp4sql.sql.lower.names import Named, Relation, Scope, fold, meant
from dp4sql.sql.lower.series import is_series, series
from dp4sql.sql.parse import nearest, position

if TYPE_CHECKING:
    from dp4sql.sql.lower.lowering import Lowering


class Relations:
    """Lowers the items of FROM clauses of one statement."""

    def __init__(self, base: Lowering) -> None:
        self.base = base

    def lower(self, e: exp.Expr, ctes: Ctes) -> tuple[Node, Relation]:
        """One item of FROM: a table, a CTE, a subquery or VALUES."""
        self.base.count_relation(e)
        match e:
            case exp.Table():
                return self._table(e, ctes)
            case exp.Subquery():
                query = self.base.query(unwrapped(e), ctes, None)
                return query.node, self._named_relation(query, e)
            case exp.Values():
                return self._values(e, ctes)
            case exp.Lateral():
                raise Unsupported(
                    "LATERAL has no rule", hint="Use a join or a subquery.", position=position(e)
                )
            case _:
                raise Unsupported(
                    f"{type(e).__name__} in FROM is not supported", position=position(e)
                )

    def _named_relation(self, query: Lowered, e: exp.Expr) -> Relation:
        alias = e.args.get("alias")
        name = fold(alias.this) if alias is not None and alias.this is not None else ""
        names = [fold(c) for c in alias.args.get("columns") or ()] if alias is not None else []
        return Relation(name, renamed(query.columns, names, e))

    def _table(self, e: exp.Table, ctes: Ctes) -> tuple[Node, Relation]:
        if is_series(e):
            return self._series(e)
        if not isinstance(e.this, exp.Identifier):
            return self._call(e)
        for part in ("sample", "pivots", "version", "ordinality", "only"):
            if e.args.get(part):
                raise Unsupported(
                    f"{part.upper()} on a table is not supported", position=position(e)
                )
        name, db = fold(e.this), fold(e.args.get("db"))
        cte = ctes.get(name) if not db else None
        if cte is not None:
            query = self.base.query(cte.query, cte.visible, None)
            query = Lowered(query.node, renamed(query.columns, list(cte.names), e))
            relation = self._named_relation(query, e)
            return query.node, Relation(relation.alias or name, relation.columns)
        return self._base_table(e, name, db)

    def _series(self, e: exp.Table) -> tuple[Node, Relation]:
        """Its column is called as the series is, and that generate_series."""
        type, values = series(e, self.base.plain(Scope(), {}))
        alias = e.args.get("alias")
        name = fold(alias.this) if alias is not None and alias.this else "generate_series"
        named = (Named(name, self.base.fresh(name), type),)
        node = Values(((named[0].id, type),), tuple((value,) for value in values))
        relation = self._named_relation(Lowered(node, named), e)
        return node, Relation(relation.alias or name, relation.columns)

    def _call(self, e: exp.Table) -> tuple[Node, Relation]:
        """A function in FROM. A CTE that is named twice still calls it once."""
        signature = find(self.base.signatures, e)
        if id(e) not in self.base.call_of:
            given = arguments(signature, e, self.base.plain(Scope(), {}))
            self.base.call_of[id(e)] = len(self.base.calls)
            self.base.calls.append(Call(signature.name, given, signature.columns))
        named = tuple(Named(name, self.base.fresh(name), type) for name, type in signature.columns)
        node = Fetched(self.base.call_of[id(e)], tuple((n.id, n.type) for n in named))
        relation = self._named_relation(Lowered(node, named), e)
        return node, Relation(relation.alias or signature.name, relation.columns)

    def _base_table(self, e: exp.Table, name: str, db: str) -> tuple[Node, Relation]:
        table = next(
            (
                t
                for t in self.base.schema.tables.values()
                if (t.relname or t.name) == name
                and (t.schema == db if db else t.schema == "public" or t.name == name)
            ),
            None,
        )
        if table is None:
            known = [t.relname or t.name for t in self.base.schema.tables.values()]
            listed = meant(nearest(name, known), "Tables", known)
            raise UndefinedTable(
                f'relation "{f"{db}.{name}" if db else name}" does not exist',
                hint=f"\\dv {SCHEMA}.* lists the tables of {SCHEMA}."
                if db == SCHEMA
                else listed or "The policy file lists the tables.",
                position=position(e),
            )
        if table.name not in self.base.covered:
            raise Refused(
                f'table "{table.name}" is covered by no policy, so nothing would protect it',
                hint="The curator can label it pub, rep or del in a policy.",
                position=position(e),
            )
        alias_node = e.args.get("alias")
        shown = (
            fold(alias_node.this)
            if alias_node is not None and alias_node.this is not None
            else name
        )
        alias = self.base.fresh(shown)
        scan = Scan(table, alias, position(e))
        named = tuple(Named(c.name, f"{alias}.{c.name}", c.type) for c in table.columns.values())
        names = (
            [fold(c) for c in alias_node.args.get("columns") or ()]
            if alias_node is not None
            else []
        )
        schema = "" if alias_node is not None else table.schema
        return scan, Relation(shown, renamed(named, names, e), schema)

    def _values(self, e: exp.Values, ctes: Ctes) -> tuple[Node, Relation]:
        lowering = self.base.plain(Scope(), ctes)
        rows = [[lowering.lower(v) for v in row.expressions] for row in e.expressions]
        width = len(rows[0])
        if any(len(row) != width for row in rows):
            raise SyntaxError_("VALUES lists must all be the same length", position=position(e))
        typed = [lowering.together([row[i] for row in rows], e, "VALUES") for i in range(width)]
        for cells, _ in typed:
            if not all(isinstance(cell, Lit) for cell in cells):
                raise Unsupported("VALUES holds constants only", position=position(e))
        named = tuple(
            Named(f"column{i + 1}", self.base.fresh(f"column{i + 1}"), t)
            for i, (_, t) in enumerate(typed)
        )
        values = tuple(
            tuple(cells[r].value for cells, _ in typed if isinstance(cells[r], Lit))  # type: ignore[union-attr]
            for r in range(len(rows))
        )
        node = Values(tuple((n.id, n.type) for n in named), values)
        return node, self._named_relation(Lowered(node, named), e)
