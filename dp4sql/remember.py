"""Results of pure functions, kept as long as there is room: what clients send must not fill the memory."""

from __future__ import annotations

import datetime
import threading
from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from typing import Generic, ParamSpec, TypeVar

#: What even the smallest entry weighs.
_OVERHEAD = 100

P = ParamSpec("P")
T = TypeVar("T")


class Remembered(Generic[P, T]):
    """`work`, whose latest results weigh no more than `total` together; `weigh` says what one weighs.

    Arguments are positional and hashable. What weighs more than an eighth of `total` is not kept. Safe to
    share between threads: EXPLAIN waits for the ledger in one of its own.
    """

    def __init__(self, work: Callable[P, T], weigh: Callable[P, int], total: int) -> None:
        self._work, self._weigh, self._total = work, weigh, total
        self._kept: OrderedDict[tuple[object, ...], tuple[T, int]] = OrderedDict()
        self.weight = 0
        self._lock = threading.Lock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (args, exactly(args))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        found = self._work(*args, **kwargs)
        weight = _OVERHEAD + self._weigh(*args, **kwargs)
        with self._lock:
            self._keep(key, found, weight)
        return found

    def _keep(self, key: tuple[object, ...], found: T, weight: int) -> None:
        if weight <= self._total // 8 and key not in self._kept:
            self._kept[key] = found, weight
            self.weight += weight
        while self.weight > self._total:
            self.weight -= self._kept.popitem(last=False)[1][1]


def exactly(value: object) -> object:
    """Tells apart what Python calls equal: 1, True, 1.0 and Decimal("1.00")."""
    if isinstance(value, tuple):
        return tuple(map(exactly, value))
    if isinstance(value, int | float | Decimal | datetime.date):
        return type(value), repr(value)
    return None
