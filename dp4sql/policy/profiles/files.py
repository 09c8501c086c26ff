"""Public files beside a policy: domains, codebooks, score tables, compatibility tables.

A file is looked for beside the policy first, then among those that dp4sql ships, so a policy can bring its
own. Every mistake is a PolicyError that names the file and the line.
"""

from __future__ import annotations

import csv
import re
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Final

from dp4sql.errors import PolicyError, Problem
from dp4sql.policy.profiles.models import DomainModel
from dp4sql.policy.profiles.types import Category, Domain, normal
from dp4sql.policy.shape import read_shape
from dp4sql.policy.source import read, suggest

_CHECKOUT = Path(__file__).parents[3] / "policies"
_INSTALLED = Path(sysconfig.get_path("data"), "share", "dp4sql", "policies")
SHIPPED: Final = _CHECKOUT if _CHECKOUT.is_dir() else _INSTALLED


def bad(file: str, line: int, found: str, hint: str) -> PolicyError:
    """One problem; line 0 is about the file as a whole."""
    return PolicyError([Problem(file, line, found, hint)])


def locate(base: Path, name: str) -> Path:
    """The file `name` beside the policy, or the shipped one."""
    for folder in (base, SHIPPED):
        if (folder / name).is_file():
            return folder / name
    raise bad(name, 0, "the file does not exist", "paths are relative to the policy file")


def domain_names(base: Path) -> list[str]:
    found = {p.stem for folder in (base, SHIPPED) for p in (folder / "domains").glob("*.yaml")}
    return sorted(found)


def find_domain(base: Path, name: str) -> Domain:
    names = domain_names(base)
    if not re.fullmatch(r"\w+", name) or name not in names:
        raise bad("domains", 0, f'there is no domain "{name}"', suggest(name, names))
    return read_domain(locate(base, f"domains/{name}.yaml"))


@lru_cache(maxsize=128)
def read_domain(path: Path) -> Domain:
    source = read(path)
    model = read_shape(DomainModel, source.content, source)
    if model is None or source.reports:
        raise source.error()
    codes = [c.code for c in model.categories]
    if model.name != path.stem:
        source.report(("name",), f"the domain is named {model.name}", f"name it {path.stem}")
    for i, code in enumerate(codes):
        if code in codes[:i]:
            source.report(("categories", i), f'code "{code}" stands twice', "keep one of them")
    if source.reports:
        raise source.error()
    categories = (
        Category(c.code, c.title, (c.title, *c.texts), c.parent) for c in model.categories
    )
    return Domain(model.name, model.title, model.source, model.verified, tuple(categories))


def read_codebook(path: Path, domain: Domain) -> dict[str, int]:
    """CSV with the header value,code: normal text to position in the domain."""
    found: dict[str, int] = {}
    for row in _rows(path, ("value", "code")):
        value = normal(row.cells[0])
        if value in found:
            raise row.bad(f'value "{value}" stands twice', "keep one of them")
        found[value] = row.position(1, domain)
    return found


def read_scores(path: Path, domain: Domain) -> dict[str, tuple[Fraction, ...]]:
    """CSV with the header value,code,score: every value has a score for every code."""
    found: dict[str, dict[int, Fraction]] = {}
    for row in _rows(path, ("value", "code", "score")):
        found.setdefault(normal(row.cells[0]), {})[row.position(1, domain)] = row.score(2)
    for value, scores in found.items():
        for i, code in enumerate(domain.codes):
            if i not in scores:
                what = f'value "{value}" has no score for code {code}'
                raise bad(str(path), 0, what, f"score each of the {len(domain.codes)} codes")
    return {v: tuple(s[i] for i in range(len(domain.codes))) for v, s in found.items()}


def read_compatibility(
    path: Path, down: Domain, across: Domain
) -> tuple[tuple[Fraction, ...], ...]:
    """CSV: the header lists the codes of `across`, the first column those of `down`."""
    header, *rows = _lines(path)
    columns = [header.position(i, across) for i in range(1, len(header.cells))]
    table: dict[tuple[int, int], Fraction] = {}
    for row in rows:
        row.expect(len(header.cells))
        for i, column in enumerate(columns, 1):
            table[row.position(0, down), column] = row.score(i)
    for i, a in enumerate(down.codes):
        for j, b in enumerate(across.codes):
            if (i, j) not in table:
                what = f"no entry for {down.name} {a} with {across.name} {b}"
                raise bad(str(path), 0, what, "each pair of codes needs one")
    return tuple(
        tuple(table[i, j] for j in range(len(across.codes))) for i in range(len(down.codes))
    )


# ---------------------------------------------------------------- CSV


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a CSV file and where it stands."""

    file: Path
    line: int
    cells: Sequence[str]

    def bad(self, found: str, hint: str) -> PolicyError:
        return bad(str(self.file), self.line, found, hint)

    def expect(self, count: int) -> None:
        if len(self.cells) != count:
            raise self.bad(f"{len(self.cells)} cells", f"{count} a row, as in the header")

    def position(self, cell: int, domain: Domain) -> int:
        code = self.cells[cell]
        if code not in domain.codes:
            what = f'code "{code}" is not in domain {domain.name}'
            raise self.bad(what, f"its codes: {', '.join(domain.codes)}")
        return domain.codes.index(code)

    def score(self, cell: int) -> Fraction:
        try:
            number = Fraction(self.cells[cell])
        except (ValueError, ZeroDivisionError):
            number = Fraction(-1)
        if not 0 <= number <= 1:
            raise self.bad(f'"{self.cells[cell]}" is not a score', "scores are numbers from 0 to 1")
        return number


def _lines(path: Path) -> list[_Row]:
    """Rows with something in them; lines that start with # are remarks."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            rows.append(_Row(path, number, [cell.strip() for cell in next(csv.reader([line]))]))
    if len(rows) < 2:
        raise bad(str(path), 0, "the file has no rows", "a header and at least one row")
    return rows


def _rows(path: Path, header: tuple[str, ...]) -> list[_Row]:
    first, *rows = _lines(path)
    if tuple(first.cells) != header:
        raise first.bad(f"the header {','.join(first.cells)}", f"the header is {','.join(header)}")
    for row in rows:
        row.expect(len(header))
    return rows
