"""sqlglot trees to relational algebra. What is not listed here is refused by name.

The way in     lowering: a statement; guard: nodes and arguments that are read at all
One SELECT     select: above its groups; block: FROM and WHERE; relations, joins, names: what is in FROM
Queries in it  subqueries: in conditions; attached: scalar ones; combined: UNION and the like; lowered: what each gives
Groups         groupings: ROLLUP and the like; aggregates, spellings: their names; pairs: of two columns
Windows        windows, frames
FROM           calls: functions of dp4sql; series: constants as rows
Results        headings: what columns are called; shapes: results without rows
Expressions    expressions: what stands within a row
"""

from dp4sql.sql.lower.lowering import Statement, lower

__all__ = ["Statement", "lower"]
