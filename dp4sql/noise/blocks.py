"""A measurement of a whole column, in blocks: what OpenDP costs is the value, not the call.

Its exact samplers ask the system's generator for randomness some ten times a value, 6 to 9 microseconds of
one core (docs/decisions/0010-wide-results.md). They run without Python's lock, so every core takes a block.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray
from opendp.core import function_eval

Array: TypeAlias = NDArray[np.int64]
Ints = TypeVar("Ints", list[int], Array)
Measure: TypeAlias = Callable[[list[int] | Array], Sequence[int]]

LIMIT: Final = 2**62
"""Values are clamped to +-LIMIT before noise: 1-Lipschitz, so no sensitivity grows, and no integer overflows.
OpenDP adds noise to exact integers and clamps the result to 64 bits, which is post-processing."""

BLOCK: Final = 1 << 12
SHARED: Final = 1 << 10
"""So many values, some 7 milliseconds, are worth a second thread."""
CORES: Final = os.cpu_count() or 1
_threads = ThreadPoolExecutor(CORES, thread_name_prefix="noise")


def measure(measurement: Any) -> Measure:
    """What `measurement` does to vectors of 64-bit integers: `invoke`, which would ask for their type every
    time, and take as long for that as for some draws."""
    return partial(function_eval, measurement.function, TI=dp.Vec[dp.i64])


def noised(measurement: Measure, values: Ints) -> Ints:
    """Each of `values` with noise of its own."""
    if isinstance(values, np.ndarray):
        return _column(measurement, values)
    whole = [max(-LIMIT, min(LIMIT, int(value))) for value in values]
    if len(whole) > SHARED:
        found: list[int] = _column(measurement, np.array(whole, np.int64)).tolist()
        return found
    return list(measurement(whole)) if whole else []


def _column(measurement: Measure, values: Array) -> Array:
    found, size = np.empty(len(values), np.int64), _size(len(values))
    starts = range(0, len(values), size)
    each = _each(measurement, (values[i : i + size] for i in starts))
    for start, noisy in zip(starts, each, strict=True):
        found[start : start + len(noisy)] = noisy
    return found


def _size(length: int) -> int:
    """Blocks end at about the same time on all cores."""
    return max(SHARED // 2, min(BLOCK, -(-length // CORES)))


def _each(measurement: Measure, blocks: Iterable[Array]) -> Iterator[Sequence[int]]:
    """Never more blocks under way than there are cores, and one: other statements want their turn."""
    under_way: deque[Future[Sequence[int]]] = deque()
    for block in blocks:
        under_way.append(_threads.submit(measurement, np.clip(block, -LIMIT, LIMIT)))
        if len(under_way) > CORES:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()
