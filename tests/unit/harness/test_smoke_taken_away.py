"""A smoke takes away what it has deployed whatever becomes of it, and never touches a stack of somebody else."""

from __future__ import annotations

import random
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.options import SMOKE
from rollout.template import Template
from tests.smoke.places import account
from tests.smoke.places.local import Local
from tests.smoke.run import play
from tests.smoke.targets.stack import NotMade, gone
from tests.smoke.targets.template import DESCRIPTION, STACK

KEPT = Template({"Resources": {"Timeline": {"Type": "AWS::DynamoDB::GlobalTable", "DeletionPolicy": "Retain"}}})
WHOLE = Template({"Resources": {"Timeline": {"Type": "AWS::DynamoDB::GlobalTable", "DeletionPolicy": "Delete"}}})


class CloudFormation:
    """Stacks by name, with their states; a deletion ends in the state `ends`."""

    def __init__(self, ends: str = "DELETE_COMPLETE", **stacks: str) -> None:
        self.stacks = stacks
        self.ends = ends
        self.deleted: list[str] = []
        self.description = DESCRIPTION

    def create_stack(self, StackName: str, **asked: Any) -> None:  # noqa: N803 - AWS's name
        self.stacks[StackName] = "ROLLBACK_COMPLETE"

    def delete_stack(self, StackName: str) -> None:  # noqa: N803
        self.deleted.append(StackName)
        self.stacks[StackName] = self.ends

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803
        if self.stacks.get(StackName, "DELETE_COMPLETE") == "DELETE_COMPLETE":
            raise ClientError({"Error": {"Code": "ValidationError", "Message": "does not exist"}}, "DescribeStacks")
        return {"Stacks": [{"StackStatus": self.stacks[StackName], "Description": self.description}]}

    def describe_stack_events(self, StackName: str) -> dict[str, Any]:  # noqa: N803
        failed = {"ResourceStatus": "CREATE_FAILED", "LogicalResourceId": "Bus", "ResourceStatusReason": "no"}
        return {"StackEvents": [failed]}


class Place(Local):
    """A place at which the targets cannot be made; it notes that it was left."""

    def __init__(self, cloudformation: CloudFormation) -> None:
        self.cloudformation = cloudformation
        self.was_left = False

    def client(self, service: str) -> Any:
        return self.cloudformation

    def leave(self) -> list[str]:
        self.was_left = True
        return []


class Credentialed:
    """An account with these stacks, and the template of the smoke's."""

    def __init__(self, cloudformation: CloudFormation, template: Template = WHOLE) -> None:
        self.cloudformation = cloudformation
        self.of_smoke = template

    def client(self, service: str) -> Any:
        return self.cloudformation

    def status(self, stack: str) -> str:
        return self.cloudformation.stacks.get(stack, "")

    def template(self, stack: str) -> Template:
        return self.of_smoke


def test_what_was_made_goes_although_the_smoke_fails() -> None:
    place = Place(CloudFormation())
    with pytest.raises(NotMade, match="ROLLBACK_COMPLETE: Bus: no"):
        play(place, lambda line: None, random.Random(1))
    assert place.cloudformation.deleted == [STACK]
    assert place.was_left


def test_what_cannot_be_deleted_is_told_with_its_reason() -> None:
    stuck = CloudFormation(ends="DELETE_FAILED", Mine="CREATE_COMPLETE")
    assert gone(lambda service: stuck, "Mine") == "Mine is DELETE_FAILED: Bus: no"
    assert gone(lambda service: CloudFormation(), "Mine") == ""


def refusal(credentialed: Any) -> str:
    try:
        account.refuse_a_stack_of_others(credentialed)
    except account.NotStarted as refused:
        return str(refused)
    return ""


def test_a_stack_of_somebody_else_is_left_alone() -> None:
    theirs = Credentialed(CloudFormation(**{SMOKE: "CREATE_COMPLETE"}), KEPT)
    assert refusal(theirs) == f"there is a stack {SMOKE} of somebody else: its Timeline would stay"
    other = CloudFormation(**{STACK: "CREATE_COMPLETE"})
    other.description = "Mine"
    assert refusal(Credentialed(other)) == f"there is a stack {STACK} of somebody else"


def test_what_an_earlier_smoke_left_is_its_own() -> None:
    left = CloudFormation(**{SMOKE: "UPDATE_COMPLETE", STACK: "CREATE_COMPLETE"})
    assert refusal(Credentialed(left)) == ""
