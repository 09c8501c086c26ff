"""A draft of a policy file, every choice explained. The curator decides; nothing here is a recommendation
to publish."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from dp4sql.curator.catalogue import FoundTable, Reference
from dp4sql.curator.measured import Measured, outward, rounded_up, shared

#: Tables of these names hold those who can be harmed.
PEOPLE: Final = frozenset(
    {
        *("account", "client", "customer", "doctor", "employee", "faculty", "household", "member"),
        *("passenger", "patient", "person", "people", "pupil", "staff", "student", "subscriber"),
        *("supplier", "teacher", "tenant", "user", "worker"),
    }
)
MARK: Final = "measured-from-data"
LIMITS: Final = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}


@dataclass(frozen=True, slots=True)
class Choices:
    """What the curator decided: whom to protect, and which of the other tables everybody may read."""

    entities: tuple[str, ...]
    public: tuple[str, ...] = ()
    epsilon: str = "1.0"
    budget: str = "20"


# ---------------------------------------------------------------- structure


def acyclic(tables: dict[str, FoundTable]) -> tuple[dict[str, FoundTable], list[str]]:
    """The tables without the references that close a circle, and a sentence on each of those."""
    kept = {title: replace(table, references=()) for title, table in tables.items()}
    left_out = []
    for title, table in tables.items():
        for r in table.references:
            if title in above(r.to, kept):
                left_out.append(f"{title}({', '.join(r.columns)}) refers to {r.to} in a circle")
            else:
                whole = kept[title]
                kept[title] = replace(whole, references=(*whole.references, r))
    return kept, left_out


def above(title: str, tables: Mapping[str, FoundTable]) -> set[str]:
    """The table and all that it refers to, directly or not."""
    found = {title}
    for reference in tables[title].references:
        found |= above(reference.to, tables)
    return found


def owned(entity: str, tables: Mapping[str, FoundTable]) -> list[str]:
    """The entity and all tables that refer to it, directly or not: what its policy has to label."""
    return [title for title in tables if entity in above(title, tables)]


def proposed_entities(tables: Mapping[str, FoundTable]) -> tuple[str, ...]:
    """Tables named after people; else the one that owns rows in the most tables."""
    named = [t for t, table in tables.items() if _words(table.name) & PEOPLE]
    if named or not tables:
        return tuple(named)
    return (max(tables, key=lambda t: len(owned(t, tables))),)


def _words(name: str) -> set[str]:
    words = re.split(r"[^a-z]+", name.lower())
    return {form for word in words for form in (word, word.removesuffix("s"))}


# ---------------------------------------------------------------- text


def draft(
    tables: Mapping[str, FoundTable],
    measured: Mapping[str, Measured],
    choices: Choices,
    database: str,
    left_out: Sequence[str],
) -> str:
    lines = [
        f"# A draft for {database}, written by dp4sql init. docs/curator.md explains every line.",
        f"# Lines marked {MARK} hold what the data shows today, rounded outward. Such numbers say",
        "# something about somebody in the data, and tomorrow's data may exceed them: replace each by a",
        "# limit that holds by rule, then take the mark away.",
        *(
            f"# Left out: {sentence}; ownership follows references one way."
            for sentence in left_out
        ),
        "dp4sql: 1",
        "",
        "tables:",
    ]
    for title, table in tables.items():
        lines += [*_table(title, table, measured[title]), ""]
    lines += ["policies:"]
    for entity in choices.entities:
        lines += [*_policy(entity, tables, choices), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(title: str, table: FoundTable, measured: Measured) -> Iterator[str]:
    yield f"  {_name(title)}:"
    guessed = "  # guessed: these columns tell all rows apart today" if table.key_guessed else ""
    yield f"    key: {_flow(table.key)}{guessed}"
    yield f"    rows: {max(1, rounded_up(measured.rows))}  # {MARK}: how many can there ever be?"
    yield from _references(table.references)
    yield from _frequencies(table, measured)
    yield "    columns:"
    for column, type in table.columns.items():
        yield from _column(column, type, table, measured)
    for column, type in table.left_out.items():
        yield f"      # {_name(column)} is left out: policies know no type {type}"


def _references(references: Sequence[Reference]) -> Iterator[str]:
    if references:
        yield "    foreign_keys:"
    for r in references:
        note = "  # guessed from names; every value occurs there today" if r.guessed else ""
        yield f"      - {{columns: {_flow(r.columns)}, references: {_name(r.to)}}}{note}"


def _frequencies(table: FoundTable, measured: Measured) -> Iterator[str]:
    columns = dict.fromkeys(shared(table))
    if columns:
        yield f"    max_frequency:  # {MARK}: how many rows may share one value, by rule?"
    for shared_columns in columns:
        most = max(1, measured.frequencies[shared_columns])
        yield f"      - {{columns: {_flow(shared_columns)}, rows: {most}}}"


def _column(name: str, type: str, table: FoundTable, measured: Measured) -> Iterator[str]:
    parts, notes = [f"type: {json.dumps(type) if '(' in type else type}"], []
    if name in measured.nulls or name in table.nullable - set(table.key):
        parts.append("nullable: true")
    span = _range(name, type, table, measured)
    if span:
        parts.append(f"range: [{', '.join(span)}]")
        notes.append(f"{MARK}: what do honest values lie between?")
    note = f"  # {'; '.join(notes)}" if notes else ""
    yield f"      {_name(name)}: {{{', '.join(parts)}}}{note}"
    if name in measured.values:
        yield f"      #   domain: {_flow(measured.values[name])}"
        yield f"      #   {MARK}: GROUP BY needs such bins. Put them into the braces above where this list"
        yield "      #   is public anyway."


def _range(name: str, type: str, table: FoundTable, measured: Measured) -> tuple[str, str] | None:
    """Numbers that identify something are not summed."""
    identifies = {*table.key, *(c for r in table.references for c in r.columns)}
    low, high = measured.ranges.get(name, (None, None))
    if name in identifies or low is None or not _finite(low, high):
        return None
    least, most = outward(low, high)
    if limit := LIMITS.get(type):
        return str(max(int(least), -limit)), str(min(int(most), limit))
    return least, most


def _finite(*ends: Any) -> bool:
    """Drivers give the first and the last day that Python knows for minus infinity and infinity."""
    return all(
        1 < e.year < 9999
        if isinstance(e, datetime.date)
        else not isinstance(e, (float, Decimal)) or Decimal(e).is_finite()
        for e in ends
    )


def _policy(entity: str, tables: Mapping[str, FoundTable], choices: Choices) -> Iterator[str]:
    mine = owned(entity, tables)
    others = [t for t in tables if not any(t in owned(e, tables) for e in choices.entities)]
    yield f"  {_name(entity)}:"
    yield f"    entity: {_name(entity)}"
    yield f"    epsilon: {choices.epsilon}  # what one query spends; smaller protects more and answers with more noise"
    yield f"    budget: {choices.budget}  # what all queries together may spend"
    yield "    labels:"
    yield "      # del hides whether a row exists. {rep: [column, ...]} hides only values, and costs less noise"
    yield "      # in counts; pub protects nothing."
    for title in sorted(mine, key=lambda t: t != entity):
        yield f"      {_name(title)}: del"
    for title in others:
        if title in choices.public:
            yield f"      {_name(title)}: pub  # everybody may read it exactly"
        else:
            yield f"      # {_name(title)}: pub  # hidden from analysts until this line says that it is public"


def _name(text: str) -> str:
    """A YAML scalar, quoted where YAML would read something else."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", text)
    words = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
    return text if plain and text.lower() not in words else json.dumps(text, ensure_ascii=False)


def _flow(names: Sequence[str]) -> str:
    return f"[{', '.join(map(_name, names))}]"
