"""Functions of dp4sql in FROM: `dp4sql.name(argument => value, ...)`.

A call's arguments are constants and parameters, so that it can be planned, priced and charged before any
other part of the statement runs. What it gives is released rows, and the rest is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from dp4sql.algebra.expr import Lit
from dp4sql.algebra.types import NUMBERS, TEXT, TEXTS, Type, Value
from dp4sql.errors import DatatypeMismatch, InvalidParameter, SyntaxError_, UndefinedFunction
from dp4sql.sql.lower.expressions import Expressions
from dp4sql.sql.lower.names import fold
from dp4sql.sql.parse import nearest, position

SCHEMA = "dp4sql"

Argument: TypeAlias = Value | tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument's type; `many` takes ARRAY['a', 'b'] or the text '{a,b}'."""

    type: Type
    many: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """A function in FROM: its name, its parameters in order, and its output columns."""

    name: str
    parameters: Mapping[str, Parameter]
    columns: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call in a statement. `arguments` has those that were written, NULL ones included."""

    function: str
    arguments: Mapping[str, Argument]
    columns: tuple[tuple[str, Type], ...]


def find(signatures: Mapping[str, Signature], e: exp.Table) -> Signature:
    """The signature that a function in FROM names; UndefinedFunction when there is none."""
    name, schema = fold(getattr(e.this, "name", "")), fold(e.args.get("db"))
    if not name and isinstance(e.this, exp.Func):
        # sqlglot says EXPLODING_GENERATE_SERIES of Postgres's generate_series.
        name = e.this.sql_name().lower().removeprefix("exploding_")
    if schema != SCHEMA or name not in signatures:
        full = f"{schema}.{name}" if schema else name
        close = nearest(name, signatures)
        raise UndefinedFunction(
            f"function {full} does not exist in FROM",
            hint=f"Perhaps {SCHEMA}.{close} was meant."
            if close
            else f"Functions in FROM: {_list(signatures)}.",
            position=position(e),
        )
    return signatures[name]


def _list(signatures: Mapping[str, Signature]) -> str:
    return ", ".join(f"{SCHEMA}.{name}" for name in sorted(signatures)) or "none"


def arguments(signature: Signature, e: exp.Table, lowering: Expressions) -> dict[str, Argument]:
    """The call's arguments by name, converted to the parameters' types."""
    found: dict[str, Argument] = {}
    for name, value in _named(signature, e):
        if name not in signature.parameters:
            close = nearest(name, signature.parameters)
            raise UndefinedFunction(
                f"{SCHEMA}.{signature.name} has no argument {name}",
                hint=f"Perhaps {close} was meant."
                if close
                else f"It takes {', '.join(signature.parameters)}.",
                position=position(value),
            )
        if name in found:
            raise SyntaxError_(f"argument {name} is given twice", position=position(value))
        found[name] = _argument(name, signature.parameters[name], value, lowering)
    return found


def _named(signature: Signature, e: exp.Table) -> Iterator[tuple[str, exp.Expr]]:
    """Names and values; values without a name come first and follow the order of the parameters."""
    order, named = list(signature.parameters), False
    for i, item in enumerate(e.this.expressions):
        if isinstance(item, exp.Kwarg):
            named = True
            yield fold(item.this.name), item.expression
        elif named or i >= len(order):
            hint = "Write it as name => value."
            raise SyntaxError_("an argument without a name", hint=hint, position=position(item))
        else:
            yield order[i], item


def _argument(name: str, wanted: Parameter, e: exp.Expr, lowering: Expressions) -> Argument:
    if isinstance(e, exp.Array) and wanted.many:
        return tuple(_text(name, _constant(name, TEXT, item, lowering)) for item in e.expressions)
    value = _constant(name, TEXT if wanted.many else wanted.type, e, lowering)
    return _items(value) if wanted.many and isinstance(value, str) else value


def _text(name: str, value: Value) -> str | None:
    if value is not None and not isinstance(value, str):
        raise DatatypeMismatch(f"argument {name} is a list of texts")
    return value


def _items(text: str) -> tuple[str, ...]:
    """The text form of an array: {a,b}, or a and b without the braces."""
    inner = text.strip().removeprefix("{").removesuffix("}")
    return tuple(item.strip().strip('"') for item in inner.split(",") if item.strip())


def _constant(name: str, type: Type, e: exp.Expr, lowering: Expressions) -> Value:
    found = lowering.coerce(lowering.lower(e), type)
    if not isinstance(found, Lit):
        raise InvalidParameter(
            f"argument {name} is not a constant",
            hint="Arguments are literals or parameters such as $1.",
            position=position(e),
        )
    if found.value is not None and not _fits(found.type, type):
        raise DatatypeMismatch(
            f"argument {name} is of type {type.kind}, not {found.type.kind}", position=position(e)
        )
    return found.value


def _fits(given: Type, wanted: Type) -> bool:
    """Any number for a number, any text for a text, anything for unknown: the function reads the value."""
    return wanted.kind in ("unknown", given.kind) or any(
        {given.kind, wanted.kind} <= family for family in (NUMBERS, TEXTS)
    )
