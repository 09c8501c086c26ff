"""A policy file as plain values, every entry with its line, and the problems found in it.

Plain scalars follow YAML 1.2's core schema, as editors do: `no` and `on` are text. A number with a
point becomes a Decimal, so that 0.1 stays one tenth; dates stay text. Content that was parsed
elsewhere is brought into the same form.
"""

from __future__ import annotations

import datetime
import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from dp4sql.errors import PolicyError, Problem
from dp4sql.policy.lines import Lines, Where


@dataclass
class Source:
    """`content` as dicts with text keys, lists and scalars; `reports` has what is wrong in it."""

    lines: Lines
    content: Any = None
    reports: list[tuple[Where, Problem]] = field(default_factory=list)

    def report(self, where: Where, found: str, hint: str, rule: str | None = None) -> None:
        self.reports.append((where, self.lines.problem(where, found, hint, rule)))

    def broken(self, where: Where) -> bool:
        """Whether a problem was reported at `where` or inside it."""
        return any(at[: len(where)] == where for at, _ in self.reports)

    def has(self, where: Where) -> bool:
        """Whether the file has an entry at `where`."""
        return where in self.lines.marks

    def names(self, *where: str | int) -> list[str]:
        """The keys of the mapping at `where` as the file has them, sound or not."""
        here = self.content
        for step in where:
            here = here.get(step) if isinstance(here, dict) else None
        return list(here) if isinstance(here, dict) else []

    def error(self) -> PolicyError:
        """Every problem once, in file order."""
        ranked = sorted(self.reports, key=lambda item: self.lines.mark(item[0]))
        return PolicyError(list(dict.fromkeys(problem for _, problem in ranked)))


def read(source: str | os.PathLike[str] | Mapping[str, Any]) -> Source:
    """A path to a YAML file, or the parsed content of one."""
    return _parsed(source) if isinstance(source, Mapping) else _file(os.fspath(source))


def suggest(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not among `known`."""
    options = sorted(known)
    if close := difflib.get_close_matches(name, options, n=1):
        return f'perhaps "{close[0]}" is meant'
    return f"known here: {', '.join(options)}" if options else "nothing of the kind is declared"


# ---------------------------------------------------------------- YAML text


class _Loader(yaml.SafeLoader):
    # The loader fills this table below instead of inheriting YAML 1.1's.
    yaml_implicit_resolvers = {}  # noqa: RUF012


_NULL, _BOOL, _INT, _FLOAT, _TEXT = (
    f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str")
)
for _tag, _form, _starts in (
    (_NULL, r"|~|null|Null|NULL", ["", "~", "n", "N"]),
    (_BOOL, r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    (_INT, r"[-+]?[0-9]+", list("-+0123456789")),
    (_FLOAT, r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(_tag, re.compile(f"^(?:{_form})$"), _starts)


def _file(name: str) -> Source:
    marks: dict[Where, tuple[int, int]] = {(): (1, 0)}
    try:
        root = yaml.compose(Path(name).read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        source = Source(Lines(name))
        source.report((), f"the file cannot be read ({error.strerror})", "check the path")
    except UnicodeDecodeError:
        source = Source(Lines(name))
        source.report((), "the file is not UTF-8 text", "save it as UTF-8")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        source = Source(Lines(name, {(): (mark.line + 1, 0)} if mark else marks))
        found = getattr(error, "problem", None) or "a character that YAML does not allow"
        source.report((), f"not YAML: {found}", "check indentation, colons and quotes")
    else:
        source = Source(Lines(name, marks))
        source.content = _Builder(source, marks).value(root, ()) if root is not None else {}
    return source


@dataclass
class _Builder:
    """Turns YAML nodes into values, noting where each stands."""

    source: Source
    marks: dict[Where, tuple[int, int]]
    _open: set[int] = field(default_factory=set)

    def value(self, node: yaml.Node, where: Where) -> Any:
        self._note(node, where)
        if id(node) in self._open:
            self.source.report(where, "an alias that holds itself", "write the value out")
            return None
        self._open.add(id(node))
        try:
            return self._value(node, where)
        finally:
            self._open.remove(id(node))

    def _note(self, node: yaml.Node, where: Where) -> None:
        self.marks.setdefault(where, (node.start_mark.line + 1, len(self.marks)))

    def _value(self, node: yaml.Node, where: Where) -> Any:
        match node:
            case yaml.MappingNode():
                return dict(self._entries(node, where))
            case yaml.SequenceNode():
                return [self.value(item, (*where, i)) for i, item in enumerate(node.value)]
            case _:
                return self._scalar(node, where)

    def _entries(self, node: yaml.MappingNode, where: Where) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            here: Where = (*where, name)
            if name in seen:
                # A path of its own, so that the second key is reported on its own line.
                here = (*where, name, "again")
                self._note(key, here)
                self.source.report(here, f'key "{name}" stands twice', "keep one of them")
                continue
            seen.add(name)
            self._note(key, here)
            if key.tag != _TEXT or name == "<<":
                self.source.report(here, f"key {name} is not text", f'write it in quotes: "{name}"')
            yield name, self.value(value, here)

    def _scalar(self, node: yaml.Node, where: Where) -> Any:
        text: str = node.value
        match node.tag:
            case tag if tag == _NULL:
                return None
            case tag if tag == _BOOL:
                return text.lower() == "true"
            case tag if tag in (_INT, _FLOAT):
                number = _moderate(Decimal(text), where, self.source)
                return int(number) if tag == _INT else number
            case tag if tag != _TEXT:
                self.source.report(where, f"the tag {tag}", "write the value without a tag")
        return text


def _moderate(number: Decimal, where: Where, source: Source) -> Decimal:
    """1e999999999 is a short text, but would fill the memory as the exact number it stands for."""
    if number.is_finite() and abs(number.adjusted()) < 100:
        return number
    source.report(where, "a number too large or too small", "write a number of at most 100 digits")
    return Decimal(1)


# ---------------------------------------------------------------- parsed content


def _parsed(content: Mapping[str, Any]) -> Source:
    marks: dict[Where, tuple[int, int]] = {}
    source = Source(Lines(marks=marks))
    source.content = _plain(content, (), source, marks)
    return source


def _plain(raw: Any, where: Where, source: Source, marks: dict[Where, tuple[int, int]]) -> Any:
    marks[where] = (0, len(marks))
    match raw:
        case Mapping():
            for key in raw:
                if not isinstance(key, str):
                    source.report(where, f"key {key} is not text", f'write it in quotes: "{key}"')
            return {str(k): _plain(v, (*where, str(k)), source, marks) for k, v in raw.items()}
        case list() | tuple():
            return [_plain(item, (*where, i), source, marks) for i, item in enumerate(raw)]
        case float():
            return _moderate(Decimal(str(raw)), where, source)
        case datetime.date():
            return raw.isoformat()
        case _:
            return raw


def canonical(content: Any) -> Any:
    """`content` as JSON values, equal for equal content: 1, 1.0 and 1e0 are one number."""
    match content:
        case dict():
            return {key: canonical(value) for key, value in content.items()}
        case list():
            return [canonical(item) for item in content]
        case bool() | str() | None:
            return content
        case int() | Decimal() | Fraction():
            return {"number": str(Fraction(content))}
        case _:
            return {"other": str(content)}
