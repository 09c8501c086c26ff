"""A released profile as text for a prompt. Post-processing of the release: it costs nothing more."""

from __future__ import annotations

from string import Formatter

from dp4sql.errors import InvalidParameter
from dp4sql.mechanisms.profile.answer import Answer, Line
from dp4sql.mechanisms.profile.request import Style
from dp4sql.policy.profiles import Profile

WHOLE = "profile"
"""The placeholder of the whole profile; every other one names a field."""


def check_template(template: str, profile: Profile) -> None:
    """InvalidParameter unless the template's placeholders are {profile} and {field}s."""
    for name in _placeholders(template):
        if name != WHOLE and name not in profile.fields:
            raise InvalidParameter(
                f'the template has a placeholder "{{{name}}}"',
                hint=f"Known: {{profile}}, {', '.join(f'{{{f}}}' for f in profile.fields)}; "
                "a brace by itself is written twice.",
            )


def _placeholders(template: str) -> list[str]:
    try:
        parts = list(Formatter().parse(template))
    except ValueError:
        raise InvalidParameter(
            "the template has a brace without its partner",
            hint="A brace by itself is written twice.",
        ) from None
    if any(form or conversion for _, _, form, conversion in parts):
        raise InvalidParameter(
            "the template formats a placeholder", hint="Write {field} without : and !."
        )
    return [name for _, name, _, _ in parts if name is not None]


def compose(template: str, style: Style, answer: Answer) -> str:
    """The template with each placeholder replaced; a field with several rows is joined by semicolons."""
    texts = {name: "; ".join(_values(answer, name)) for name in answer.plan.profile.fields}
    texts[WHOLE] = structured(answer) if style == "structured" else freeform(answer)
    return "".join(
        literal + (texts[name] if name is not None else "")
        for literal, name, _, _ in Formatter().parse(template)
    )


def _values(answer: Answer, name: str) -> list[str]:
    return [_shown(line) for line in answer.lines if line.fate.field.name == name]


def _shown(line: Line) -> str:
    return "unknown" if line.value is None else line.value


def structured(answer: Answer) -> str:
    """One line a field: `education: Master's or equivalent level`. Suppressed fields keep their symbol."""
    return "\n".join(
        f"{_name(line)}: {_shown(line)}" for line in answer.lines if not line.fate.field.identifier
    )


def freeform(answer: Answer) -> str:
    """One sentence a field that has a value to tell."""
    told = [line for line in answer.lines if line.fate.action != "suppressed" and line.value]
    return " ".join(f"The {_name(line)} is {line.value}." for line in told)


def _name(line: Line) -> str:
    """The field's name, with the row where there are several: `history (job 2)`."""
    name = line.fate.field.name.replace("_", " ")
    return name if " " not in line.label else f"{name} ({line.label})"
