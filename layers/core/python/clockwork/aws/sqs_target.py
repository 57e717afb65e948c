"""SQS targets: one message to a queue, standard or FIFO."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from clockwork.domain.executions import Outcome, State
from clockwork.domain.ids import derive
from clockwork.domain.instants import to_text
from clockwork.domain.jobs import SqsTarget
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock

#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
LONGEST_GROUP_ID = 128
_ARN = re.compile(r"arn:[a-z-]+:sqs:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12}):(?P<name>[A-Za-z0-9_-]+(?:\.fifo)?)")
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
_NOT_IN_A_MESSAGE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: The message itself is at fault; everything else (permissions, keys, a queue not yet made) somebody can put right.
_PERMANENT = frozenset({"InvalidMessageContents", "InvalidParameterValue", "InvalidAttributeValue"})
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "KMS.AccessDeniedException", "KmsAccessDenied"})
_MISSING = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})


class _Undeliverable(Exception):
    """No repeat can deliver this message; the message says why."""


class _Queue(msgspec.Struct, frozen=True):
    """A queue of the region that the client speaks to."""

    url: str
    is_fifo: bool


class SqsTransport:
    """Delivers to SqsTargets through an SQS client whose endpoint and region are Clockwork's own. For many threads.

    How long a call takes at most is the client's configuration.
    """

    def __init__(self, client: Any, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt. Faults are outcomes."""
        target = delivery.occurrence.target
        if not isinstance(target, SqsTarget):
            raise TypeError(f"not an SQS target: {type(target).__name__}")
        started_at = self._clock.now()
        try:
            message = {"MessageBody": _body(delivery), "MessageAttributes": _attributes(delivery)}
            queue = self._queue(target.queue_arn)
            ordering = _ordering(target, delivery) if queue.is_fifo else {}
            self._client.send_message(QueueUrl=queue.url, **message, **ordering)
        except (ClientError, BotoCoreError, _Undeliverable) as fault:
            return _failure_of(fault, target.queue_arn, started_at, self._clock.now())
        return Outcome(State.SUCCEEDED, started_at, self._clock.now())

    def _queue(self, arn: str) -> _Queue:
        """A queue's URL is its endpoint, account and name, in every partition and on an emulator."""
        match = _ARN.fullmatch(arn)
        if match is None:
            raise _Undeliverable(f"{arn} is not the ARN of a queue")
        ours = self._client.meta.region_name
        if match["region"] != ours:
            raise _Undeliverable(f"{arn} is in {match['region']}, Clockwork delivers to queues in {ours} only")
        endpoint = self._client.meta.endpoint_url.rstrip("/")
        return _Queue(f"{endpoint}/{match['account']}/{match['name']}", match["name"].endswith(".fifo"))


def _body(delivery: Delivery) -> str:
    body = delivery.occurrence.payload.body.decode()
    if not body:
        raise _Undeliverable("the payload is empty, which SQS does not accept")
    if (stray := _NOT_IN_A_MESSAGE.search(body)) is not None:
        where = f"U+{ord(stray[0]):04X} at character {stray.start() + 1:,}"
        raise _Undeliverable(f"the payload holds {where}, which SQS does not accept")
    return body


def _attributes(delivery: Delivery) -> dict[str, dict[str, str]]:
    return {
        "executionId": {"DataType": "String", "StringValue": delivery.execution_id},
        "jobId": {"DataType": "String", "StringValue": delivery.job_id},
        "attempt": {"DataType": "Number", "StringValue": str(delivery.attempt)},
        "dueAt": {"DataType": "String", "StringValue": to_text(delivery.occurrence.due_at)},
    }


def _ordering(target: SqsTarget, delivery: Delivery) -> dict[str, str]:
    """The group as asked for, and one id for all attempts: a repeat within five minutes is absorbed by the queue."""
    group = target.message_group_id or delivery.job_id
    return {
        "MessageGroupId": group if len(group) <= LONGEST_GROUP_ID else derive("message-group", group),
        "MessageDeduplicationId": derive("message", delivery.execution_id),
    }


def _failure_of(fault: Exception, arn: str, started_at: int, ended_at: int) -> Outcome:
    if isinstance(fault, _Undeliverable):
        return Outcome(State.FAILED, started_at, ended_at, permanent=True, error=str(fault))
    if isinstance(fault, ClientError):
        code = fault.response["Error"].get("Code", "")
        error = f"{arn} {_words(code, fault.response['Error'].get('Message', ''))}"
        return Outcome(State.FAILED, started_at, ended_at, permanent=code in _PERMANENT, error=error)
    if isinstance(fault, ConnectTimeoutError | ReadTimeoutError):
        return Outcome(State.TIMED_OUT, started_at, ended_at, error="SQS did not answer in time")
    words = "SQS cannot be reached" if isinstance(fault, EndpointConnectionError) else "SQS gave no answer"
    return Outcome(State.FAILED, started_at, ended_at, error=f"{words}: {type(fault).__name__}")


def _words(code: str, message: str) -> str:
    if code in _DENIED:
        return f"denies access ({code}): its policies and key must let Clockwork's deliverer role send messages"
    if code in _MISSING:
        return "does not exist"
    return f"did not take the message: {code}: {message[:300]}"
