"""Session settings under the dp4sql. prefix, as SET and SHOW know them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias, get_args

from dp4sql.errors import InvalidParameter

Split: TypeAlias = tuple[tuple[str | int, Fraction], ...]
"""Output columns, by name or by position from 1, with their weights."""
Reuse: TypeAlias = Literal["exact", "derived", "off"]


@dataclass(frozen=True, slots=True)
class Settings:
    """`epsilon`: what a query may lose under each policy, where less than the policy's own value.
    `max_charge`: refuse a query that would cost any policy more. `error_columns`: add <name>_ci95.
    `split`: how output columns weigh when epsilon is shared. `nonnegative`: released counts below 0 are 0.
    `target_error`: the half-width that counts and sums may have, whatever that costs, instead of epsilon.
    `reuse`: whether a repeat shows what was released before, at no charge."""

    epsilon: Fraction | None = None
    max_charge: Fraction | None = None
    error_columns: bool = False
    split: Split = ()
    nonnegative: bool = False
    reuse: Reuse = "exact"
    target_error: Fraction | None = None

    def with_setting(self, name: str, text: str) -> Settings:
        """SET dp4sql.<name> = text; 'default' takes it back."""
        match name:
            case "epsilon":
                return replace(self, epsilon=_optional(name, text))
            case "max_charge":
                return replace(self, max_charge=_optional(name, text))
            case "error_columns":
                return replace(self, error_columns=_switch(name, text))
            case "split":
                return replace(self, split=_split(text))
            case "nonnegative":
                return replace(self, nonnegative=_switch(name, text))
            case "reuse":
                return replace(self, reuse=_reuse(text))
            case "target_error":
                return replace(self, target_error=_optional(name, text))
            case _:
                raise _unknown(name)

    def show(self, name: str) -> str:
        match name:
            case "epsilon" | "max_charge" | "target_error":
                value = getattr(self, name)
                return "default" if value is None else str(float(value))
            case "error_columns" | "nonnegative":
                return "on" if getattr(self, name) else "off"
            case "reuse":
                return self.reuse
            case "split":
                return (
                    ", ".join(f"{_quoted(key)}: {float(w):g}" for key, w in self.split) or "equal"
                )
            case _:
                raise _unknown(name)


LEAST = Fraction(1, 10**6)
"""The smallest epsilon that can be asked for: less would answer with noise alone."""

COMMENTS: Final[Mapping[str, str]] = {
    "epsilon": "what a query may cost under each policy; more is less noise",
    "error_columns": "on adds a column with the 95 % half-width beside each noisy one",
    "max_charge": "refuses what would cost any policy more",
    "nonnegative": "on shows counts below 0 as 0",
    "reuse": "derived also takes answers from others that are kept; off asks and pays anew even for repeats",
    "split": "how columns share the epsilon: weights by name or position",
    "target_error": "asks for counts and sums within so much in 95 % of answers, instead of for an epsilon",
}
NAMES: Final = tuple(COMMENTS)


def _unknown(name: str) -> InvalidParameter:
    return InvalidParameter(
        f'unrecognized configuration parameter "dp4sql.{name}"',
        hint=f"Known: {', '.join('dp4sql.' + known for known in NAMES)}.",
    )


def _optional(name: str, text: str) -> Fraction | None:
    return None if text.lower() == "default" else _positive(name, text)


_NUMBER: Final = re.compile(r"\+?[0-9._]{1,40}(?:[eE][+-]?[0-9]{1,2}|/[0-9]{1,40})?")
"""As a double holds it: the digits of 1e999999999 would keep everybody waiting."""


def _positive(name: str, text: str) -> Fraction:
    try:
        value = Fraction(text.strip() if _NUMBER.fullmatch(text.strip()) else 0)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if value < LEAST:
        raise InvalidParameter(
            f'invalid value for parameter "dp4sql.{name}": "{text}"',
            hint="A number of at least 0.000001, such as 0.5.",
        )
    return value


def _reuse(text: str) -> Reuse:
    word = text.lower()
    for known in REUSES:
        if word == known:
            return known
    if word == "default":
        return "exact"
    raise InvalidParameter(
        f'invalid value for parameter "dp4sql.reuse": "{text}"', hint=f"One of {', '.join(REUSES)}."
    )


REUSES: Final[tuple[Reuse, ...]] = get_args(Reuse)


def _switch(name: str, text: str) -> bool:
    words = {
        "on": True,
        "true": True,
        "1": True,
        "off": False,
        "false": False,
        "0": False,
        "default": False,
    }
    if text.lower() not in words:
        raise InvalidParameter(
            f'parameter "dp4sql.{name}" requires a Boolean value', hint="on or off."
        )
    return words[text.lower()]


# ---------------------------------------------------------------- split

WEIGHTS: Final = (Fraction(1, 1000), Fraction(1000))
_PART: Final = re.compile(r'\s*("(?:[^"]|"")+"|[^\s:,"]+)\s*:\s*(\d{1,9}(?:\.\d{1,9})?)\s*(?:,|$)')


def _split(text: str) -> Split:
    """`total: 3, n: 1`. Names fold to lower case unless quoted, as in SQL; a bare number is a position."""
    if text.strip().lower() in ("", "default", "equal"):
        return ()
    found: dict[str | int, Fraction] = {}
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None or not WEIGHTS[0] <= Fraction(part[2]) <= WEIGHTS[1]:
            raise _no_split(text)
        key = _key(part[1])
        if key in found:
            raise _no_split(text)
        found[key] = Fraction(part[2])
        at = part.end()
    return tuple(found.items())


def _key(text: str) -> str | int:
    if text.startswith('"'):
        return text[1:-1].replace('""', '"')
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else text.lower()


def _quoted(key: str | int) -> str:
    plain = isinstance(key, int) or re.fullmatch("[a-z_][a-z0-9_]*", key)
    return str(key) if plain else '"' + str(key).replace('"', '""') + '"'


def _no_split(text: str) -> InvalidParameter:
    return InvalidParameter(
        f'invalid value for parameter "dp4sql.split": "{text}"',
        hint="Output columns, each once, with weights from 0.001 to 1000, such as total: 3, n: 1; "
        "or equal.",
    )
