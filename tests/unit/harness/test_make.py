"""The variables that `make` hands on to the commands of a deployment."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from infra import ROOT

_ROLLOUT = [".venv/bin/python", "-m", "rollout"]
_SMOKE = [".venv/bin/python", "-m", "tests.smoke", "--stage"]


def command_of(*words: str) -> list[str]:
    """The last command that `make` would run."""
    told = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return shlex.split(told.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["preflight"], [*_ROLLOUT, "preflight"]),
        (["preflight", "ENV=staging"], [*_ROLLOUT, "preflight", "-c", "environment=staging"]),
        (["deploy"], [*_ROLLOUT, "deploy"]),
        (
            ["deploy", "ENV=staging", "YES=1", "ALLOW_REMOVAL=kafka ingestionQueue", "DEPLOY=-c shards=32"],
            [
                *(*_ROLLOUT, "deploy", "-c", "environment=staging", "-c", "shards=32"),
                *("--allow-removal", "kafka", "--allow-removal", "ingestionQueue", "--yes"),
            ],
        ),
        (["deploy", "ADMIN_PRINCIPALS=a,b"], [*_ROLLOUT, "deploy", "-c", "adminPrincipals=a,b"]),
        (["destroy"], [*_ROLLOUT, "destroy"]),
        (["destroy", "NOW=1", "YES=1"], [*_ROLLOUT, "destroy", "--now", "--yes"]),
        (["dev", "KAFKA=1", "PORT=4781"], [".venv/bin/python", "-m", "local.dev", "--port", "4781", "--kafka"]),
        (["dev", "KAFKA="], [".venv/bin/python", "-m", "local.dev"]),
        (["smoke"], [*_SMOKE, "account"]),
        (["smoke", "STAGE=local"], [*_SMOKE, "local"]),
        (["smoke", "YES=1"], [*_SMOKE, "account", "--yes"]),
    ],
)
def test_what_is_given_to_make_reaches_the_command(words: list[str], command: list[str]) -> None:
    assert command_of(*words) == command


def test_nobody_is_asked_less_than_was_said() -> None:
    assert "--yes" not in command_of("deploy", "YES=")
    assert "--now" not in command_of("destroy", "NOW=")


@pytest.mark.parametrize("command", ["setup", "setup-dev", "test", "nightly"])
def test_dynamodb_local_is_installed_and_run_only_where_somebody_asks_for_it(command: str) -> None:
    make = ["make", "--no-print-directory", "--dry-run", "--always-make"]
    told = subprocess.run([*make, command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    asked = subprocess.run([*make, "contract-dynamodb-local"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "npm ci" in told
    assert "dynamodb-local" not in told
    assert "CONTRACT_DYNAMODB_LOCAL=yes" in asked.stdout
    assert "amplify" not in (ROOT / "package-lock.json").read_text()
