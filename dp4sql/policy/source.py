"""A YAML file with the line of every entry, and problems reported against them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dp4sql.errors import Problem

Path_ = tuple[str | int, ...]


class _Text(str):
    """A YAML number as it is written, so that 0.1 stays one tenth."""


@dataclass
class Source:
    """Parsed content, the line of each path in it, and the problems found so far."""

    name: str
    content: Any
    lines: dict[Path_, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line(self, path: Path_) -> int:
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0 if not self.lines else 1)

    def report(self, path: Path_, found: str, hint: str, rule: str | None = None) -> None:
        problem = Problem(self.name, self.line(path), found, hint, rule)
        if problem not in self.problems:
            self.problems.append(problem)

    def text(self, path: Path_, value: object) -> str:
        """The scalar at `path` as it is written in the file."""
        return self._texts.get(path, str(value))

    _texts: dict[Path_, str] = field(default_factory=dict)


def read(source: str | os.PathLike[str] | Mapping[str, Any]) -> Source:
    """A path, or a mapping that was parsed already."""
    if isinstance(source, Mapping):
        return Source("<mapping>", source)
    path = Path(source)
    found = Source(path.name if not path.parent.name else str(path), None)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        found.report((), f"the file cannot be read ({error.strerror})", "check the path and its permissions")
        return found
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        found.lines[()] = line
        found.report((), f"not YAML: {error.problem}", "check indentation, colons and quotes")
        return found
    found.lines[()] = 1
    found.content = _build(node, (), found) if node is not None else None
    return found


def _build(node: yaml.Node, path: Path_, found: Source) -> Any:
    found.lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, found)
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*path, i), found) for i, item in enumerate(node.value)]
    found._texts[path] = node.value
    loader = yaml.SafeLoader("")
    if node.tag.endswith((":timestamp", ":null")) or node.tag.endswith((":bool", ":int", ":float")):
        return str(node.value) if node.tag.endswith(":timestamp") else loader.construct_object(node)
    return node.value


def _mapping(node: yaml.MappingNode, path: Path_, found: Source) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        here = (*path, key)
        if key in result:
            found.lines[(*here, "duplicate")] = key_node.start_mark.line + 1
            found.report((*here, "duplicate"), f'key "{key}" stands twice', "remove one of them")
        found.lines[here] = key_node.start_mark.line + 1
        result[key] = _build(value_node, here, found)
    return result


def suggest(name: object, known: Iterable[str]) -> str:
    """', did "x" mean "y"' wording for a misspelt name."""
    options = sorted(known)
    close = difflib.get_close_matches(str(name), options, n=1)
    if close:
        return f'perhaps "{close[0]}" was meant'
    return f"known here: {', '.join(options)}" if options else "nothing of the kind is declared"
