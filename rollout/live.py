"""A live stack: its resources in the account, and the ports of its Lambdas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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

    @cached_property
    def settings(self) -> Settings:
        """The settings of its api."""
        found = self.account.client("lambda").get_function_configuration(FunctionName=self.function("Api"))
        return Settings.from_environment(found["Environment"]["Variables"])

    @cached_property
    def world(self) -> World:
        """The ports of its api, by the credentials of whoever deploys."""
        return aws_world(self.settings, Aws(self.account.session))

    def depth(self, queue: str) -> int:
        """How many messages a queue of this URL holds, those in flight and delayed included."""
        names = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]
        found = self.account.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
        return sum(int(found[name]) for name in names)

    def delete(self) -> None:
        """Delete the stack, and wait until it is gone."""
        cloudformation = self.account.client("cloudformation")
        cloudformation.delete_stack(StackName=self.name)
        waiter = cloudformation.get_waiter("stack_delete_complete")
        waiter.wait(StackName=self.name, WaiterConfig={"Delay": 5, "MaxAttempts": 360})

    def _resources(self) -> Iterator[Resource]:
        pages = self.account.client("cloudformation").get_paginator("list_stack_resources")
        made: Mapping[str, Any] = self.template.body["Resources"]
        for page in pages.paginate(StackName=self.name):
            for one in page["StackResourceSummaries"]:
                logical_id, stays = one["LogicalResourceId"], False
                if logical_id in made:
                    stays = str(made[logical_id].get("DeletionPolicy", "")).startswith("Retain")
                yield Resource(one["ResourceType"], readable(logical_id), one.get("PhysicalResourceId", ""), stays)
