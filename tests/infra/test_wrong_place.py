"""Commands that change what is live refuse credentials of another account or region than the options name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.deployment import document
from rollout import __main__ as command_line
from tests.infra.account import account_of

READS = ["get_caller_identity"]
COMMANDS = ["rollback", "destroy", "restore"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The calls to an account that has a stack Clockwork, too; the file has two environments of that name."""
    calls: list[str] = []
    account = account_of(
        calls,
        get_caller_identity={"Account": "123456789012"},
        describe_stacks={"Stacks": [{"StackStatus": "UPDATE_COMPLETE"}]},
    )
    adopt = {"tables": dict.fromkeys(("timeline", "jobs", "executions", "shards", "clients"), "Restored")}
    environments = {
        "staging": {"account": "210987654321", "adopt": adopt},
        "production": {"account": "123456789012", "region": "eu-central-1", "adopt": adopt},
    }
    (tmp_path / document.NAME).write_text(json.dumps({"environments": environments}))
    monkeypatch.setattr(command_line, "ROOT", tmp_path)
    monkeypatch.setattr(command_line, "Account", lambda: account)
    return calls


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["environment=staging"], "the account is 123456789012, and the options name 210987654321"),
        (["environment=staging", "name=Clockwork"], "the account is 123456789012, and the options name 210987654321"),
        (["environment=production"], "the region is us-east-1, and the options name eu-central-1"),
        (
            ["name=Clockwork", 'adopt={"tables":{}}', "region=eu-west-1"],
            "the region is us-east-1, and the options name",
        ),
    ],
)
def test_a_stack_of_the_same_name_elsewhere_is_left_alone(
    command: str, options: list[str], told: str, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [text for option in options for text in ("-c", option)]
    assert command_line.main([command, *given, *(["--yes"] if command == "destroy" else [])]) == 1
    assert f"Nothing was changed: {told}" in capsys.readouterr().err
    assert [call for call in asked if call not in READS] == []
