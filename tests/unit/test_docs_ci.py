"""The page about continuous integration: its workflow runs commands that exist, in an order that fails safely."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from infra import ROOT

PAGE = (ROOT / "docs/howto/ci.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def workflow() -> dict[str, Any]:
    """The workflow of the page."""
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    read: dict[str, Any] = yaml.safe_load(block)
    return read


def job(name: str = "deploy") -> dict[str, Any]:
    """One of its jobs."""
    return dict(workflow()["jobs"][name])


def commands(name: str = "deploy") -> list[str]:
    """The commands that a job runs, in order."""
    return [step["run"] for step in job(name)["steps"] if "run" in step]


def test_every_command_is_one_of_the_makefile_with_variables_that_it_reads() -> None:
    made = [one.split() for name in workflow()["jobs"] for one in commands(name) if one.startswith("make ")]
    assert len(made) >= 5
    for _, target, *variables in made:
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
        assert [one for one in variables if f"{one.partition('=')[0]} ?=" not in MAKEFILE] == []


def test_nothing_is_deployed_before_the_preflight_and_rolled_back_only_if_the_new_version_fails() -> None:
    wanted = ("make setup", "make preflight", "make deploy", ".venv/bin/clockwork doctor", "make rollback")
    assert [one for one in wanted if any(command.startswith(one) for command in commands())] == list(wanted)
    places = [next(n for n, command in enumerate(commands()) if command.startswith(one)) for one in wanted]
    assert places == sorted(places)
    steps = {step.get("id"): step for step in job()["steps"]}
    assert steps["look"]["run"].endswith("doctor")
    (back,) = [step for step in job()["steps"] if step.get("run", "").startswith("make rollback")]
    assert back["if"] == "failure() && steps.look.outcome == 'failure'"


def test_nothing_is_deployed_whose_smoke_failed() -> None:
    assert set(workflow()["jobs"]) == {"smoke", "deploy"}
    assert job()["needs"] == "smoke"
    assert "if" not in job()
    # Without STAGE it runs in the account of the credentials; without YES it would ask a person.
    assert commands("smoke") == ["make smoke YES=1"]
    assert re.search(r"^STAGE \?= account$", MAKEFILE, re.MULTILINE)
    assert "if" not in job("smoke")
    assert not any({"continue-on-error", "if"} & set(step) for step in job("smoke")["steps"])


def test_the_smoke_has_an_account_of_its_own() -> None:
    roles = [role_of(name) for name in ("smoke", "deploy")]
    accounts = [role.split(":")[4] for role in roles]
    assert accounts[0] != accounts[1]
    assert job("smoke")["environment"] != job()["environment"]
    assert f"environment:{job('smoke')['environment']}`" in PAGE


def test_deployments_take_turns_and_no_key_of_aws_is_stored() -> None:
    assert workflow()["concurrency"]
    assert workflow()["permissions"] == {"contents": "read", "id-token": "write"}
    assert "secrets." not in PAGE
    assert "AWS_SECRET_ACCESS_KEY" not in PAGE


def test_the_role_trusts_one_environment_of_one_repository() -> None:
    trust, permissions = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    (statement,) = trust["Statement"]
    subject = statement["Condition"]["StringEquals"]["token.actions.githubusercontent.com:sub"]
    assert subject.endswith(f":environment:{job()['environment']}")
    assert "*" not in subject
    assert [action for one in permissions["Statement"] for action in as_list(one["Action"]) if "*" in action] == []


def test_doctor_gets_through_iam_and_acts_for_a_client_that_the_page_makes() -> None:
    """Otherwise its look at each deployment would fail, and the workflow would roll back a good one."""
    _, permissions = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    (calls,) = [one for one in permissions["Statement"] if "execute-api:Invoke" in as_list(one["Action"])]
    assert calls["Resource"].endswith("/$default/GET/v1/*")
    (look,) = [step for step in job()["steps"] if step.get("id") == "look"]
    client = look["env"]["CLOCKWORK_CLIENT_ID"]
    assert f"clockwork client put {client} --principal" in PAGE


@pytest.mark.parametrize("file", ["account", "rollback"])
def test_the_role_may_make_the_calls_of_preflight_and_rollback(file: str) -> None:
    source = (ROOT / f"rollout/{file}.py").read_text(encoding="utf-8")
    calls = set(re.findall(r"\.((?:get|list|describe|update)_\w+)\(", source))
    calls |= set(re.findall(r'get_paginator\("(\w+)"', source))
    calls -= {"get_paginator", "get_caller_identity"}  # everybody may ask who they are
    assert calls
    _, permissions = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    allowed = {action.partition(":")[2] for one in permissions["Statement"] for action in as_list(one["Action"])}
    needed = {"".join(part.capitalize() for part in call.split("_")) for call in calls}
    assert needed <= allowed


def role_of(name: str) -> str:
    """The role that a job takes."""
    (role,) = [one["with"]["role-to-assume"] for one in job(name)["steps"] if "role-to-assume" in one.get("with", {})]
    return str(role)


def as_list(value: Any) -> list[str]:
    """A policy's actions."""
    return value if isinstance(value, list) else [value]
