"""What the parser may hand on. A node or an argument that is not on this list is refused, never skipped.

sqlglot grows new node arguments (a NOT moved into `negate=`, say); an argument that the lowering does not
know must not be dropped without a word, for then another question would be answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from dp4sql.errors import TooComplex, Unsupported
from dp4sql.sql.lower.expressions.operators import unknown
from dp4sql.sql.lower.pairs import PAIRS
from dp4sql.sql.parse import position

_THIS = frozenset({"this"})
_PAIR = frozenset({"this", "expression"})
_LIST = frozenset({"this", "expressions"})
_QUERY = frozenset({"with_", "order", "limit", "offset"})

KNOWN: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    exp.Select: _QUERY
    | {"expressions", "from_", "joins", "where", "group", "having", "distinct", "windows"},
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), _QUERY | _PAIR | {"distinct"}),
    exp.Subquery: _QUERY | {"this", "alias", "joins"},
    exp.Values: frozenset({"expressions", "alias"}),
    exp.Tuple: frozenset({"expressions"}),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias"}),
    # There is one database; that it is meant is the router's concern.
    exp.Table: frozenset({"this", "db", "catalog", "alias", "joins"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.From: _THIS,
    exp.Join: frozenset({"this", "side", "kind", "on", "using", "method"}),
    **dict.fromkeys((exp.Where, exp.Having), _THIS),
    exp.Group: frozenset({"expressions", "all"}),
    **dict.fromkeys((exp.Rollup, exp.Cube, exp.GroupingSets), frozenset({"expressions"})),
    exp.Grouping: frozenset({"expressions"}),
    exp.Order: _LIST,
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Anonymous: _LIST,
    **dict.fromkeys(
        (exp.ExplodingGenerateSeries, exp.GenerateSeries), frozenset({"start", "end", "step"})
    ),
    exp.Kwarg: _PAIR,
    exp.Array: frozenset({"expressions"}),
    exp.Offset: frozenset({"expression"}),
    exp.Distinct: frozenset({"expressions", "on"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Star: frozenset(),
    exp.Column: frozenset({"this", "table", "db"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Null: frozenset(),
    exp.Boolean: _THIS,
    exp.Parameter: _THIS,
    exp.Var: _THIS,
    exp.Paren: _THIS,
    **dict.fromkeys((exp.Not, exp.Neg, exp.Exists, exp.Any), _THIS),
    **dict.fromkeys((exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _PAIR),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.DPipe), _PAIR | {"safe"}),
    exp.Div: _PAIR | {"typed"},
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), _PAIR),
    **dict.fromkeys((exp.Is, exp.Like, exp.ILike), _PAIR | {"negate"}),
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    **dict.fromkeys((exp.Escape, exp.SimilarTo, exp.Overlaps), _PAIR),
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike), _PAIR),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.DataType: frozenset({"this", "expressions", "kind", "nested"}),
    exp.DataTypeParam: _THIS,
    exp.Interval: frozenset({"this", "unit"}),
    **dict.fromkeys(
        (exp.Lower, exp.Upper, exp.Length, exp.Reverse, exp.Ascii, exp.Floor, exp.Ceil, exp.Abs),
        _THIS,
    ),
    **dict.fromkeys((exp.Sign, exp.Sqrt, exp.Ln, exp.Exp), _THIS),
    **dict.fromkeys((exp.Log, exp.IntDiv), _PAIR),
    exp.Pi: frozenset(),
    **dict.fromkeys((exp.Round, exp.Trunc), frozenset({"this", "decimals"})),
    exp.Pow: _PAIR,
    exp.Coalesce: _LIST,
    **dict.fromkeys((exp.Greatest, exp.Least), _LIST | {"ignore_nulls"}),
    exp.Nullif: _PAIR,
    exp.WidthBucket: frozenset({"this", "min_value", "max_value", "num_buckets", "threshold"}),
    exp.TimeToStr: frozenset({"this", "format"}),
    exp.Extract: _PAIR,
    **dict.fromkeys((exp.Year, exp.Quarter, exp.Month, exp.Day, exp.Hour, exp.Minute), _THIS),
    exp.Date: _THIS,
    **dict.fromkeys((exp.StrToDate, exp.StrToTime), frozenset({"this", "format"})),
    exp.AtTimeZone: frozenset({"this", "zone"}),
    **dict.fromkeys((exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp), _THIS),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), frozenset({"this", "unit"})),
    **dict.fromkeys((exp.Concat, exp.ConcatWs), frozenset({"expressions", "safe", "coalesce"})),
    exp.SplitPart: frozenset({"this", "delimiter", "part_index"}),
    exp.Pad: frozenset({"this", "expression", "fill_pattern", "is_left"}),
    exp.Translate: frozenset({"this", "from_", "to"}),
    exp.Repeat: frozenset({"this", "times"}),
    exp.Chr: frozenset({"expressions"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.Replace: frozenset({"this", "expression", "replacement"}),
    **dict.fromkeys((exp.StartsWith, exp.Left, exp.Right), _PAIR),
    **dict.fromkeys((exp.JSONExtract, exp.JSONExtractScalar), _PAIR | {"only_json_types"}),
    exp.Count: frozenset({"this", "big_int"}),
    **dict.fromkeys((exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median), _THIS),
    **dict.fromkeys(
        (exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop), _THIS
    ),
    **dict.fromkeys((exp.LogicalAnd, exp.LogicalOr, exp.PercentileCont, exp.PercentileDisc), _THIS),
    **dict.fromkeys((exp.ApproxQuantile, exp.Quantile), frozenset({"this", "quantile"})),
    **dict.fromkeys((exp.ApproxDistinct, exp.CountIf), _THIS),
    **dict.fromkeys((exp.WithinGroup, exp.Filter), _PAIR),
    **dict.fromkeys(PAIRS, _PAIR),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over", "alias"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank), frozenset()),
    **dict.fromkeys((exp.PercentRank, exp.CumeDist), frozenset()),
    exp.Ntile: _THIS,
    exp.NthValue: frozenset({"this", "offset"}),
    **dict.fromkeys((exp.Lag, exp.Lead), frozenset({"this", "offset", "default"})),
    **dict.fromkeys((exp.FirstValue, exp.LastValue), _THIS),
}


WRITTEN: Final[Mapping[tuple[type[exp.Expr], str], str]] = {
    (exp.Select, "locks"): "FOR UPDATE and FOR SHARE",
    (exp.Table, "sample"): "TABLESAMPLE",
    (exp.Column, "catalog"): "a column's name with a database in front",
    (exp.With, "recursive"): "WITH RECURSIVE",
    (exp.Group, "all"): "GROUP BY DISTINCT",
    (exp.LimitOptions, "with_ties"): "FETCH FIRST ... WITH TIES",
}
"""What Postgres calls them."""

REWRITES: Final[Mapping[str, str]] = {
    "recursive": "Write the steps out as joins, as many as are needed.",
    "locks": "Leave it out: dp4sql changes nothing and locks nothing.",
    "catalog": "Leave the database out: a session is connected to one.",
    "with_ties": "Rank the rows in a subquery: SELECT * FROM (SELECT ..., RANK() OVER (ORDER BY n DESC) AS r "
    "FROM ...) t WHERE r <= 3.",
    "sample": "Leave it out: an answer from all rows needs no more noise.",
}
"""What to write instead of an argument that is refused, by its name."""


#: Each is planned beside each other one.
MAX_AGGREGATES: Final = 500


def check(tree: exp.Expr) -> exp.Expr:
    """`tree`, or Unsupported at the first argument that the lowering does not know.

    Nodes of unknown classes pass: the lowering refuses them by name, with a better text.
    """
    aggregates = 0
    for node in tree.walk():
        aggregates += isinstance(node, exp.AggFunc)
        if aggregates > MAX_AGGREGATES:
            raise TooComplex(
                f"a statement may have at most {MAX_AGGREGATES} aggregates",
                hint="Ask in several statements: what they cost adds up to the same.",
                position=position(node),
            )
        known = KNOWN.get(type(node))
        if known is None:
            if any(base in KNOWN for base in type(node).__mro__):
                # CONCAT_WS is a kind of CONCAT to the parser, with one more argument in front.
                raise unknown(node)
            continue
        for name, value in node.args.items():
            distinct_sets = isinstance(node, exp.Group) and name == "all" and value is False
            if distinct_sets or (value not in (None, False, []) and name not in known):
                said = (
                    f"{type(node).__name__.upper()} ... {name.strip('_').upper().replace('_', ' ')}"
                )
                shown = WRITTEN.get((type(node), name), said)
                at = position(node) or position(node.parent)
                raise Unsupported(f"{shown} is not supported", hint=REWRITES.get(name), position=at)
    return tree
