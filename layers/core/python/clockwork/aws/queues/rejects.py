"""The queue of rejected messages on SQS, each with the reason for its rejection."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from clockwork.aws.errors import ask, is_of_entry, not_taken
from clockwork.aws.repeats import batches
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable
from clockwork.domain.requests.create import Rejected
from clockwork.ports import Refused

#: The most messages that one request takes.
AT_ONCE = 10
#: The most bytes that are kept of a body and of a reason, counted once escaped, so that ten of both fit into a request.
LONGEST_TEXT = 50_000


class AwsRejects:
    """`flows.requests.ingest.Rejects` on a standard queue."""

    def __init__(self, aws: Aws, queue_url: str) -> None:
        self._url = queue_url
        self._sqs = aws.plane("sqs")

    def send(self, rejected: Sequence[Rejected]) -> Sequence[Refused]:
        return [refused for batch in batches(list(enumerate(rejected)), AT_ONCE) for refused in self._send(batch)]

    def _send(self, batch: Sequence[tuple[int, Rejected]]) -> list[Refused]:
        entries: Any = [{"Id": str(index), "MessageBody": _text(one)} for index, one in batch]
        try:
            answer = ask(self._sqs.call, "SendMessageBatch", QueueUrl=self._url, Entries=entries)
        except Unavailable as error:
            return [Refused(index, False, str(error)) for index, _ in batch]
        failed = not_taken(answer, (str(index) for index, _ in batch))
        return [Refused(int(id_), is_of_entry(one), one.get("Message", one["Code"])) for id_, one in failed.items()]


def _text(one: Rejected) -> str:
    """The message about a rejected one, as JSON in ASCII, since SQS refuses some characters.

    Bytes of a body that are not UTF-8 are replaced.
    """
    body = one.body[:LONGEST_TEXT].decode("utf-8", "replace")
    told = {"reason": _cut(one.reason), "messageId": one.message_id, "lane": one.lane, "message": _cut(body)}
    return json.dumps(told)


def _cut(text: str) -> str:
    """A beginning of the text that fits into LONGEST_TEXT bytes: one escaped character takes up to twelve of them."""
    while (size := len(json.dumps(text)) - 2) > LONGEST_TEXT:
        text = text[: len(text) * LONGEST_TEXT // size]
    return text
