"""Values of type jsonb: texts in the form that Postgres prints them in."""

from __future__ import annotations

import json


def jsonb(value: object) -> str:
    """Keys by length, then by bytes; a blank after each comma and colon."""
    return json.dumps(_ordered(value), ensure_ascii=False)


def _ordered(value: object) -> object:
    match value:
        case dict():
            keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
            return {key: _ordered(value[key]) for key in keys}
        case list():
            return [_ordered(item) for item in value]
        case _:
            return value


def printed(text: str) -> str:
    """JSON from an engine as Postgres prints it."""
    return jsonb(json.loads(text))
