"""What clients are told about a refused statement: read aloud, then kept as it is."""

from __future__ import annotations

from tests.messages.refused import GOLDEN, STATEMENTS, golden, said


def test_the_texts_are_those_that_were_read() -> None:
    assert GOLDEN.read_text(encoding="utf-8") == golden(), "python -m tests.messages"


def test_refusals_have_a_place_and_a_hint() -> None:
    """What a position or a hint could say of the others, their message says."""
    texts = [said(policy, sql) for policy, found in STATEMENTS.items() for sql in found]
    refused = [text for text in texts if not text.endswith("answered\n")]
    placed = [text for text in refused if "\n  line " in text]
    assert len(placed) >= len(refused) - 6
    hinted = [text for text in refused if text.rstrip().split("\n")[-1].startswith("  ")]
    assert len(hinted) >= len(refused) - 8


def test_internal_names_are_not_shown() -> None:
    assert "#" not in golden().replace("Supplier#", "")
    assert "arg" not in [word.strip('".,:()') for word in golden().split()]
