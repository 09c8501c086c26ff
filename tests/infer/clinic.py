"""A small clinic under policies of the same entity: its rows go, move, stay with a private cost, or only age."""

from __future__ import annotations

from typing import Any

INTEGER = {"type": "integer"}
SCORE = {"type": "integer", "range": [0, 9]}

TABLES: dict[str, Any] = {
    "ward": {"key": ["wid"], "rows": 3, "columns": {"wid": INTEGER}},
    "doctor": {
        "key": ["did"],
        "rows": 5,
        "foreign_keys": {"wid": "ward"},
        "columns": {"did": INTEGER, "wid": INTEGER},
    },
    "person": {
        "key": ["id"],
        "columns": {"id": INTEGER, "kind": {"type": "text", "domain": ["a", "b"]}, "age": SCORE},
    },
    "visit": {
        "key": ["vid"],
        "foreign_keys": {"id": "person", "did": "doctor"},
        "max_frequency": {"id": 2, "did": 4},
        "columns": {"vid": INTEGER, "id": INTEGER, "did": INTEGER, "cost": SCORE},
    },
    "parking": {
        "key": ["pid"],
        "foreign_keys": {"id": "person"},
        "max_frequency": {"id": 3, "spot": {"rows": 1, "enforce": "truncate"}},
        "columns": {"pid": INTEGER, "id": INTEGER, "spot": INTEGER, "fee": SCORE},
    },
}

POLICY: dict[str, Any] = {
    "dp4sql": 1,
    "tables": TABLES,
    "policies": {
        "goes": {
            "entity": "person",
            "epsilon": 1,
            "labels": {"person": "del", "visit": "del", "parking": "del"},
        },
        "moves": {
            "entity": "person",
            "epsilon": 1,
            "labels": {
                "person": {"rep": ["kind", "age"]},
                "visit": {"rep": ["id", "cost"]},
                "parking": {"rep": ["fee"]},
                "doctor": "pub",
                "ward": "pub",
            },
        },
        "stays": {
            "entity": "person",
            "epsilon": 1,
            "labels": {"person": "pub", "visit": {"rep": ["cost"]}},
        },
        "ages": {
            "entity": "person",
            "epsilon": 1,
            "labels": {"person": {"rep": ["age"]}, "visit": "pub"},
        },
    },
}
