"""pydantic's complaints as problems with a line and a hint."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from dp4sql.policy import models
from dp4sql.policy.source import Path_, Source, suggest

TAGS = {
    "ColumnModel",
    "IntegerDomain",
    "RepLabel",
    "FrequencyRows",
    "function-before[_short_column(), ColumnModel]",
}


def shape_problems(error: ValidationError, found: Source) -> None:
    for item in error.errors():
        path = _path(item["loc"], found.content)
        kind = str(item["type"])
        if kind == "extra_forbidden":
            known = _known_keys(path[:-1])
            found.report(path, f'unknown key "{path[-1]}"', suggest(path[-1], known))
        elif kind == "missing":
            found.report(path[:-1], f'"{path[-1]}" is missing', f"add {path[-1]}: ...")
        elif path[:1] == ("policies",) and "labels" in path:
            value = _value(found.content, path[:4])
            found.report(path[:4], f"label {value!r}", "a label is del, pub, {rep: [column, ...]} or {rep: all}")
        else:
            shown = _value(found.content, path)
            found.report(path, f"{'.'.join(map(str, path)) or 'the file'}: {_short(shown)}", str(item["msg"]).lower())


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _path(location: tuple[int | str, ...], content: Any) -> Path_:
    """pydantic's location without the tags of unions, as far as it leads into the content."""
    path: list[int | str] = []
    here = content
    for i, step in enumerate(location):
        inside = (isinstance(here, dict) and step in here) or (
            isinstance(here, list) and isinstance(step, int) and step < len(here)
        )
        if inside:
            here = here[step]
            path.append("from" if step == "from_" else step)
        elif i == len(location) - 1 and isinstance(here, dict) and isinstance(step, str) and "[" not in step:
            path.append(step)
    return tuple(path)


def _value(content: Any, path: Path_) -> Any:
    for step in path:
        try:
            content = content[step]
        except (KeyError, IndexError, TypeError):
            return None
    return content


def _known_keys(path: Path_) -> list[str]:
    """The keys that the model at `path` knows."""
    by_depth: dict[tuple[str, int], type[BaseModel]] = {
        ("tables", 2): models.TableModel,
        ("tables", 4): models.ColumnModel,
        ("policies", 2): models.PolicyModel,
    }
    model = by_depth.get((str(path[0]), len(path)), models.PolicyFile) if path else models.PolicyFile
    if len(path) == 4 and path[2] == "foreign_keys":
        model = models.ForeignKeyModel
    if len(path) == 4 and path[2] == "max_frequency":
        model = models.FrequencyModel
    return list(model.model_fields)


