"""numeric on the wire: groups of four decimal digits, most significant first, each an int16.

Header: number of groups, weight (the power of 10000 of the first group), sign, decimals shown.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from fractions import Fraction
from typing import Final

_HEADER = struct.Struct("!HhHH")
_NEGATIVE: Final = 0x4000
_SPECIAL: Final = {"NaN": 0xC000, "Infinity": 0xD000, "-Infinity": 0xF000}
_BY_SIGN: Final = {sign: Decimal(name) for name, sign in _SPECIAL.items()}


def to_text(value: Decimal | int | Fraction) -> bytes:
    """Plain digits, as many decimals as the value carries; never an exponent."""
    number = as_decimal(value)
    if not number.is_finite():
        return _special(number).encode()
    return f"{number if number else abs(number):f}".encode()


def to_binary(value: Decimal | int | Fraction) -> bytes:
    number = as_decimal(value)
    if not number.is_finite():
        return _HEADER.pack(0, 0, _SPECIAL[_special(number)], 0)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    padding = -scale % 4
    groups = _groups(int("".join(map(str, digits))) * 10 ** (max(0, exponent) + padding))
    weight = len(groups) - (scale + padding) // 4 - 1
    while groups and groups[-1] == 0:
        groups.pop()
    marks = _NEGATIVE if sign and groups else 0
    header = _HEADER.pack(len(groups), weight if groups else 0, marks, scale)
    return header + struct.pack(f"!{len(groups)}H", *groups)


def from_text(text: str) -> Decimal:
    """Raises InvalidOperation on other text, OverflowError beyond the range Postgres has."""
    number = Decimal(text)
    if number.is_finite() and not -16_384 <= number.adjusted() <= 131_072:
        raise OverflowError
    return number


MOST_GROUPS: Final = 1000
"""More digits than any number needs here, and few enough that nobody waits for them."""


def from_binary(data: bytes) -> Decimal:
    """As `from_text`; ValueError where it is none."""
    count, weight, sign, scale = _HEADER.unpack_from(data)
    if count > MOST_GROUPS:
        raise OverflowError
    if sign in _BY_SIGN:
        return _BY_SIGN[sign]
    groups = struct.unpack(f"!{count}H", data[_HEADER.size :])
    if sign not in (0, _NEGATIVE) or any(group > 9999 for group in groups):
        raise ValueError("not a numeric")
    whole = 0
    for group in groups:
        whole = whole * 10000 + group
    exact = _shift(whole, 4 * (weight - count + 1), scale)
    return Decimal((1 if sign else 0, _digits(exact), -scale))


def as_decimal(value: Decimal | int | Fraction) -> Decimal:
    """Exact where the value has finitely many decimals, 16 significant digits or more otherwise."""
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return Decimal(value)


def _special(number: Decimal) -> str:
    return "NaN" if number.is_nan() else "-Infinity" if number < 0 else "Infinity"


def _groups(whole: int) -> list[int]:
    groups = []
    while whole:
        whole, group = divmod(whole, 10000)
        groups.append(group)
    return groups[::-1]


def _shift(whole: int, power: int, scale: int) -> int:
    """whole * 10**power as an integer number of 10**-scale."""
    power += scale
    factor: int = 10 ** abs(power)
    return whole * factor if power >= 0 else whole // factor


def _digits(whole: int) -> tuple[int, ...]:
    return tuple(map(int, str(whole)))
