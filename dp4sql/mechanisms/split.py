"""dp4sql.split: how much of epsilon each output column's measurements get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dp4sql.errors import InvalidParameter
from dp4sql.mechanisms.apportion import apportioned
from dp4sql.mechanisms.lineage import Output
from dp4sql.mechanisms.stages import Plan, Release
from dp4sql.settings import Split
from dp4sql.sql.parse import nearest


def weights(
    plan: Plan, outputs: Sequence[Output], split: Split, epsilons: Mapping[str, Fraction]
) -> Mapping[tuple[int, int], Fraction]:
    """The weight of each measurement (stage, index): the largest of the columns that it goes into, and 1
    where the session names none of them, times its weight among those of its column. A query that measures
    nothing has nothing to split."""
    if not plan.releases():
        return {}
    given = {_index(outputs, key): weight for key, weight in split}
    found: dict[tuple[int, int], Fraction] = {}
    for i, output in enumerate(outputs):
        for key in _measured(plan, output):
            found[key] = max(found.get(key, Fraction(0)), given.get(i, Fraction(1)))
    for key, part in apportioned(plan, epsilons).items():
        found[key] = found.get(key, Fraction(1)) * part
    return found


def _measured(plan: Plan, output: Output) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for source in output.sources:
        stage = plan.stages[source.stage]
        if isinstance(stage, Release):
            column = next(c for c in stage.built if c.agg.id == source.column)
            found |= {(source.stage, i) for i in column.measurements}
    return found


def _index(outputs: Sequence[Output], key: str | int) -> int:
    """The output column that `key` names; InvalidParameter where it is none, several, or not noisy."""
    if isinstance(key, int):
        hits = [key - 1] if 1 <= key <= len(outputs) else []
    else:
        hits = [i for i, output in enumerate(outputs) if output.name == key]
    shown = str(key) if isinstance(key, int) else f'"{key}"'
    if len(hits) > 1:
        raise _no_column(f"{shown} is the name of several output columns", outputs)
    if not hits:
        close = nearest(str(key), (o.name for o in outputs if o.sources))
        perhaps = f', perhaps "{close}" was meant' if close else ""
        raise _no_column(f"the query has no output column {shown}{perhaps}", outputs)
    if not outputs[hits[0]].sources:
        raise _no_column(f"output column {shown} carries no noise", outputs)
    return hits[0]


def _no_column(why: str, outputs: Sequence[Output]) -> InvalidParameter:
    noisy = [f"{i}: {o.name}" for i, o in enumerate(outputs, 1) if o.sources]
    return InvalidParameter(
        f"dp4sql.split does not fit the query: {why}",
        hint=f"Noisy output columns, by position: {', '.join(noisy) or 'none'}. "
        "RESET dp4sql.split shares equally.",
    )
