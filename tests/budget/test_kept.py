"""Released answers and data versions are shared by all who use a ledger, in either engine."""

from __future__ import annotations

import datetime

import pytest

from dp4sql.budget.database import open_database
from dp4sql.budget.kept import Keeping, KeptAnswers, Size
from dp4sql.budget.ledger import Ledger
from dp4sql.errors import LedgerBroken
from tests.budget.conftest import Tamper, Where

KEEP = "INSERT INTO answers VALUES ('{0}', '2026', '{1}', {2}, 'db', 0)"


def keep(ledger: Ledger, kept: KeptAnswers, **contents: str) -> None:
    keeping = Keeping(kept, "db", kept.data_version("db"))
    keeping.keep_all(contents)
    ledger.close_query(None, "answered", database="db", role="ann", keeping=keeping)


@pytest.fixture
def ledger(where: Where) -> Ledger:
    return Ledger(where)


@pytest.fixture
def kept(where: Where, ledger: Ledger) -> KeptAnswers:
    return KeptAnswers(where)


def test_the_newest_answer_is_found_by_everybody(
    where: Where, ledger: Ledger, kept: KeptAnswers
) -> None:
    other = KeptAnswers(where)
    assert kept.find("k") is None
    keep(ledger, kept, k="one")
    keep(ledger, kept, k="two", other="three")
    kept.note("k", role="agent", purpose="letter", reused=True)
    assert (other.find("k"), other.find("other")) == ("two", "three")
    assert [use[1:] for use in other.uses()] == [("agent", "letter", True)]
    assert Ledger(where).verify() == 2


def test_a_statement_finds_its_own_answers_before_they_are_on_disk(kept: KeptAnswers) -> None:
    keeping = Keeping(kept)
    keeping.keep("k", "one")
    assert keeping.find("k") == "one"
    assert kept.find("k") is None


def test_a_data_version_counts_the_changes_of_one_database(where: Where) -> None:
    kept = KeptAnswers(where)
    assert kept.data_version("db") == 0
    assert [kept.bump("db", "new term"), kept.bump("db")] == [1, 2]
    assert KeptAnswers(where).data_version("db") == 2
    assert kept.data_version("other") == 0


# ---------------------------------------------------------------- what was changed is not shown


@pytest.mark.faults("it is not shown again")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE answers SET content = 'four' WHERE key = 'k'",
        "UPDATE answers SET content = 'two' WHERE key = 'k'",
        "DELETE FROM answers WHERE key = 'k'; UPDATE answers SET key = 'k' WHERE key = 'other'",
        "UPDATE answers SET entry = 1 WHERE key = 'k'",
        "UPDATE answers SET entry = 1000 WHERE key = 'k'",
        "DELETE FROM answers WHERE key = 'k'; " + KEEP.format("k", "mine", 2),
    ],
)
def test_an_answer_that_was_changed_is_not_shown(
    ledger: Ledger, kept: KeptAnswers, tamper: Tamper, change: str
) -> None:
    keep(ledger, kept, old="two")
    keep(ledger, kept, k="one", other="two")
    tamper(change)
    assert kept.find("k") is None
    assert kept.find("old") == "two"
    assert len(list(kept.changed())) >= 1
    kept.prune()
    assert not list(kept.changed())
    assert kept.find("old") == "two"


def test_an_answer_cannot_be_changed_together_with_its_entry(
    where: Where, ledger: Ledger, kept: KeptAnswers, tamper: Tamper
) -> None:
    keep(ledger, kept, k="one")
    tamper("UPDATE entries SET derivation = '' WHERE id = 1")
    with pytest.raises(LedgerBroken, match="entry 1 was changed"):
        Ledger(where)


# ---------------------------------------------------------------- pruning


def test_answers_about_older_data_are_pruned(ledger: Ledger, kept: KeptAnswers) -> None:
    keep(ledger, kept, k="one")
    kept.bump("other")
    assert kept.prune() == 0
    kept.bump("db")
    keep(ledger, kept, new="23")
    assert kept.size() == Size(answers=2, characters=5, older=1)
    assert kept.prune() == 1
    assert kept.size() == Size(answers=1, characters=2, older=0)
    assert kept.find("new") == "23"


def test_old_answers_are_pruned_and_who_used_them(ledger: Ledger, kept: KeptAnswers) -> None:
    keep(ledger, kept, k="one")
    kept.note("k", role="agent", purpose="", reused=False)
    today = datetime.datetime.now(datetime.UTC).date()
    assert kept.prune(today - datetime.timedelta(days=1)) == 0
    assert len(kept.uses()) == 1
    assert kept.prune(today + datetime.timedelta(days=1)) == 1
    assert not kept.uses()
    assert kept.size().answers == 0


# ---------------------------------------------------------------- ledgers of before


def test_a_ledger_of_before_there_were_seals_opens(where: Where, tamper: Tamper) -> None:
    """What it kept is let go: nothing vouches for it."""
    Ledger(where).close()
    tamper("DROP TABLE answers; CREATE TABLE kept (key TEXT PRIMARY KEY, at TEXT, content TEXT)")
    ledger = Ledger(where)
    keep(ledger, KeptAnswers(where), k="one")
    assert KeptAnswers(where).find("k") == "one"
    with pytest.raises(LedgerBroken):
        open_database(where).run("SELECT * FROM kept")


def test_a_probe_leaves_nothing_behind(ledger: Ledger, kept: KeptAnswers) -> None:
    ledger.probe()
    assert not kept.uses()
    assert ledger.verify() == 0
