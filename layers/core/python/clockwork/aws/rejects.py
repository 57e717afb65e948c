"""Rejected messages on SQS, each with its reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clockwork.aws.errors import ask
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable
from clockwork.domain.rejected import Rejected
from clockwork.ports import Refused

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

AT_ONCE = 10
#: So much of a body is kept, so that ten of them fit into one request, escaped as they are.
LONGEST_BODY = 16_000


class AwsRejects:
    """`flows.ingest.Rejects` on a standard queue."""

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
                Entries=[{"Id": str(start + place), "MessageBody": _text(one)} for place, one in enumerate(rejected)],
            )
        except Unavailable as error:
            return [Refused(start + place, False, str(error)) for place in range(len(rejected))]
        failed = answer.get("Failed", ())
        return [Refused(int(one["Id"]), one["SenderFault"], one.get("Message", one["Code"])) for one in failed]


def _text(one: Rejected) -> str:
    told = {"reason": one.reason, "messageId": one.message_id, "lane": one.lane, "message": _body(one.body)}
    return json.dumps(told)  # in ASCII, since SQS refuses some characters


def _body(body: bytes) -> str:
    """As text; whatever is not UTF-8 is replaced, and a long one is cut."""
    return body.decode("utf-8", "replace")[:LONGEST_BODY]
