"""The CDK's own command line, unmodified, deploys a running stack into an empty account and removes all of it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra import ROOT
from local import synth
from local.emulator import ACCOUNT, REGION, Credentials
from local.stack import ADMIN_ARN, LocalStack

CDK = ROOT / "node_modules/.bin/cdk"


@pytest.fixture(scope="module")
def empty() -> Iterator[LocalStack]:
    """A local stack of its own, with nothing deployed into it."""
    with LocalStack.start() as stack:
        yield stack


def cdk(*arguments: str, environment: dict[str, str] | None = None) -> str:
    """Runs the command line and returns its output. Fails the test if the command fails."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    quiet = {"CI": "true", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20"}
    ran = subprocess.run(
        [str(CDK), *arguments, "--no-notices", "--no-version-reporting"],
        env={**inherited, **quiet, **(environment or {})},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, f"cdk {' '.join(arguments)}: {said[-3_000:]}"
    return said


def as_user(stack: LocalStack, credentials: Credentials) -> dict[str, str]:
    """The environment variables that point the command line and the SDK inside it to a stack."""
    return {
        "AWS_ENDPOINT_URL": f"https://localhost:{stack.emulator.port}",
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "AWS_REGION": REGION,
        "AWS_CA_BUNDLE": str(stack.ca_bundle),
        "NODE_EXTRA_CA_CERTS": str(stack.ca_bundle),
    }


def test_the_app_is_synthesized_for_an_account_with_all_it_ships(tmp_path: Path) -> None:
    cdk("synth", "--quiet", "--output", str(tmp_path), "-c", "shards=5")
    template = json.loads((tmp_path / "Clockwork.template.json").read_text())
    shards = [
        resource["Properties"]["Environment"]["Variables"]["SHARDS"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
    ]
    assert shards == ["5"] * 5
    assets = json.loads((tmp_path / "Clockwork.assets.json").read_text())["files"].values()
    folders = [tmp_path / asset["source"]["path"] for asset in assets if asset["source"]["packaging"] == "zip"]
    assert len(folders) == 8
    assert all(any(path.suffix == ".py" for path in folder.rglob("*")) for folder in folders)


def test_bootstrap_deploy_again_and_destroy(empty: LocalStack, tmp_path: Path) -> None:
    assembly = synth.assembly({"stage": "local", "adminPrincipals": ADMIN_ARN})
    app = ("--app", str(assembly), "--output", str(tmp_path))
    admin = as_user(empty, empty.admin)

    cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", environment=admin)
    cdk("deploy", *app, "--require-approval", "never", environment=admin)
    deployed = stack_named(empty, "Clockwork")
    outputs = {output["OutputKey"]: output["OutputValue"] for output in deployed["Outputs"]}
    assert deployed["StackStatus"] == "CREATE_COMPLETE"
    assert len(empty.client("dynamodb").list_tables()["TableNames"]) == 5

    empty.outputs = outputs
    assert empty.api().request("GET", "/v1/health").status == 200
    stranger = empty.create_user("stranger")
    assert empty.api(stranger).request("GET", "/v1/health").status == 403

    assert "no changes" in cdk("deploy", *app, "--require-approval", "never", environment=admin)
    assert stack_named(empty, "Clockwork")["StackStatus"] == "CREATE_COMPLETE"

    cdk("destroy", *app, "--force", environment=admin)
    assert left_over(empty) == {"tables": [], "queues": [], "functions": [], "rules": [], "stacks": ["CDKToolkit"]}


def stack_named(stack: LocalStack, name: str) -> dict[str, Any]:
    """CloudFormation's description of a stack."""
    found: dict[str, Any] = stack.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    return found


def left_over(stack: LocalStack) -> dict[str, list[str]]:
    """The remaining resources that could still cost money."""
    client = stack.client
    stacks = client("cloudformation").describe_stacks()["Stacks"]
    return {
        "tables": client("dynamodb").list_tables()["TableNames"],
        "queues": client("sqs").list_queues().get("QueueUrls", []),
        "functions": [one["FunctionName"] for one in client("lambda").list_functions()["Functions"]],
        "rules": [rule["Name"] for rule in client("events").list_rules()["Rules"]],
        "stacks": [one["StackName"] for one in stacks if one["StackStatus"] != "DELETE_COMPLETE"],
    }
