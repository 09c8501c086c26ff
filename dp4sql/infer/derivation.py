"""What EXPLAIN prints: a rule's name, the terms it concludes, the derivations of its premises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dp4sql.infer.rules import Rule
from dp4sql.infer.terms import Terms, show


@dataclass(frozen=True, slots=True)
class Derivation:
    rule: Rule
    terms: Terms
    premises: tuple[Derivation, ...] = ()
    about: str = ""

    def lines(self, depth: int = 0) -> Iterator[str]:
        about = f"  {self.about}" if self.about else ""
        yield f"{'  ' * depth}{show(self.terms)}  ({self.rule}){about}"
        for premise in self.premises:
            yield from premise.lines(depth + 1)
