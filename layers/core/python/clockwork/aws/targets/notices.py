"""Notices of dead executions, as messages to SQS queues of clients."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clockwork.aws import botocore_errors
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution
from clockwork.domain.ids import derive
from clockwork.domain.lifecycle.callbacks import facts_of
from clockwork.targets.service import Undeliverable
from clockwork.targets.sqs import url_of

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class AwsNotices:
    """`ports.Notices` on SQS: the facts of the execution as JSON, never its payload."""

    def __init__(self, aws: Aws) -> None:
        self._sqs: SQSClient = aws.client_later("sqs")

    def send(self, queue_arn: str, execution: Execution) -> None:
        ordering: Any = {}
        if queue_arn.endswith(".fifo"):
            ordering = {
                "MessageGroupId": derive("notice-group", execution.job_id),
                "MessageDeduplicationId": derive("notice", execution.execution_id, execution.revision),
            }
        try:
            self._sqs.send_message(QueueUrl=url_of(queue_arn, self._sqs), MessageBody=body_of(execution), **ordering)
        except (botocore_errors.ClientError, botocore_errors.BotoCoreError, Undeliverable) as error:
            raise Unavailable(f"{queue_arn} was not told: {error}") from error


def body_of(execution: Execution) -> str:
    """The notice as JSON, with the same facts as a callback.

    It is ASCII, since SQS refuses some characters that tags may hold.
    """
    tags = execution.kept.occurrence.tags if execution.kept.occurrence is not None else {}
    return json.dumps(facts_of(execution, tags))
