"""Asks an account for the facts that a deployment is checked against. Nothing is changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from rollout.checks import Facts, Unknown
from rollout.template import Template

_ABSENT = frozenset(
    {
        "NoSuchEntity",
        "ParameterNotFound",
        "ValidationError",
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDoesNotExist",
    }
)
#: States of a stack that has no resources: it went, or somebody left it at the review of its first changes.
_NO_STACK = frozenset({"DELETE_COMPLETE", "REVIEW_IN_PROGRESS"})
Found = TypeVar("Found")


class NoAccount(Exception):
    """There are no credentials, or no region. The message names the missing value."""


class Account:
    """An account and region, by the credentials of the operator."""

    def __init__(self, session: Session | None = None) -> None:
        #: The operator's session. As for the CDK, AWS_REGION goes before AWS_DEFAULT_REGION and the profile.
        self.session = session or Session()
        if region := os.environ.get("AWS_REGION"):
            self.session.set_config_variable("region", region)
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """A client of a service. Raises NoAccount."""
        if service not in self._clients:
            try:
                self._clients[service] = self.session.create_client(service)
            except BotoCoreError as error:
                raise NoAccount(f"{error} Set AWS_REGION, and credentials for the account.") from None
        return self._clients[service]

    def facts(self, stack: str, wanted: Template) -> Facts:
        """The facts about a stack of this name. Raises NoAccount without credentials."""
        settings = self._asked(lambda: self.client("lambda").get_account_settings()["AccountLimit"])
        status = self._asked(lambda: self.status(stack), "")
        return Facts(
            account=self.number(),
            region=self.region(),
            bootstrap=self._asked(partial(self._version, wanted.bootstrap), 0),
            boundary=self._asked(partial(self._boundary, wanted.options.get("permissionsBoundary", "")), ""),
            concurrency=_part(settings, "ConcurrentExecutions"),
            unreserved=_part(settings, "UnreservedConcurrentExecutions"),
            status=status,
            live=self._live(stack, status),
            queues=frozenset(name for name in wanted.queue_names if self._has_queue(name)),
        )

    def number(self) -> str:
        """The account's number. Raises NoAccount."""
        try:
            return str(self.client("sts").get_caller_identity()["Account"])
        except (BotoCoreError, ClientError) as error:
            raise NoAccount(f"The account cannot be asked who it is: {error}") from None

    def region(self) -> str:
        """The region of the calls. Raises NoAccount."""
        return str(self.client("cloudformation").meta.region_name)

    def status(self, stack: str) -> str:
        """The state of a stack; empty if there is none, or none but a change set from which it could be made."""
        try:
            described = self.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
        except ClientError as error:
            if _code(error) in _ABSENT:
                return ""
            raise
        found = str(described["StackStatus"])
        return "" if found in _NO_STACK else found

    def template(self, stack: str) -> Template:
        """The template of a live stack."""
        body = self.client("cloudformation").get_template(StackName=stack)["TemplateBody"]
        return Template(body if isinstance(body, Mapping) else json.loads(body))

    def queue_url(self, name: str) -> str:
        """The URL of a queue; empty if there is none."""
        try:
            return str(self.client("sqs").get_queue_url(QueueName=name)["QueueUrl"])
        except ClientError as error:
            if _code(error) in _ABSENT:
                return ""
            raise

    def _live(self, stack: str, status: str | Unknown) -> Template | Unknown | None:
        if isinstance(status, Unknown):
            return status
        found: Template | Unknown | None = self._asked(partial(self.template, stack)) if status else None
        return found

    def _has_queue(self, name: str) -> bool:
        found = self._asked(partial(self.queue_url, name))
        return found != "" and not isinstance(found, Unknown)

    def _version(self, parameter: str) -> int:
        return int(self.client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"])

    def _boundary(self, named: str) -> str:
        """The ARN of the managed policy of a name or ARN; empty for an empty name."""
        if not named:
            return ""
        partition, account = self.client("sts").get_caller_identity()["Arn"].split(":")[1], self.number()
        arn = named if named.startswith("arn:") else f"arn:{partition}:iam::{account}:policy/{named}"
        return str(self.client("iam").get_policy(PolicyArn=arn)["Policy"]["Arn"])

    @staticmethod
    def _asked(ask: Callable[[], Found], absent: Found | None = None) -> Any:
        """The answer; `absent` if there is no such thing; Unknown, with the reason, if nobody may or can tell."""
        try:
            return ask()
        except ClientError as error:
            if absent is not None and _code(error) in _ABSENT:
                return absent
            return Unknown(_code(error))
        except BotoCoreError as error:
            return Unknown(type(error).__name__)


def _part(settings: Any, name: str) -> int | Unknown:
    return settings if isinstance(settings, Unknown) else int(settings[name])


def _code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])
