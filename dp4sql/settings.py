"""Session settings under the dp4sql. prefix, as SET and SHOW know them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dp4sql.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Settings:
    """`epsilon`: what a query may lose under each policy, where less than the policy's own value.
    `max_charge`: refuse a query that would cost any policy more. `error_columns`: add <name>_ci95."""

    epsilon: Fraction | None = None
    max_charge: Fraction | None = None
    error_columns: bool = False

    def with_setting(self, name: str, text: str) -> Settings:
        """SET dp4sql.<name> = text; 'default' takes it back."""
        match name:
            case "epsilon":
                return replace(self, epsilon=_optional(name, text))
            case "max_charge":
                return replace(self, max_charge=_optional(name, text))
            case "error_columns":
                return replace(self, error_columns=_switch(name, text))
            case _:
                raise InvalidParameter(
                    f'unrecognized configuration parameter "dp4sql.{name}"',
                    hint=f"Known: {', '.join('dp4sql.' + known for known in NAMES)}.",
                )

    def show(self, name: str) -> str:
        match name:
            case "epsilon" | "max_charge":
                value = getattr(self, name)
                return "default" if value is None else str(float(value))
            case "error_columns":
                return "on" if self.error_columns else "off"
            case _:
                raise InvalidParameter(f'unrecognized configuration parameter "dp4sql.{name}"')


LEAST = Fraction(1, 10**6)
"""The smallest epsilon that can be asked for: less would answer with noise alone."""

NAMES = ("epsilon", "error_columns", "max_charge")


def _optional(name: str, text: str) -> Fraction | None:
    return None if text.lower() == "default" else _positive(name, text)


def _positive(name: str, text: str) -> Fraction:
    try:
        value = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if value < LEAST:
        raise InvalidParameter(
            f'invalid value for parameter "dp4sql.{name}": "{text}"',
            hint="A number of at least 0.000001, such as 0.5.",
        )
    return value


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
