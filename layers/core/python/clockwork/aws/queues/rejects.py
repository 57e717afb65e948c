"""Rejected messages on SQS, each with its reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clockwork.aws.errors import ask
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable
from clockwork.domain.requests.create import Rejected
from clockwork.ports import Refused

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

AT_ONCE = 10
#: So many bytes of a body and of a reason are kept, escaped as they are, so that ten of both fit into one request.
LONGEST_TEXT = 50_000


class AwsRejects:
    """`flows.requests.ingest.Rejects` on a standard queue."""

    def __init__(self, aws: Aws, queue_url: str) -> None:
        self._url = queue_url
        self._sqs: SQSClient = aws.client("sqs")

    def send(self, rejected: Sequence[Rejected]) -> Sequence[Refused]:
        refused: list[Refused] = []
        for start in range(0, len(rejected), AT_ONCE):
            refused += self._send(start, rejected[start : start + AT_ONCE])
        return refused

    def _send(self, start: int, rejected: Sequence[Rejected]) -> list[Refused]:
        try:
            answer = ask(
                self._sqs.send_message_batch,
                QueueUrl=self._url,
                Entries=[{"Id": str(start + index), "MessageBody": _text(one)} for index, one in enumerate(rejected)],
            )
        except Unavailable as error:
            return [Refused(start + index, False, str(error)) for index in range(len(rejected))]
        failed = answer.get("Failed", ())
        return [Refused(int(one["Id"]), one["SenderFault"], one.get("Message", one["Code"])) for one in failed]


def _text(one: Rejected) -> str:
    """In ASCII, since SQS refuses some characters. Whatever of a body is not UTF-8 is replaced."""
    body = one.body[:LONGEST_TEXT].decode("utf-8", "replace")
    told = {"reason": _cut(one.reason), "messageId": one.message_id, "lane": one.lane, "message": _cut(body)}
    return json.dumps(told)


def _cut(text: str) -> str:
    """So much of it that it fits: an escaped character takes up to twelve bytes."""
    while (size := len(json.dumps(text)) - 2) > LONGEST_TEXT:
        text = text[: len(text) * LONGEST_TEXT // size]
    return text
