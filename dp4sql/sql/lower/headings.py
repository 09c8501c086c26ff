"""What Postgres calls a column of an answer that has no alias (`FigureColname` in parse_target.c)."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from dp4sql.sql.lower.names import fold

_NONE: Final = "?column?"
_WRITTEN: Final = "written"
_TYPES: Final = {
    "SMALLINT": "int2",
    "INT": "int4",
    "BIGINT": "int8",
    "FLOAT": "float4",
    "DOUBLE": "float8",
    "DECIMAL": "numeric",
    "BOOLEAN": "bool",
    "CHAR": "bpchar",
}
#: What has a syntax of its own, where sqlglot's name for it is another than Postgres's.
_SYNTAX: Final = {
    exp.AtTimeZone: "timezone",
    exp.Exists: "exists",
    exp.StrPosition: "position",
    exp.Interval: "interval",
    exp.GroupConcat: "string_agg",
}
_TRIMS: Final = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def remember(query: exp.Expr, sql: str) -> None:
    """Keep beside each call what it is called in `sql`: many names become one in sqlglot."""
    for call in query.find_all(exp.Func, exp.Binary):
        meta = call.meta
        if "start" in meta:
            meta[_WRITTEN] = sql[meta["start"] : meta["end"] + 1].strip('"').lower()


def output_name(e: exp.Expr) -> str:
    """The column name Postgres would give."""
    return _sure(e) or _likely(e) or _NONE


def _sure(e: exp.Expr) -> str | None:
    """A name that holds also beneath a cast and as the last arm of CASE."""
    match e:
        case exp.Alias():
            return fold(e.args["alias"])
        case exp.Column():
            return fold(e.this)
        case exp.Func() | exp.Binary() if _WRITTEN in e.meta:
            return str(e.meta[_WRITTEN])
        case exp.Paren() | exp.Filter() | exp.Window() | exp.WithinGroup() | exp.Cast():
            return _sure(e.this)
        case exp.Subquery(this=exp.Select(expressions=[only, *_])):
            return output_name(only)
        case exp.Case():
            default = e.args.get("default")
            return None if default is None else _sure(default)
        case _ if type(e) in _SYNTAX:
            return _SYNTAX[type(e)]
        case exp.Trim():
            return _TRIMS.get(str(e.args.get("position")), "btrim")
        case exp.Func() if not isinstance(e, exp.Binary):
            return str(e.sql_name()).lower()
        case _:
            return None


def _likely(e: exp.Expr) -> str | None:
    match e:
        case exp.Paren():
            return _likely(e.this)
        case exp.Case():
            return "case"
        case exp.Cast():
            return _type_name(e.to)
        case _:
            return None


def _type_name(type: exp.DataType) -> str:
    """As the catalog has it, without a length; an array by the name of its elements."""
    if type.this == exp.DataType.Type.ARRAY:
        return _type_name(type.expressions[0])
    name = str(getattr(type.this, "value", type.this))
    return _TYPES.get(name, name.lower())
