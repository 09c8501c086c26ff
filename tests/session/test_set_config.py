"""set_config() and current_setting(): the session's settings, as SET and SHOW have them."""

from __future__ import annotations

import pytest

from tests.session.talk import ask, reply
from tests.wire.live import SYNC, Raw, bind, execute, parse


def shown(client: Raw, name: str) -> tuple[bytes | None, bytes | None]:
    """What SHOW and current_setting say."""
    (by_show,), (by_function,) = (
        ask(client, sql).rows for sql in (f"SHOW {name}", f"SELECT current_setting('{name}')")
    )
    return by_show[0], by_function[0]


SETTINGS = {
    "dp4sql.epsilon": ("default", "0.5"),
    "dp4sql.error_columns": ("off", "on"),
    "application_name": ("", "me"),
    "work_mem": ("4MB", "8MB"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_it_sets_what_set_sets(raw: Raw, name: str) -> None:
    before, value = (text.encode() for text in SETTINGS[name])
    assert shown(raw, name) == (before, before)
    set_it = f"SELECT set_config('{name}', '{SETTINGS[name][1]}', false)"
    assert ask(raw, set_it).rows == [[value]]
    assert shown(raw, name) == (value, value)
    ask(raw, f"RESET {name}")
    assert shown(raw, name) == (before, before)
    ask(raw, f"BEGIN; {set_it}; ROLLBACK")
    assert shown(raw, name) == (before, before)
    ask(raw, f"BEGIN; {set_it}; COMMIT")
    assert shown(raw, name) == (value, value)
    ask(raw, f"SELECT set_config('{name}', NULL, false)")
    assert shown(raw, name) == (before, before)
    ask(raw, f"SET {name} = '{SETTINGS[name][1]}'")
    assert shown(raw, name) == (value, value)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_local_value_ends_with_the_transaction(raw: Raw, name: str) -> None:
    before, value = (text.encode() for text in SETTINGS[name])
    set_it = f"SELECT set_config('{name}', '{SETTINGS[name][1]}', true)"
    assert ask(raw, set_it).rows == [[value]]
    assert shown(raw, name) == (before, before), "the statement was all of the transaction"
    ask(raw, f"BEGIN; {set_it}")
    assert shown(raw, name) == (value, value)
    ask(raw, "COMMIT")
    assert shown(raw, name) == (before, before)


def test_what_a_query_costs_follows(raw: Raw) -> None:
    ask(raw, "SELECT set_config('dp4sql.max_charge', '0.001', false)")
    assert ask(raw, "SELECT count(*) FROM student").state == "53400"
    ask(raw, "SELECT set_config(name, 'default', false) FROM dp4sql.settings")
    assert ask(raw, "SELECT count(*) FROM student").state == ""


def test_values_and_names_are_checked_as_in_set(raw: Raw) -> None:
    for name, value in (("dp4sql.epsilon", "much"), ("dp4sql.epsilom", "1"), ("TimeZone", "Mars")):
        assert ask(raw, f"SELECT set_config('{name}', '{value}', false)").state == "22023"
    assert shown(raw, "dp4sql.epsilon") == (b"default", b"default")
    assert ask(raw, "SELECT set_config('jit', 'on', false), 1 / 0").state == "22012"
    assert ask(raw, "SELECT current_setting('dp4sql.epsilom')").state == "42704"
    assert ask(raw, "SELECT current_setting('dp4sql.epsilom', true)").rows == [[None]]


def test_names_and_values_may_be_parameters(raw: Raw) -> None:
    raw.send(parse("SELECT set_config($1, $2, false)"), bind(b"dp4sql.Epsilon", b"0.25"))
    raw.send(execute(), SYNC)
    assert reply(raw.until("Z")).rows == [[b"0.25"]]
    assert shown(raw, "dp4sql.epsilon") == (b"0.25", b"0.25")


def test_custom_settings_of_an_application(raw: Raw) -> None:
    ask(raw, "SELECT set_config('app.tenant', 'ann', false)")
    assert shown(raw, "app.tenant") == (b"ann", b"ann")
    ask(raw, "BEGIN; SELECT set_config('app.tenant', 'bob', true)")
    assert shown(raw, "app.tenant") == (b"bob", b"bob")
    ask(raw, "ROLLBACK; SET app.tenant = 'cy'")
    assert shown(raw, "app.tenant") == (b"cy", b"cy")
    ask(raw, "RESET app.tenant")
    assert shown(raw, "app.tenant") == (b"", b"")


def test_a_local_and_a_lasting_value_in_one_transaction(raw: Raw) -> None:
    ask(raw, "BEGIN; SET LOCAL dp4sql.epsilon = 0.5")
    ask(raw, "SELECT set_config('dp4sql.reuse', 'off', false)")
    assert shown(raw, "dp4sql.epsilon") == (b"0.5", b"0.5")
    ask(raw, "COMMIT")
    assert shown(raw, "dp4sql.epsilon") == (b"default", b"default")
    assert shown(raw, "dp4sql.reuse") == (b"off", b"off")
