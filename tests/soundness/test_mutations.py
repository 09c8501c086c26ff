"""The planted mistakes still fit the code that they change; `make soak` has the oracle find all of them."""

from __future__ import annotations

import importlib
import inspect

import pytest

from .mutate import child
from .mutations import MUTATIONS, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_changes_its_module(mutation: Mutation) -> None:
    source = inspect.getsource(importlib.import_module(mutation.module))
    compile(mutation.apply(source), mutation.module, "exec")


def test_there_are_enough_of_them() -> None:
    names = [mutation.name for mutation in MUTATIONS]
    assert len(set(names)) == len(names)
    assert sum(not mutation.shows_in_answers for mutation in MUTATIONS) >= 30


def test_the_oracle_finds_one() -> None:
    assert child("T-Grp: groups never come or go", 300, 1).startswith("killed")
