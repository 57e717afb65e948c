"""A live stack: its resources in the account, and the ports of its Lambdas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from clockwork.aws.session import Aws
from clockwork.bootstrap import aws_world
from clockwork.flows.world import World
from clockwork.settings import Settings
from rollout.account import Account
from rollout.template import Template, readable


@dataclass(frozen=True)
class Resource:
    """A resource of a stack: its type, its readable logical id, and its name or id in the account."""

    kind: str
    name: str
    physical: str
    stays: bool


class Live:
    """A stack of an account, by its name. Raises NoAccount without credentials."""

    def __init__(self, account: Account, name: str) -> None:
        self.account = account
        self.name = name
        self.template: Template = account.template(name)
        self.resources = list(self._resources())

    def of(self, kind: str) -> Iterator[Resource]:
        """Its resources of a type, such as `Lambda::Function`."""
        return (one for one in self.resources if one.kind == f"AWS::{kind}")

    def function(self, name: str) -> str | None:
        """The name in the account of a Lambda, such as `Api`; None if the stack has none."""
        return next((one.physical for one in self.of("Lambda::Function") if one.name == f"Functions{name}"), None)

    @property
    def functions(self) -> Iterator[str]:
        """The names in the account of its Lambdas; none if an earlier deletion has taken them all."""
        return (one.physical for one in self.of("Lambda::Function") if one.name.startswith("Functions"))

    @property
    def deployed_at(self) -> datetime:
        """When its last deployment began (UTC)."""
        (stack,) = self.account.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"]
        found: datetime = stack.get("LastUpdatedTime") or stack["CreationTime"]
        return found

    @cached_property
    def settings(self) -> Settings:
        """The settings of its api; of any other Lambda if the api is gone, since each has them all."""
        function = self.function("Api") or next(self.functions)
        found = self.account.client("lambda").get_function_configuration(FunctionName=function)
        return Settings.from_environment(found["Environment"]["Variables"])

    @cached_property
    def world(self) -> World:
        """The ports of its api, by the operator's credentials."""
        return aws_world(self.settings, Aws(self.account.session))

    def depth(self, queue: str) -> int:
        """How many messages a queue of this URL holds, those in flight and delayed included."""
        names = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]
        found = self.account.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
        return sum(int(found[name]) for name in names)

    @property
    def adopted(self) -> Iterator[Resource]:
        """The tables and queues that it adopted.

        They are no resources of the stack, so they stay when the stack is deleted.
        """
        found = self.template.options.get("adopt", {})
        for name, table in found.get("tables", {}).items():
            yield Resource("AWS::DynamoDB::GlobalTable", f"Storage{name.capitalize()}", table, True)
        for name, queue in found.get("queues", {}).items():
            if url := self.account.queue_url(queue):
                yield Resource("AWS::SQS::Queue", f"Queues{name}", url, True)

    def is_protected(self) -> bool:
        """Whether CloudFormation refuses to delete the stack."""
        (stack,) = self.account.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"]
        return bool(stack.get("EnableTerminationProtection"))

    def is_going(self) -> bool:
        """Whether CloudFormation is deleting the stack already."""
        return self.account.status(self.name) == "DELETE_IN_PROGRESS"

    def delete(self) -> None:
        """Begin to delete the stack. Nobody can take that back."""
        self.account.client("cloudformation").delete_stack(StackName=self.name)

    def await_end(self) -> None:
        """Wait until the stack is gone, for half an hour. Raises WaiterError if it is not, or cannot be deleted."""
        waiter = self.account.client("cloudformation").get_waiter("stack_delete_complete")
        waiter.wait(StackName=self.name, WaiterConfig={"Delay": 5, "MaxAttempts": 360})

    def _resources(self) -> Iterator[Resource]:
        pages = self.account.client("cloudformation").get_paginator("list_stack_resources")
        made: Mapping[str, Any] = self.template.body["Resources"]
        for page in pages.paginate(StackName=self.name):
            for one in page["StackResourceSummaries"]:
                if one["ResourceStatus"] == "DELETE_COMPLETE":
                    continue
                logical_id, stays = one["LogicalResourceId"], False
                if logical_id in made:
                    stays = str(made[logical_id].get("DeletionPolicy", "")).startswith("Retain")
                yield Resource(one["ResourceType"], readable(logical_id), one.get("PhysicalResourceId", ""), stays)
