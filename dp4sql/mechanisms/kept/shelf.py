"""The releases of one statement that are kept already, and those that it adds."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from dp4sql.algebra.types import Value
from dp4sql.errors import LedgerBroken
from dp4sql.mechanisms.calls import Kept
from dp4sql.mechanisms.kept.derived import (
    Entry,
    View,
    additions,
    derive,
    fits,
    from_text,
    public_bins,
    to_text,
    wider,
)
from dp4sql.mechanisms.kept.derived import entry as entry_of
from dp4sql.mechanisms.kept.stored import (
    MOST_ROWS,
    Identity,
    Stored,
    Unkeepable,
    decode,
    digest,
    encode,
    no_finer,
    put_together,
    taken_apart,
)
from dp4sql.mechanisms.release import Measured
from dp4sql.mechanisms.stages import Plan, Price, Release
from dp4sql.settings import Reuse

log = logging.getLogger(__name__)

MOST_ENTRIES: Final = 100
"""So many releases with the same FROM are looked at to derive one."""
CHARGED_AGAIN: Final = "a repeat will be charged again"
NOT_KEPT: Final = f"not kept, as the ledger failed after the charge: {CHARGED_AGAIN}"


@dataclass(frozen=True, slots=True)
class Found:
    """A release that is kept with as little noise as is asked for, or less."""

    measured: Measured
    scales: tuple[Fraction, ...]
    at: str
    sums: int = 0
    """Of how many noisy numbers the largest value is the sum, where it was derived; 0 where it was not."""


@dataclass(frozen=True, slots=True)
class Deriving:
    """What it takes to derive releases: how the stages of a statement are described, and who evaluates bins
    that need no data."""

    describe: Callable[[int], View | None]
    bins: Callable[[Release], Sequence[tuple[Value, ...]]]


@dataclass(slots=True)
class Shelf:
    """`scope` tells databases, their data versions and policy files apart. `identities` are those of the
    statement's stages. `clamped`: later stages see counts of at least 0. `contents` has, by stage, what its
    values follow from, as far as that is known. `found` are the stages to be shown again, `coarser` those that
    are kept with more noise than is asked for, and `notices` say what could not be kept."""

    kept: Kept
    scope: str
    identities: Sequence[Identity]
    deriving: Deriving
    clamped: bool = False
    contents: dict[int, str] = field(default_factory=dict)
    found: dict[int, Found] = field(default_factory=dict)
    coarser: set[int] = field(default_factory=set)
    notices: list[str] = field(default_factory=list)

    def find(self, plan: Plan, asked: Price, reuse: Reuse) -> None:
        """Look up every release of the statement. Errors are LedgerBroken."""
        for index, stage in enumerate(plan.stages):
            texts = self.identities[index].texts
            if not isinstance(stage, Release):
                if texts:
                    self.contents[index] = digest(*texts)
            elif reuse != "off":
                scales = [asked.scales[index, i] for i in range(len(texts))]
                self._find_release(index, scales)
                if reuse == "derived" and index not in self.found:
                    self._derive(index, stage, scales)

    # ------------------------------------------------------------ derived releases

    def _derive(self, index: int, stage: Release, scales: Sequence[Fraction]) -> None:
        wanted = None if self.identities[index].dependent else self.deriving.describe(index)
        if wanted is None or (stage.bins is not None and public_bins(stage) is None):
            return
        for entry in from_text(self.kept.find(self._registry(wanted))):
            if fits(wanted, entry):
                found = self._derived(stage, wanted, entry, scales)
                if found is not None:
                    self.found[index] = found
                    self._contain(index, found.at, repr(found.measured), repr(found.scales))
                    return

    def _derived(
        self, stage: Release, wanted: View, entry: Entry, scales: Sequence[Fraction]
    ) -> Found | None:
        texts = [self.kept.find(entry.measures[measure]) for measure in wanted.measures]
        parts = [part for text in texts if text is not None and (part := _read(text)) is not None]
        if len(parts) < len(texts) or put_together(parts) is None:
            return None
        if any(part.scale > scale for part, scale in zip(parts, scales, strict=True)):
            return None
        derived = derive(wanted, entry, parts, self.deriving.bins(stage))
        if derived is None:
            return None
        measured, most = derived
        wide = tuple(wider(part.scale, most) for part in parts)
        return Found(measured, wide, max(part.at for part in parts), max(most, 1))

    def _registry(self, view: View) -> str:
        return f"{self.scope}/from/{digest(view.source)}"

    def _registered(self, index: int, keys: Sequence[str]) -> dict[str, str]:
        """What is kept so that others may follow from this release."""
        found = None if self.identities[index].dependent else self.deriving.describe(index)
        new = None if found is None else entry_of(found, keys)
        if found is None or new is None:
            return {}
        registry = self._registry(found)
        text = self.kept.find(registry)
        entries = to_text(list(additions(from_text(text), new, MOST_ENTRIES)))
        return {} if entries == text else {registry: entries}

    # ------------------------------------------------------------ one release

    def _keys(self, index: int) -> list[str] | None:
        """What each measurement of a stage is kept under; None where that depends on values to come."""
        identity = self.identities[index]
        before = range(index) if identity.dependent else ()
        if any(i not in self.contents for i in before):
            return None
        known = [self.contents[i] for i in before]
        known += ["clamped"] if known and self.clamped else []
        digests = [digest(text, *known) for text in identity.texts] if known else identity.digests
        return [f"{self.scope}/{d}" for d in digests]

    def _contain(self, index: int, *texts: str) -> None:
        """What the values of a release follow from."""
        self.contents[index] = digest(self.identities[index].built, *texts)

    def _find_release(self, index: int, scales: Sequence[Fraction]) -> None:
        texts = [self.kept.find(key) for key in self._keys(index) or ()]
        present = [text for text in texts if text is not None]
        if not present or len(present) < len(scales):
            return
        parts = [part for text in present if (part := _read(text)) is not None]
        measured = put_together(parts)
        if measured is None or len(parts) < len(present):
            return
        if any(part.scale > scale for part, scale in zip(parts, scales, strict=True)):
            self.coarser.add(index)
            return
        self._contain(index, *present)
        at = max(part.at for part in parts)
        self.found[index] = Found(measured, tuple(part.scale for part in parts), at)

    def keep(
        self,
        index: int,
        stage: Release,
        measured: Measured,
        scales: Sequence[Fraction],
        at: datetime.datetime,
    ) -> None:
        """Keep a release whose charge is on disk. Where that fails the answer at hand is good all the same,
        and a repeat will be charged."""
        keys = self._keys(index)
        if not keys:
            return
        if len(measured.noisy[0]) > MOST_ROWS:
            self.notices.append(f"not kept, as it has more than {MOST_ROWS} rows: {CHARGED_AGAIN}")
            return
        try:
            texts = [encode(stored) for stored in taken_apart(measured, scales, at)]
            self._contain(index, *texts)
            better = self._better(zip(keys, texts, scales, strict=True))
            registered = self._registered(index, keys) if stage.node.keys else {}
            self.kept.keep_all(dict(better) | registered)
        except LedgerBroken as error:
            log.error("a release could not be kept: %s", error)
            self.notices.append(f"not kept, as the ledger failed: {CHARGED_AGAIN}")
        except Unkeepable as error:
            self.notices.append(f"not kept, as {error}: {CHARGED_AGAIN}")

    def _better(self, new: Iterable[tuple[str, str, Fraction]]) -> Iterator[tuple[str, str]]:
        """The new measurements that have no more noise than those kept under their keys."""
        for key, text, scale in new:
            text_now = self.kept.find(key)
            if text_now is None or no_finer(text_now, scale) or _read(text_now) is None:
                yield key, text

    # ------------------------------------------------------------ words

    def _whole(self) -> Iterator[str]:
        at = _moment(max(found.at for found in self.found.values()))
        most = max(found.sums for found in self.found.values())
        if not most:
            yield f"shown again as released {at}; nothing is charged for a repeat"
        elif most == 1:
            yield f"taken from an answer released {at}; nothing is charged for it"
        else:
            yield f"added up from an answer released {at}; nothing is charged for it"
            yield (
                f"sums are of up to {most} noisy numbers each, so they are noisier than a new answer; "
                "SET dp4sql.reuse = exact asks for one"
            )

    def words(self, plan: Plan) -> list[str]:
        """What is shown again and what is not, for the client."""
        releases = [index for index, _ in plan.releases()]
        if releases and all(index in self.found for index in releases):
            return [*self._whole()]
        said = []
        if self.found:
            at = max(found.at for found in self.found.values())
            said.append(
                f"a part is shown again as released {_moment(at)}; only the rest is charged"
            )
        if self.coarser:
            said.append("a noisier answer is kept already; this one is new, and charged")
        return [*said, *self.notices]


def _read(text: str) -> Stored | None:
    """None where somebody wrote something else there: then it is asked anew."""
    try:
        return decode(text)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        log.error("a release that is kept beside the ledger cannot be read")
        return None


def _moment(at: str) -> str:
    return f"{at[:16].replace('T', ' ')} UTC"


def repeated(plan: Plan, asked: Price, found: Mapping[int, Found]) -> Price:
    """The price where some releases are shown again: their own scales, and no charge for them."""
    scales = dict(asked.scales)
    for index, release in found.items():
        scales |= {(index, i): scale for i, scale in enumerate(release.scales)}
    charges = dict.fromkeys(asked.charges, Fraction(0))
    for index, stage in plan.releases():
        for i, m in enumerate(stage.measurements):
            for policy, bound in m.bounds.items():
                if bound and index not in found:
                    charges[policy] += m.loss(policy, asked.scales[index, i])
    return Price(scales, charges)
