"""A policy file to a checked PolicySet: all mistakes in one run, each with file, line and what would work."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pydantic import ValidationError

from dp4sql.algebra.schema import Column, ForeignKey, Frequency, Schema, Table
from dp4sql.algebra.types import INTEGERS, NUMBERS, TIMES, Type, Value
from dp4sql.errors import PolicyError
from dp4sql.policy.checks import check
from dp4sql.policy.labels import Del, Label, Policy, PolicySet, Pub, Rep
from dp4sql.policy.models import (
    ColumnModel,
    FrequencyRows,
    IntegerDomain,
    PolicyFile,
    PolicyModel,
    RepLabel,
    TableModel,
)
from dp4sql.policy.shape import shape_problems
from dp4sql.policy.source import Path_, Source, read, suggest
from dp4sql.policy.types import NAMES, end_of_range, exact, parse_type, value_of

MAX_DOMAIN = 1_000_000


def load_policy(source: str | os.PathLike[str] | Mapping[str, Any]) -> PolicySet:
    """Read, validate and check a policy file (a path) or its parsed content (a mapping).

    Raises PolicyError with every problem found.
    """
    found = read(source)
    if found.problems:
        raise PolicyError(found.problems)
    try:
        model = PolicyFile.model_validate(found.content)
    except ValidationError as error:
        shape_problems(error, found)
        raise PolicyError(_in_order(found)) from None
    loaded = _Loader(found, model).load()
    check(loaded, found)
    if found.problems:
        raise PolicyError(_in_order(found))
    return loaded


def _in_order(found: Source):  # type: ignore[no-untyped-def]
    return sorted(found.problems, key=lambda problem: problem.line)


class _Loader:
    """Turns models into the dataclasses of the calculus, reporting what does not fit."""

    def __init__(self, found: Source, model: PolicyFile) -> None:
        self.found, self.model = found, model

    def load(self) -> PolicySet:
        tables = {name: self._table(name, t) for name, t in self.model.tables.items()}
        policies = tuple(self._policy(name, p, tables) for name, p in self.model.policies.items())
        covered = frozenset(t for p in policies for t in p.labels if t in tables)
        canonical = json.dumps(self.found.content, sort_keys=True, default=str)
        extras = {k: v for k in ("certify", "profiles") if (v := getattr(self.model, k)) is not None}
        return PolicySet(
            Schema(tables),
            policies,
            covered,
            self.found.name,
            hashlib.sha256(canonical.encode()).hexdigest(),
            extras,
        )

    # ------------------------------------------------------------ tables

    def _table(self, name: str, model: TableModel) -> Table:
        path: Path_ = ("tables", name)
        columns = {c: self._column((*path, "columns", c), c, m) for c, m in model.columns.items()}
        self._known(model.key, columns, (*path, "key"), f"key of {name}")
        if any(columns[k].nullable for k in model.key if k in columns):
            self.found.report((*path, "key"), f"a key column of {name} is nullable", "remove nullable: true")
        schema, _, relname = name.rpartition(".")
        return Table(
            name,
            tuple(model.key),
            columns,
            tuple(self._foreign_keys(path, name, model, columns)),
            tuple(self._frequencies(path, name, model, columns)),
            model.rows,
            model.comment,
            schema or "public",
            relname,
        )

    def _known(self, names: list[str], columns: Mapping[str, Column], path: Path_, what: str) -> bool:
        unknown = [n for n in names if n not in columns]
        for n in unknown:
            self.found.report(path, f'{what} names column "{n}", which is not declared', suggest(n, columns))
        return not unknown

    def _foreign_keys(self, path: Path_, name: str, model: TableModel, columns: Mapping[str, Column]) -> list[ForeignKey]:
        path = (*path, "foreign_keys")
        if isinstance(model.foreign_keys, dict):
            items = [((*path, c), [c], t) for c, t in model.foreign_keys.items()]
        else:
            items = [((*path, i), fk.columns, fk.references) for i, fk in enumerate(model.foreign_keys)]
        found = []
        for here, own, target in items:
            known = self._known(own, columns, here, f"foreign key of {name}")
            if target not in self.model.tables:
                self.found.report(here, f'table "{target}" is not declared', suggest(target, self.model.tables))
            elif len(own) != len(self.model.tables[target].key):
                key = ", ".join(self.model.tables[target].key)
                self.found.report(here, f"{len(own)} columns refer to the key ({key}) of {target}", "list one column a key column, in the same order")
            elif known:
                found.append(ForeignKey(tuple(own), target))
        return found

    def _frequencies(self, path: Path_, name: str, model: TableModel, columns: Mapping[str, Column]) -> list[Frequency]:
        path = (*path, "max_frequency")
        items: list[tuple[Path_, list[str], int, str]] = []
        if isinstance(model.max_frequency, dict):
            for column, value in model.max_frequency.items():
                rows, enforce = (value.rows, value.enforce) if isinstance(value, FrequencyRows) else (value, "trust")
                items.append(((*path, column), [column], rows, enforce))
        else:
            items = [((*path, i), f.columns, f.rows, f.enforce) for i, f in enumerate(model.max_frequency)]
        found = []
        for here, own, rows, enforce in items:
            if rows < 1:
                self.found.report(here, f"max_frequency {rows}", "a value occurs at least once where it occurs: 1 or more")
            elif enforce == "truncate":
                self.found.report(here, "enforce: truncate is not supported yet", "declare a bound that the data meets")
            elif self._known(own, columns, here, f"max_frequency of {name}"):
                found.append(Frequency(frozenset(own), rows))
        return found

    # ------------------------------------------------------------ columns

    def _column(self, path: Path_, name: str, model: ColumnModel) -> Column:
        type = parse_type(model.type)
        if type is None:
            self.found.report((*path, "type"), f'type "{model.type}" is not supported', suggest(model.type, NAMES))
            type = Type("text")
        return Column(
            name,
            type,
            model.nullable,
            self._range(path, model, type),
            self._unit(path, model, type),
            self._domain(path, model, type),
            self._other(path, model, type),
            model.comment,
        )

    def _range(self, path: Path_, model: ColumnModel, type: Type) -> tuple[Fraction, Fraction] | None:
        if model.range is None:
            return None
        here = (*path, "range")
        if type.kind not in NUMBERS | TIMES:
            self.found.report(here, f"a range on a {type.kind} column", "ranges are for numbers, dates and timestamps; a domain lists values")
            return None
        low, high = (end_of_range(self.found.text((*here, i), v), type) for i, v in enumerate(model.range))
        if low is None or high is None:
            self.found.report(here, f"range {list(model.range)} is not two values of type {type.kind}", "write [lowest, highest], dates as YYYY-MM-DD")
            return None
        if low > high:
            self.found.report(here, f"range {list(model.range)} is empty", "put the lower end first")
            return None
        return low, high

    def _unit(self, path: Path_, model: ColumnModel, type: Type) -> Fraction | None:
        if model.unit is None:
            return None
        unit = exact(self.found.text((*path, "unit"), model.unit))
        if unit is None or unit <= 0 or type.kind not in NUMBERS:
            self.found.report((*path, "unit"), f"unit {model.unit} on a {type.kind} column", "a positive number such as 0.01, on a number column")
            return None
        denominator = unit.denominator
        for prime in (2, 5):
            while denominator % prime == 0:
                denominator //= prime
        if denominator != 1:
            self.found.report((*path, "unit"), f"unit {model.unit} has no finite decimal form", "use a unit such as 0.01 or 0.25")
            return None
        return unit

    def _domain(self, path: Path_, model: ColumnModel, type: Type) -> tuple[Value, ...] | None:
        here = (*path, "domain")
        if model.domain is None:
            return None
        if isinstance(model.domain, IntegerDomain):
            return self._integers(here, model.domain, type)
        values: list[Value] = []
        for i, value in enumerate(model.domain):
            try:
                values.append(value_of(self.found.text((*here, i), value), type))
            except ValueError:
                self.found.report((*here, i), f'"{value}" is not a value of type {type.kind}', "list values of the column's type")
        if not model.domain:
            self.found.report(here, "the domain is empty", "list at least one value")
        if len(set(values)) < len(values):
            self.found.report(here, "the domain lists a value twice", "remove the second")
        return tuple(values)

    def _integers(self, here: Path_, domain: IntegerDomain, type: Type) -> tuple[Value, ...] | None:
        size = domain.to - domain.from_ + 1
        if type.kind not in INTEGERS:
            self.found.report(here, f"{{from, to}} on a {type.kind} column", "list the values")
        elif size < 1 or size > MAX_DOMAIN:
            self.found.report(here, f"a domain of {size} values", f"between 1 and {MAX_DOMAIN} values work")
        else:
            return tuple(range(domain.from_, domain.to + 1))
        return None

    def _other(self, path: Path_, model: ColumnModel, type: Type) -> Value:
        if model.other is None:
            return None
        here = (*path, "other")
        if model.domain is None:
            self.found.report(here, "other without a domain", "declare a domain, or remove other")
        try:
            return value_of(self.found.text(here, model.other), type)
        except ValueError:
            self.found.report(here, f'"{model.other}" is not a value of type {type.kind}', "a value of the column's type")
            return None

    # ------------------------------------------------------------ policies

    def _policy(self, name: str, model: PolicyModel, tables: Mapping[str, Table]) -> Policy:
        path: Path_ = ("policies", name)
        if model.entity not in tables:
            self.found.report((*path, "entity"), f'entity "{model.entity}" is not a declared table', suggest(model.entity, tables))
        labels = {t: self._label((*path, "labels", t), t, m, tables) for t, m in model.labels.items()}
        for table in model.max_owned:
            if table not in tables:
                self.found.report((*path, "max_owned", table), f'table "{table}" is not declared', suggest(table, tables))
        return Policy(
            name,
            model.entity,
            self._epsilon((*path, "epsilon"), model.epsilon) or Fraction(1),
            labels,
            None if model.budget is None else self._epsilon((*path, "budget"), model.budget),
            dict(model.max_owned),
            model.comment,
        )

    def _epsilon(self, path: Path_, value: object) -> Fraction | None:
        number = exact(self.found.text(path, value))
        if number is None or number <= 0:
            self.found.report(path, f"{path[-1]} {value}", "a number above 0, such as 1.0")
            return None
        return number

    def _label(self, path: Path_, table: str, model: str | RepLabel, tables: Mapping[str, Table]) -> Label:
        if table not in tables:
            self.found.report(path, f'label for table "{table}", which is not declared', suggest(table, tables))
            return Pub()
        if not isinstance(model, RepLabel):
            return Del() if model == "del" else Pub()
        columns, key = tables[table].columns, tables[table].key
        if model.rep == "all":
            return Rep(frozenset(columns) - frozenset(key))
        self._known(list(model.rep), columns, path, f"rep label of {table}")
        for name in set(model.rep) & set(key):
            self.found.report(
                path,
                f'rep label of {table} names key column "{name}"',
                "a key tells rows apart and cannot be replaced; label the table del to protect it",
                "E-Rep",
            )
        return Rep(frozenset(model.rep) & frozenset(columns) - frozenset(key))
