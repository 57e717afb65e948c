"""The command lines with which a person deploys, against the emulator."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from infra import ROOT
from local.emulator import REGION, Credentials
from local.stack import LocalStack

CDK = ROOT / "node_modules/.bin/cdk"


def cdk(*arguments: str, environment: dict[str, str] | None = None) -> str:
    """Runs the CDK's command line and returns its output. Fails the test if the command fails."""
    status, said = _run([str(CDK), *arguments, "--no-notices", "--no-version-reporting"], environment or {})
    assert status == 0, f"cdk {' '.join(arguments)}: {said[-3_000:]}"
    return said


def rollout(*arguments: str, environment: dict[str, str]) -> tuple[int, str]:
    """Runs `python -m rollout`; returns its exit status and all that it said."""
    return _run([sys.executable, "-m", "rollout", *arguments], environment)


def _run(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    quiet = {"CI": "true", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20"}
    ran = subprocess.run(
        command,
        env={**inherited, **quiet, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


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
