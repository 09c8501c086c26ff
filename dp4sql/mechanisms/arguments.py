"""Arguments of functions in FROM as checked values; every refusal names the argument and what would work."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from fractions import Fraction
from typing import Final, TypeVar

from dp4sql.errors import InvalidParameter
from dp4sql.mechanisms.calls import Arguments
from dp4sql.policy.types import Span
from dp4sql.settings import LEAST

Word = TypeVar("Word", bound=str)


EPSILON: Final = Span(LEAST, Fraction(10_000))
"""Beyond its end nothing is protected, and exact tables only grow."""


def number(given: Arguments, name: str, span: Span) -> Fraction | None:
    """None where the argument is left out."""
    value = given.get(name)
    if value is None:
        return None
    try:
        found = Fraction(str(value))
    except ValueError:  # NaN and Infinity are numbers to SQL
        found = span.least - 1
    if found not in span:
        raise InvalidParameter(f"argument {name} is {value}", hint=f"A number {span} is wanted.")
    return found


def count(given: Arguments, name: str, most: int) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidParameter(
            f"argument {name} is {value}", hint=f"A whole number from 1 to {most} is wanted."
        )
    return value


def text(given: Arguments, name: str) -> str | None:
    value = given.get(name)
    return None if value is None else str(value)


def word(given: Arguments, name: str, known: tuple[Word, ...]) -> Word | None:
    value = text(given, name)
    for found in known:
        if value is None or found == value.lower():
            return None if value is None else found
    raise InvalidParameter(f'argument {name} is "{value}"', hint=meant(value or "", known))


def meant(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not among those `known`."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    return f"Perhaps {close[0]} was meant." if close else f"Known: {', '.join(names)}."
