"""docs/deploy.md, Dockerfile and docker-compose.yml name commands and options that exist."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dp4sql.cli import _parser

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
COMMANDS = re.findall(r"\bdp4sql ((?:serve|check|user add|ledger verify) [^\n`]+)", GUIDE)


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_guide_are_understood(command: str) -> None:
    _parser().parse_args(shlex.split(command))


def test_the_options_of_the_guide_exist() -> None:
    helped = "".join(
        subprocess.run(
            [sys.executable, "-m", "dp4sql", *command.split(), "--help"],
            capture_output=True,
            text=True,
        ).stdout
        for command in ("serve", "check", "ledger prune")
    )
    # These are other programs' own.
    for option in set(re.findall(r"`(--[a-z-]+)", GUIDE)):
        assert option in helped, option


def test_the_proxy_of_the_composition_is_understood() -> None:
    args = _parser().parse_args(COMPOSE["services"]["proxy"]["command"])
    assert (args.listen, args.users) == ("0.0.0.0:6432", "users.txt")
    policy = Path(args.policy)
    assert (ROOT / "policies" / policy.name).is_file()


def test_what_a_service_waits_for_exists() -> None:
    services = COMPOSE["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", ())) <= services.keys(), name


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint is not installed; its wheel is for Linux on x86-64")
    linted = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (linted.returncode, linted.stdout) == (0, "")


def test_the_image_runs_without_root() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("USER ")] == ["USER 10001"]
    assert any(line.startswith("HEALTHCHECK") for line in lines)


def _compose() -> list[str] | None:
    """The client's command, where it is installed with its plugin or as a program of its own."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            asked = subprocess.run([*command, "version"], capture_output=True)
            if asked.returncode == 0:
                return command
    return None


def test_the_client_takes_the_composition() -> None:
    command = _compose()
    if command is None:
        pytest.skip("docker compose is not installed")
    told = subprocess.run(
        [*command, "-f", ROOT / "docker-compose.yml", "config", "--quiet"],
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
