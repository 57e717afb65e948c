"""Starting pollers through Lambda."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clockwork.aws.errors import ask
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_lambda.client import LambdaClient

#: What Lambda answers when it has queued an asynchronous invocation.
#: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
QUEUED = 202


class AwsInvoker:
    """`ports.Invoker` by asynchronous invocation of the poller function with {"partitionId": ..., "succeeds": ...}."""

    def __init__(self, aws: Aws, function: str) -> None:
        self._function = function
        self._lambda: LambdaClient = aws.client_later("lambda")

    def poll(self, partition_id: str, *, succeeds: bool = False) -> None:
        payload = json.dumps({"partitionId": partition_id, **({"succeeds": True} if succeeds else {})}).encode()
        answer = ask(self._lambda.invoke, FunctionName=self._function, InvocationType="Event", Payload=payload)
        if answer["StatusCode"] != QUEUED:
            raise Unavailable(f"{self._function} answered {answer['StatusCode']} instead of {QUEUED}")
