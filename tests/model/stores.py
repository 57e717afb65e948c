"""The compared adapters: in memory, and on AWS or the emulator in its place."""

from __future__ import annotations

from tests.contract.worlds import AwsWorld, MemoryWorld


class MemoryStores(MemoryWorld):
    """The ports in plain Python."""

    def take(self) -> str:
        (message,) = self.releases.receive()
        self.releases.delete(message.message_id)
        return message.body


class AwsStores(AwsWorld):
    """The ports on AWS."""

    def take(self) -> str:
        sqs = self.aws.client("sqs")
        (message,) = sqs.receive_message(QueueUrl=self.queue_url(), WaitTimeSeconds=1)["Messages"]
        sqs.delete_message(QueueUrl=self.queue_url(), ReceiptHandle=message["ReceiptHandle"])
        return str(message["Body"])
