"""The common parts of SQS and SNS messages: the payload as the body, the facts as attributes, and FIFO ordering."""

from __future__ import annotations

import re

from clockwork.aws.targets.service_attempts import Undeliverable
from clockwork.domain.ids import derive
from clockwork.domain.instants import to_text
from clockwork.domain.releases import Delivery

#: The most characters of a message group's id:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
LONGEST_GROUP_ID = 128
#: Characters that no message may hold:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
#: (By the characters that it may hold, the pattern would be the same and take 3 ms of a cold start to compile.)
_NOT_IN_A_MESSAGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def body_of(delivery: Delivery, service: str) -> str:
    """The payload as text; raises Undeliverable if the service does not carry it."""
    body = delivery.occurrence.payload.body.decode()
    if not body:
        raise Undeliverable(f"the payload is empty, which {service} does not accept")
    if (stray := _NOT_IN_A_MESSAGE.search(body)) is not None:
        where = f"U+{ord(stray[0]):04X} at character {stray.start() + 1:,}"
        raise Undeliverable(f"the payload holds {where}, which {service} does not accept")
    return body


def attributes_of(delivery: Delivery) -> dict[str, dict[str, str]]:
    """The facts of an attempt (ids, its number, the due instant, its token if it has one) as message attributes."""
    token = {} if delivery.token is None else {"token": {"DataType": "String", "StringValue": delivery.token}}
    return {
        "executionId": {"DataType": "String", "StringValue": delivery.execution_id},
        "jobId": {"DataType": "String", "StringValue": delivery.job_id},
        "attempt": {"DataType": "Number", "StringValue": str(delivery.attempt)},
        "dueAt": {"DataType": "String", "StringValue": to_text(delivery.occurrence.due_at)},
        **token,
    }


def ordering_of(group: str | None, delivery: Delivery) -> dict[str, str]:
    """The message group and the deduplication id of a message to a FIFO queue or topic.

    The group is the one asked for, or the job's id; an id derived from it stands for one that is too long. All attempts
    have one deduplication id: the service absorbs a repeat within five minutes. Attempts with tokens have one each, as
    the token of an earlier one counts no more.
    """
    told = (delivery.execution_id,) if delivery.token is None else (delivery.execution_id, delivery.attempt)
    group = group or delivery.job_id
    return {
        "MessageGroupId": group if len(group) <= LONGEST_GROUP_ID else derive("message-group", group),
        "MessageDeduplicationId": derive("message", *told),
    }
