"""One field of a profile: which column it shows, whether that is private, how its values are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from dp4sql.algebra.ownership import owning_links
from dp4sql.algebra.schema import Table
from dp4sql.errors import PolicyError
from dp4sql.policy.labels import Del, Policy, PolicySet, Pub, Rep
from dp4sql.policy.lines import Where
from dp4sql.policy.profiles.files import bad, find_domain, locate, read_codebook, read_scores
from dp4sql.policy.profiles.models import FieldModel
from dp4sql.policy.profiles.types import Domain, Field, ScorerName, normal
from dp4sql.policy.source import Source, suggest


@dataclass(frozen=True, slots=True)
class Reading:
    """The profile being read, and where its mistakes go."""

    name: str
    policies: PolicySet
    source: Source

    @property
    def base(self) -> Path:
        """Where the files that the policy names are looked for first."""
        return Path(self.policies.source).parent

    def report(self, where: Where, found: str, hint: str, rule: str | None = None) -> None:
        self.source.report(("profiles", self.name, *where), found, hint, rule)

    def adopt(self, where: Where, error: PolicyError) -> None:
        """Problems of another file: on its own line where there is one, else on the entry's."""
        at = ("profiles", self.name, *where)
        for problem in error.problems:
            if problem.line:
                self.source.reports.append((at, problem))
            else:
                self.source.report(at, f"{problem.file}: {problem.found}", problem.hint)


def rep(policy: Policy, table: str) -> frozenset[str]:
    """The columns of `table` that are private under `policy`."""
    label = policy.labels.get(table, Pub())
    return label.attributes if isinstance(label, Rep) else frozenset()


def build_field(
    reading: Reading, name: str, model: FieldModel, entity: str, policy: Policy
) -> Field | None:
    """None when its column cannot be read; every mistake is reported."""
    where: Where = ("fields", name)
    table = _table(reading, (*where, "column"), model.column, entity)
    if table is None:
        return None
    column = model.column.rpartition(".")[2]
    field = Field(
        name,
        table.name,
        column,
        private=column in rep(policy, table.name),
        identifier=model.identifier,
        comment=model.comment,
    )
    _check_private(reading, where, field, policy)
    if model.domain is None or model.identifier:
        return field
    try:
        return _scored(reading, field, model, table, find_domain(reading.base, model.domain))
    except PolicyError as error:
        reading.adopt(where, error)
        return field


def _check_private(reading: Reading, where: Where, field: Field, policy: Policy) -> None:
    public = field.column in reading.policies.public_columns(field.table)
    if not public and not field.private and not field.identifier:
        what = f"{field.table}.{field.column} is private, but not under {policy.name}"
        reading.report(where, what, f"label it rep under {policy.name}, too", "Withhold")


# ---------------------------------------------------------------- tables


def _table(reading: Reading, where: Where, path: str, entity: str) -> Table | None:
    name, _, column = path.rpartition(".")
    table = reading.policies.schema.tables.get(name)
    if table is None:
        reading.report(where, f'"{path}" names no declared table', "column: table.column")
    elif column not in table.columns:
        what = f'{name} has no column "{column}"'
        reading.report(where, what, suggest(column, table.columns))
    elif any(isinstance(p.labels.get(name), Del) for p in reading.policies.policies):
        what = f"{name} is del: that a row exists is private, and a profile shows it"
        reading.report(where, what, f"label {name} {{rep: [...]}}", "Existence")
    elif name == entity or _is_owned(reading, where, table, entity):
        return table
    return None


def _is_owned(reading: Reading, where: Where, table: Table, entity: str) -> bool:
    keys = [fk for fk in table.foreign_keys if fk.references == entity]
    if len(keys) != 1:
        what = f"{table.name} has {len(keys)} foreign keys to {entity}"
        hint = f"a field stands in {entity} or in a table with one foreign key to it"
        reading.report(where, what, hint, "Owner")
    elif not frozenset(keys[0].columns) <= reading.policies.public_columns(table.name):
        what = f"which rows of {table.name} are whose is private"
        reading.report(where, what, "leave the foreign key out of every rep list", "Owner")
    elif owning_links(reading.policies.schema, entity, table.name) != keys:
        # Its values would be those of others, too, who were not charged.
        what = f"rows of {table.name} belong to others, too, through further references"
        hint = f"a field stands in {entity} or in a table that refers to it alone"
        reading.report(where, what, hint, "Owner")
    else:
        return True
    return False


# ---------------------------------------------------------------- scores


def _scored(
    reading: Reading, field: Field, model: FieldModel, table: Table, domain: Domain
) -> Field:
    scorers = (model.scorer,) if isinstance(model.scorer, str) else tuple(model.scorer)
    codebook = _codebook(reading, model, domain) if "codebook" in scorers else {}
    scores = _scores(reading, model, domain) if "table" in scorers else {}
    known = tuple(dict.fromkeys((*codebook, *scores)))
    declared = table.columns[field.column].domain
    listed = tuple(dict.fromkeys(normal(str(v)) for v in declared)) if declared else known
    _check_list(reading, field, model, listed)
    _check_holes(reading, field, scorers, listed, known)
    return replace(
        field,
        domain=domain,
        scorers=scorers,
        values=None if model.values == "free_text" or not listed else listed,
        codebook=codebook,
        scores=scores,
    )


def _codebook(reading: Reading, model: FieldModel, domain: Domain) -> Mapping[str, int]:
    name = model.codebook or f"codebooks/{domain.name}.csv"
    return read_codebook(locate(reading.base, name), domain)


def _scores(
    reading: Reading, model: FieldModel, domain: Domain
) -> Mapping[str, tuple[Fraction, ...]]:
    if model.scores is None:
        where = f"profiles.{reading.name}"
        raise bad(where, 0, "the scorer table has no file", "add scores: path/to/file.csv")
    return read_scores(locate(reading.base, model.scores), domain)


def _check_list(reading: Reading, field: Field, model: FieldModel, listed: tuple[str, ...]) -> None:
    if model.values == "public_list" and not listed:
        hint = "declare a domain on the column, or use a codebook"
        reading.report(("fields", field.name, "values"), "a public_list without values", hint)


def _check_holes(
    reading: Reading,
    field: Field,
    scorers: tuple[ScorerName, ...],
    listed: tuple[str, ...],
    known: tuple[str, ...],
) -> None:
    """Lexical and embedding know every text; codebooks and tables have to be complete."""
    missing = sorted(set(listed) - set(known))
    if missing and not {"lexical", "embedding"} & set(scorers):
        what = f'no scorer of {field.name} knows "{missing[0]}" from the column\'s domain'
        hint = "add it to the codebook, or add lexical to the scorers"
        reading.report(("fields", field.name), what, hint)
