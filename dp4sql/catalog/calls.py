"""Functions in FROM, such as dp4sql.certify, as the empty Postgres shows them: \\df, \\sf, completion, DBeaver.

What names them never comes to that database, so the bodies give no rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dp4sql.catalog.own import SCHEMA, literal
from dp4sql.mechanisms.functions import SIGNATURES
from dp4sql.sql.lower.calls import Parameter, Signature

COMMENTS: Final = {
    "certify": "Which statements about the data are supported, each with a certificate. Charged.",
    "certify_plan": "What certify would take and charge. Free.",
    "compose_profile": "One person's released profile as text for a prompt. Charged.",
    "profile_plan": "What becomes of each field of a profile, and what that costs. Free.",
    "public_domain": "The categories of a public domain. Free.",
    "release_profile": "One person's facts as categories drawn at random. Charged.",
}


def functions_ddl() -> str:
    return "\n".join(line for signature in SIGNATURES.values() for line in _statements(signature))


def _statements(signature: Signature) -> Iterator[str]:
    name = f"{SCHEMA}.{signature.name}"
    given = ", ".join(
        f"{argument} {_type(parameter)} DEFAULT NULL"
        for argument, parameter in signature.parameters.items()
    )
    columns = ", ".join(f"{column} {type}" for column, type in signature.columns)
    # A type of its own: arguments and columns of one name would not go together otherwise.
    yield f"CREATE TYPE {name}_row AS ({columns});"
    yield (
        f"CREATE FUNCTION {name}({given}) RETURNS SETOF {name}_row LANGUAGE sql "
        f"AS 'SELECT (NULL::{name}_row).* WHERE false';"
    )
    yield f"COMMENT ON FUNCTION {name} IS {literal(COMMENTS[signature.name])};"
    yield f"COMMENT ON TYPE {name}_row IS {literal(f'what {name} gives')};"


def _type(parameter: Parameter) -> str:
    kind = "text" if parameter.type.kind == "unknown" else str(parameter.type)
    return f"{kind}[]" if parameter.many else kind
