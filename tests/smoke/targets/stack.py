"""Makes the stack of the targets, and takes it away."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from tests.smoke.targets.template import HEARD, STACK, queue_name

Client = Callable[[str], Any]
#: A key and an API take a minute or two in an account.
MAKE_SECONDS = 600


class NotMade(Exception):
    """CloudFormation refused, or was too slow; the message says what it said."""


def make(client: Client, template: Mapping[str, Any]) -> dict[str, str]:
    """Create the stack; returns its outputs. Raises NotMade, and leaves what there is to `gone`."""
    cloudformation = client("cloudformation")
    cloudformation.create_stack(StackName=STACK, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"])
    described = _rested(client, STACK)
    if described is None or described["StackStatus"] != "CREATE_COMPLETE":
        raise NotMade(f"The targets: {described and described['StackStatus']}: {_reasons(client, STACK)}")
    return {one["OutputKey"]: one["OutputValue"] for one in described.get("Outputs", [])}


def queue_urls(client: Client) -> dict[str, str]:
    """The queues that are there to be heard, by their keys in `HEARD`."""
    found = {}
    for use in HEARD:
        if url := url_of(client, use):
            found[str(use)] = url
    return found


def url_of(client: Client, use: str) -> str:
    """The URL of a queue, by what it is for; empty if there is none."""
    urls = client("sqs").list_queues(QueueNamePrefix=queue_name(use)).get("QueueUrls", [])
    return next((url for url in urls if url.endswith(f"/{queue_name(use)}")), "")


def gone(client: Client, stack: str) -> str:
    """Delete a stack, and wait; returns what stands in the way, empty if it is gone or never was."""
    client("cloudformation").delete_stack(StackName=stack)
    described = _rested(client, stack)
    if described is None or described["StackStatus"] == "DELETE_COMPLETE":
        return ""
    return f"{stack} is {described['StackStatus']}: {_reasons(client, stack)}"


def _rested(client: Client, stack: str) -> dict[str, Any] | None:
    """The stack, once nothing of it is in progress; None if there is none."""
    give_up_at, pause = time.monotonic() + MAKE_SECONDS, 0.05
    while True:
        try:
            found: dict[str, Any] = client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
        except ClientError as error:
            if error.response["Error"]["Code"] == "ValidationError":
                return None
            raise
        if not found["StackStatus"].endswith("IN_PROGRESS") or time.monotonic() > give_up_at:
            return found
        time.sleep(pause)
        pause = min(5, pause * 1.5)


def _reasons(client: Client, stack: str) -> str:
    events = client("cloudformation").describe_stack_events(StackName=stack)["StackEvents"]
    failed = [one for one in events if one["ResourceStatus"].endswith("FAILED")]
    return "; ".join(f"{one['LogicalResourceId']}: {one.get('ResourceStatusReason')}" for one in failed)
