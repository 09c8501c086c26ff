"""Released answers and data versions are shared by all who use a ledger, in either engine."""

from __future__ import annotations

from dp4sql.budget.kept import KeptAnswers
from tests.budget.conftest import Where


def test_the_newest_answer_is_found_by_everybody(where: Where) -> None:
    one, other = KeptAnswers(where), KeptAnswers(where)
    assert one.find("k") is None
    one.keep("k", "one")
    one.keep("k", "two")
    one.note("k", role="agent", purpose="letter", reused=True)
    assert other.find("k") == "two"
    assert [use[1:] for use in other.uses()] == [("agent", "letter", True)]


def test_a_data_version_counts_the_changes_of_one_database(where: Where) -> None:
    kept = KeptAnswers(where)
    assert kept.data_version("db") == 0
    assert [kept.bump("db", "new term"), kept.bump("db")] == [1, 2]
    assert KeptAnswers(where).data_version("db") == 2
    assert kept.data_version("other") == 0
