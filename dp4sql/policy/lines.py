"""Where each entry of a policy file stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dp4sql.errors import Problem

Where: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the top of the file, such as ("tables", "student", "key", 0)."""


@dataclass(frozen=True, slots=True)
class Lines:
    """`marks` gives each entry its line (from 1; 0 for content that is no file) and its rank."""

    file: str = "<mapping>"
    marks: Mapping[Where, tuple[int, int]] = field(default_factory=dict)

    def mark(self, where: Where) -> tuple[int, int]:
        """Line and rank of the entry at `where`, or of the nearest entry around it."""
        while where and where not in self.marks:
            where = where[:-1]
        return self.marks.get(where, (0, 0))

    def problem(self, where: Where, found: str, hint: str, rule: str | None = None) -> Problem:
        return Problem(self.file, self.mark(where)[0], found, hint, rule)
