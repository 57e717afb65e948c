"""The calls that roles make: those that the emulator has seen, by the names that they have in an account."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

REGION = "us-east-1"
#: The emulator asks for an action of a batch; AWS asks for the action on one message.
#: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsqs.html
_OF_A_BATCH = re.compile(r"^(sqs:\w+)Batch$")
#: How the emulator's CloudFormation names what the template gives no name. A name of ours may end in a digit or two.
_MADE_UP = re.compile(r"Clockwork-(\w+)-[0-9A-F]{8,}")


@dataclass(frozen=True, order=True)
class Call:
    """An action of a role (its logical id) on a resource (its ARN). `context` has condition keys with their values."""

    role: str
    action: str
    resource: str
    context: tuple[tuple[str, str], ...] = ()


def in_account(call: Call) -> Call:
    """A call that the emulator saw, as an account sees it: what the template gives no name has its logical id."""
    role, resource = (_MADE_UP.sub(r"\1", text) for text in (call.role, call.resource))
    if call.action.startswith("ecs:"):
        return _of_tasks(Call(role, call.action, resource))
    return Call(role, _OF_A_BATCH.sub(r"\1", call.action), resource, call.context)


def _of_tasks(call: Call) -> Call:
    """A call of ECS, which the emulator asks for on the cluster. AWS has the cluster as a condition.

    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html
    """
    head, _, cluster = call.resource.rpartition(":cluster/")
    on = {"ecs:RunTask": f"{head}:task-definition/{cluster}:1", "ecs:ListTasks": "*"}
    context = (("ecs:cluster", call.resource),)
    return Call(call.role, call.action, on.get(call.action, f"{head}:task/{cluster}/1"), context)


def recorded(file: Path) -> dict[Call, bool]:
    """The calls of the stack's roles in a file of `local.recorded_calls`, each with whether the emulator refused it."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    lines = [one for one in lines if one["role"].startswith("Clockwork-")]
    return {in_account(Call(one["role"], one["action"], one["resource"])): one["refused"] for one in lines}
