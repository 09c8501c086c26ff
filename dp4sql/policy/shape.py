"""Reading a section of a file into its model: pydantic's errors as problems with line and hint."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dp4sql.algebra.types import UNKNOWN
from dp4sql.policy.lines import Lines, Where
from dp4sql.policy.source import Source, suggest

M = TypeVar("M", bound=BaseModel)
Models = Mapping[int, type[BaseModel]]


def validate_section(model: type[M], raw: Any, lines: Lines, where: Where = ()) -> M:
    """`raw`, which stands at `where`, as `model`; PolicyError with every mistake in it.

    Models derive from `FileModel` to be strict and to give hints.
    """
    source = Source(lines)
    section = read_shape(model, raw, source, where)
    if section is None or source.reports:
        raise source.error()
    return section


def read_shape(model: type[M], raw: Any, source: Source, where: Where = ()) -> M | None:
    """`raw` as `model`, reporting every mistake to `source`.

    What is wrong is taken out and reading starts again, so that the rest can be checked further;
    None when nothing is left.
    """
    if raw is None and source.reports:
        return None
    raw, first = copy.deepcopy(raw), True
    while True:
        models: dict[int, type[BaseModel]] = {}
        try:
            return model.model_validate(raw, context=models)
        except ValidationError as error:
            items = error.errors(include_url=False)
        if first:
            for item in items:
                _report(item, raw, models, source, where)
        wrong = [_culprit(item, raw, where) for item in items]
        if () in wrong:
            return None
        for path in wrong:
            _take_out(raw, path, _stand_in((*where, *path)))
        first = False


def _path(item: ErrorDetails, raw: Any) -> Where:
    """Where a mistake is in `raw`: pydantic's location without the tags of unions."""
    path: Where = ()
    for step in item["loc"]:
        known = range(len(raw)) if isinstance(raw, list) else raw if isinstance(raw, dict) else ()
        if step in known:
            raw, path = raw[step], (*path, step)
    return path


def _culprit(item: ErrorDetails, raw: Any, where: Where) -> Where:
    """What has to go: a list as a whole, as its positions must not move, and a mapping that lacks a
    field for which nothing can stand in."""
    path = _path(item, raw)
    lists = [i for i, step in enumerate(path) if isinstance(step, int)]
    if lists:
        return path[: lists[0]]
    if item["type"] == "missing" and _stand_in((*where, *path, item["loc"][-1])) is not None:
        return (*path, item["loc"][-1])
    return path


def _take_out(raw: Any, path: Where, stand_in: Any) -> None:
    *above, last = path
    for step in above:
        raw = raw.get(step, {})
    if stand_in is None:
        raw.pop(last, None)
    else:
        raw[last] = stand_in


def _stand_in(where: Where) -> Any:
    """What keeps a table or policy readable when a field it needs is wrong."""
    match where:
        case ("tables" | "policies",) | ("tables", _, "columns") | ("policies", _, "labels"):
            return {}
        case ("tables", _, "key"):
            return []
        case ("tables", _, "columns", _):
            return {"type": UNKNOWN}
        case ("tables", _, "columns", _, "type"):
            return UNKNOWN
        case ("policies", _, "epsilon"):
            return 1
        case _:
            return None


# ---------------------------------------------------------------- words


def _report(item: ErrorDetails, raw: Any, models: Models, source: Source, where: Where) -> None:
    path = _path(item, raw)
    at = (*where, *path)
    match item["type"]:
        case "missing":
            name = str(item["loc"][-1])
            description = _fields(raw, path, models).get(name, "...")
            source.report((*at, name), f'"{name}" is missing', f"add {name}: {description}")
        case "extra_forbidden":
            name = str(path[-1])
            hint = suggest(name, _fields(raw, path[:-1], models))
            source.report(at, f'unknown key "{name}"', hint)
        case _:
            shown, hint = _field(raw, path, models)
            found = f"{shown} is {show(_at(raw, path))}, not {_wanted(item)}"
            source.report(at, found, hint)


def _at(raw: Any, path: Where) -> Any:
    for step in path:
        raw = raw[step]
    return raw


def _fields(raw: Any, path: Where, models: Models) -> dict[str, str]:
    """The keys that the mapping at `path` may have, with their descriptions."""
    model = models.get(id(_at(raw, path)))
    fields = model.model_fields if model else {}
    return {field.alias or name: field.description or "" for name, field in fields.items()}


def _field(raw: Any, path: Where, models: Models) -> tuple[str, str]:
    """What a reader calls the entry at `path`, from the innermost field on, and its hint."""
    for start in range(len(path) - 1, -1, -1):
        field = str(path[start])
        if description := _fields(raw, path[:start], models).get(field):
            steps = (f"[{s}]" if isinstance(s, int) else f".{s}" for s in path[start + 1 :])
            return field + "".join(steps), f"{field}: {description}"
    return "the content", "a mapping is wanted, as in dp4sql: 1"


_WANTED: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "list_type": "a list",
}


def _wanted(item: ErrorDetails) -> str:
    context = item.get("ctx", {})
    match item["type"]:
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return str(context["expected"]).replace("'", "")
        case "greater_than_equal":
            return f"{context['ge']} or more"
        case "too_short":
            return f"a list of at least {context['min_length']}"
        case "too_long":
            return f"a list of at most {context['max_length']}"
        case kind:
            return _WANTED.get(kind, item["msg"])


def show(value: Any) -> str:
    """A value as it looks in YAML, cut to fit a message."""
    match value:
        case None:
            text = "empty"
        case bool():
            text = str(value).lower()
        case str():
            text = f'"{value}"'
        case Decimal() | int():
            text = str(value)
        case list():
            text = f"[{', '.join(map(show, value))}]"
        case dict():
            text = f"{{{', '.join(f'{key}: {show(inner)}' for key, inner in value.items())}}}"
        case _:
            text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
