"""A CloudFormation template of Clockwork, with the questions that a deployment asks of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Types of resources that hold the only copy of their data, with the properties that CloudFormation cannot change: it
#: would make a new, empty resource.
STATEFUL: Mapping[str, tuple[str, ...]] = {
    "AWS::DynamoDB::GlobalTable": ("TableName", "KeySchema", "LocalSecondaryIndexes"),
    "AWS::SQS::Queue": ("QueueName", "FifoQueue"),
    "AWS::MSK::ServerlessCluster": ("ClusterName", "VpcConfigs", "ClientAuthentication"),
}
#: The parameter with the version of the bootstrap stack under the CDK's own qualifier.
CDK_BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"
#: The suffix that the CDK puts behind a logical id.
_HASH = re.compile(r"[0-9A-F]{8}$")


@dataclass(frozen=True)
class Concurrency:
    """A stack's share of the account's concurrent executions: reserved, and the most by its event sources."""

    reserved: int
    sources: int


@dataclass(frozen=True)
class Template:
    """A template as CloudFormation has it."""

    body: Mapping[str, Any]

    @property
    def options(self) -> Mapping[str, Any]:
        """The options with which it was made."""
        found: Mapping[str, Any] = self.body.get("Metadata", {}).get("Clockwork", {}).get("options", {})
        return found

    @property
    def bootstrap(self) -> str:
        """The parameter of SSM that has the version of the bootstrap stack; its qualifier is a part of the name."""
        found: str = self.body.get("Parameters", {}).get("BootstrapVersion", {}).get("Default", CDK_BOOTSTRAP)
        return found

    @property
    def admins(self) -> frozenset[str]:
        """The principals that are admins."""
        rows = [one["Properties"]["AdminPrincipals"] for _, one in self.resources("Custom::ClockworkAdmins")]
        return frozenset[str]().union(*rows)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The environment of the api; values that CloudFormation fills in are no texts."""
        for logical_id, one in self.resources("AWS::Lambda::Function"):
            if readable(logical_id) == "FunctionsApi":
                found: Mapping[str, Any] = one["Properties"]["Environment"]["Variables"]
                return found
        return {}

    @property
    def concurrency(self) -> Concurrency:
        """The most of the account's concurrency that the stack takes.

        A provisioned poller keeps ten invocations busy.
        """
        functions = [one["Properties"] for _, one in self.resources("AWS::Lambda::Function")]
        sources = [one["Properties"] for _, one in self.resources("AWS::Lambda::EventSourceMapping")]
        bounds = [
            one.get("ScalingConfig", {}).get("MaximumConcurrency", 0)
            + 10 * one.get("ProvisionedPollerConfig", {}).get("MaximumPollers", 0)
            for one in sources
        ]
        return Concurrency(sum(one.get("ReservedConcurrentExecutions", 0) for one in functions), sum(bounds))

    @property
    def queue_names(self) -> frozenset[str]:
        """The names that it gives to queues."""
        named = (one["Properties"].get("QueueName") for _, one in self.resources("AWS::SQS::Queue"))
        return frozenset(name for name in named if isinstance(name, str))

    def resources(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Logical id and resource of every resource of a type."""
        for logical_id, one in self.body.get("Resources", {}).items():
            if one["Type"] == kind:
                yield logical_id, one


def readable(logical_id: str) -> str:
    """A logical id without the characters that the CDK puts behind it."""
    return _HASH.sub("", logical_id)
