"""The invoker, which starts pollers and the sweeper through Lambda."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clockwork.aws.errors import ask, told
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_lambda.client import LambdaClient

#: The status code with which Lambda answers that it has queued an asynchronous invocation.
#: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
QUEUED = 202


class AwsInvoker:
    """`ports.Invoker` by asynchronous invocation of the poller function, and of the sweeper function.

    The sweeper's event is {"clientId": ...}. The poller's event is {"partitionId": ...} for one shard, with `succeeds`
    for a successor, or {"partitionIds": [...]} for several shards. Either may have `lookaheadSeconds`. Raises
    Unavailable if Lambda has not queued the invocation.
    """

    def __init__(self, aws: Aws, poller: str, sweeper: str = "") -> None:
        self._poller, self._sweeper = poller, sweeper
        self._lambda: LambdaClient = aws.client_later("lambda")

    def poll(self, partition_id: str, *, succeeds: bool = False, lookahead_seconds: int | None = None) -> None:
        self._invoke(
            self._poller,
            {"partitionId": partition_id, "succeeds": succeeds or None, "lookaheadSeconds": lookahead_seconds},
        )

    def poll_together(self, partition_ids: Sequence[str], *, lookahead_seconds: int | None = None) -> None:
        self._invoke(self._poller, {"partitionIds": list(partition_ids), "lookaheadSeconds": lookahead_seconds})

    def sweep(self, client_id: str) -> None:
        self._invoke(self._sweeper, {"clientId": client_id})

    def _invoke(self, function: str, event: Mapping[str, object]) -> None:
        payload = json.dumps({name: value for name, value in event.items() if value is not None}).encode()
        answer = ask(self._lambda.invoke, FunctionName=function, InvocationType="Event", Payload=payload)
        if (status := told(answer, "StatusCode")) != QUEUED:
            raise Unavailable(f"{function} answered {status} instead of {QUEUED}")
