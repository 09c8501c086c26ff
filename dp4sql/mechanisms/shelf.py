"""The releases of one statement that are kept already, and those that it adds."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from dp4sql.errors import LedgerBroken
from dp4sql.mechanisms.calls import Kept
from dp4sql.mechanisms.release import Measured
from dp4sql.mechanisms.stages import Plan, Price, Release
from dp4sql.mechanisms.stored import (
    MOST_ROWS,
    Identity,
    decode,
    digest,
    encode,
    put_together,
    taken_apart,
)
from dp4sql.settings import Reuse

log = logging.getLogger(__name__)

CHARGED_AGAIN: Final = "a repeat will be charged again"


@dataclass(frozen=True, slots=True)
class Found:
    """A release that is kept with as little noise as is asked for, or less."""

    measured: Measured
    scales: tuple[Fraction, ...]
    at: str


@dataclass(slots=True)
class Shelf:
    """`scope` tells databases, their data versions and policy files apart. `identities` are those of the
    statement's stages. `contents` has, by stage, what its values follow from, as far as that is known.
    `found` are the stages to be shown again, `coarser` those that are kept with more noise than is asked
    for, and `notices` say what could not be kept."""

    kept: Kept
    scope: str
    identities: Sequence[Identity]
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

    def _keys(self, index: int) -> list[str] | None:
        """What each measurement of a stage is kept under; None where that depends on values to come."""
        identity = self.identities[index]
        before = range(index) if identity.dependent else ()
        if any(i not in self.contents for i in before):
            return None
        known = [self.contents[i] for i in before]
        return [f"{self.scope}/{digest(text, *known)}" for text in identity.texts]

    def _find_release(self, index: int, scales: Sequence[Fraction]) -> None:
        texts = [self.kept.find(key) for key in self._keys(index) or ()]
        present = [text for text in texts if text is not None]
        if not present or len(present) < len(scales):
            return
        parts = [decode(text) for text in present]
        measured = put_together(parts)
        if measured is None:
            return
        if any(part.scale > scale for part, scale in zip(parts, scales, strict=True)):
            self.coarser.add(index)
            return
        self.contents[index] = digest(*present)
        at = max(part.at for part in parts)
        self.found[index] = Found(measured, tuple(part.scale for part in parts), at)

    def keep(
        self, index: int, measured: Measured, scales: Sequence[Fraction], at: datetime.datetime
    ) -> None:
        """Keep a release whose charge is on disk. Where that fails the answer at hand is good all the same,
        and a repeat will be charged."""
        keys = self._keys(index)
        if not keys:
            return
        if len(measured.noisy[0]) > MOST_ROWS:
            self.notices.append(f"not kept, as it has more than {MOST_ROWS} rows: {CHARGED_AGAIN}")
            return
        texts = [encode(stored) for stored in taken_apart(measured, scales, at)]
        self.contents[index] = digest(*texts)
        try:
            better = self._better(zip(keys, texts, scales, strict=True))
            self.kept.keep_all(dict(better))
        except LedgerBroken as error:
            log.error("a release could not be kept: %s", error)
            self.notices.append(f"not kept, as the ledger failed: {CHARGED_AGAIN}")

    def _better(self, new: Iterable[tuple[str, str, Fraction]]) -> Iterator[tuple[str, str]]:
        """The new measurements that have no more noise than those kept under their keys."""
        for key, text, scale in new:
            present = self.kept.find(key)
            if present is None or decode(present).scale >= scale:
                yield key, text

    # ------------------------------------------------------------ words

    def words(self, plan: Plan) -> list[str]:
        """What is shown again and what is not, for the client."""
        releases = [index for index, _ in plan.releases()]
        if releases and all(index in self.found for index in releases):
            at = max(found.at for found in self.found.values())
            return [f"shown again as released {_moment(at)}; nothing is charged for a repeat"]
        said = []
        if self.found:
            at = max(found.at for found in self.found.values())
            said.append(
                f"a part is shown again as released {_moment(at)}; only the rest is charged"
            )
        if self.coarser:
            said.append("a noisier answer is kept already; this one is new, and charged")
        return [*said, *self.notices]


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
                    charges[policy] += bound / asked.scales[index, i]
    return Price(scales, charges)
