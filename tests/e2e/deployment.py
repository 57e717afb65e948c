"""The deployed stack as an operator sees it: its clients, queues, shards and Lambdas."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import botocore.session
from botocore.credentials import Credentials as Keys

from clockwork.aws.session import Aws
from clockwork.bootstrap import aws_world
from clockwork.domain import keys
from clockwork.flows.world import World
from clockwork.settings import Settings
from clockwork_client import Clockwork
from local.emulator import REGION, Credentials
from local.stack import LocalStack
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import await_value

_TABLES = ("Timeline", "Jobs", "Executions", "Shards", "Clients")
_PARTITIONS = keys.plain_partitions(Settings.for_local().shards)


class Deployment:
    """The deployed stack. `standard` and `fifo` are the ARNs of queues that jobs may target."""

    def __init__(self, stack: LocalStack, standard: str, fifo: str) -> None:
        self.stack = stack
        self.standard = standard
        self.fifo = fifo
        self._rule = next(r["Name"] for r in self._client("events").list_rules()["Rules"] if "Tick" in r["Name"])

    def tenant(self, name: str, **definition: Any) -> Tenant:
        """Makes a client whose only principal is a user of its own, who may call the API."""
        user = self.caller(name)
        body = {"principals": [user.arn], **definition}
        answer = self.stack.api().request("PUT", f"/v1/clients/{name}", body)
        assert answer.status == 200, answer
        return Tenant(name, self.stack.api(user))

    def clockwork(self, name: str, **definition: Any) -> Clockwork:
        """Makes a client like `tenant`, and returns the Python client of its principal."""
        user = self.caller(f"{name}-user")
        answer = self.stack.api().request("PUT", f"/v1/clients/{name}", {"principals": [user.arn], **definition})
        assert answer.status == 200, answer
        return self.clockwork_of(user, name)

    def clockwork_of(self, user: Credentials, name: str | None) -> Clockwork:
        """The Python client of a user, for a client or for none."""
        credentials = Keys(user.access_key, user.secret_key)
        return Clockwork(self.stack.api_url, name, region=REGION, credentials=credentials, timeout=30)

    def caller(self, name: str) -> Credentials:
        """Makes a user who may call the API but is a principal of no client."""
        allowed = f"arn:aws:execute-api:{REGION}:*:{self.stack.outputs['ApiId']}/*"
        return self.stack.create_user(name, {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": allowed})

    def invoke(self, moment: str, event: dict[str, Any]) -> dict[str, Any]:
        """Invokes a Lambda and returns its answer. Fails the test if the Lambda fails."""
        name = self.stack.outputs[f"{moment.capitalize()}Function"]
        answer = self._client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
        said = answer["Payload"].read()
        assert "FunctionError" not in answer, said
        return dict(json.loads(said))

    def send_dead_letter(self, body: str, queue: str = "DeadLetterQueueUrl") -> None:
        """Puts a message into a dead-letter queue, as SQS does with messages that were received too often."""
        self._client("sqs").send_message(QueueUrl=self.stack.outputs[queue], MessageBody=body)

    def await_empty(self, queue: str = "ReleaseQueueUrl") -> None:
        """Waits until a queue is empty; messages in flight and delayed ones count, too."""
        await_value(lambda: True if self.depth(self.stack.outputs[queue]) == 0 else None, f"{queue} is empty")

    def depth(self, url: str) -> int:
        """How many messages are in a queue, those in flight and delayed included."""
        names = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]
        attributes = self._client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(attributes[name]) for name in names)

    def receive(self, arn: str) -> dict[str, Any]:
        """Receives and deletes the next message of a target queue."""
        sqs = self._client("sqs")
        url = sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
        asked: dict[str, Any] = {"MessageAttributeNames": ["All"], "AttributeNames": ["All"], "WaitTimeSeconds": 1}
        messages = await_value(lambda: sqs.receive_message(QueueUrl=url, **asked).get("Messages"), f"message in {arn}")
        sqs.delete_message(QueueUrl=url, ReceiptHandle=messages[0]["ReceiptHandle"])
        return dict(messages[0])

    def logged(self) -> Iterator[str]:
        """Every line of every log."""
        logs = self._client("logs")
        for group in logs.describe_log_groups()["logGroups"]:
            for stream in logs.describe_log_streams(logGroupName=group["logGroupName"])["logStreams"]:
                place = {"logGroupName": group["logGroupName"], "logStreamName": stream["logStreamName"]}
                for event in logs.get_log_events(**place, startFromHead=True)["events"]:
                    yield event["message"]

    @contextmanager
    def without_ticks(self) -> Iterator[None]:
        """Disables the rule of ticks for the block, once the pollers of earlier ticks have ended."""
        events = self._client("events")
        events.disable_rule(Name=self._rule)
        try:
            self._await_rest()
            yield
        finally:
            events.enable_rule(Name=self._rule)

    def miss_ticks(self) -> None:
        """Sets the plain shards as missed ticks leave them: cursor and horizon of each lie at the present instant."""
        now = keys.edge_key(time.time_ns() // 1_000_000)
        for partition_id in _PARTITIONS:
            self._client("dynamodb").update_item(
                TableName=self.stack.outputs["ShardsTable"],
                Key={"partitionId": {"S": partition_id}},
                UpdateExpression="SET #cursor = :now, horizon = :now",
                ExpressionAttributeNames={"#cursor": "cursor"},
                ExpressionAttributeValues={":now": {"S": now}},
            )

    @contextmanager
    def world(self) -> Iterator[World]:
        """The ports of a Lambda of this deployment, in this process."""
        outputs = self.stack.outputs
        tables = {f"{name.lower()}_table": outputs[f"{name}Table"] for name in _TABLES}
        settings = Settings.for_local().with_(release_queue_url=outputs["ReleaseQueueUrl"], **tables)
        session = botocore.session.Session()
        session.set_config_variable("region", REGION)
        session.set_config_variable("ca_bundle", str(self.stack.ca_bundle))
        session.set_credentials(self.stack.admin.access_key, self.stack.admin.secret_key)
        aws = Aws(session, endpoint_url=self.stack.endpoint_url)
        try:
            yield aws_world(settings, aws)
        finally:
            aws.close()

    def poll_all(self) -> list[dict[str, Any]]:
        """Runs the poller of every plain shard, one after the other; returns their reports."""
        return [self.invoke("poller", {"partitionId": partition_id}) for partition_id in _PARTITIONS]

    def await_free(self, partition_id: str) -> None:
        """Waits until the lease of a shard has ended."""

        def ended() -> bool | None:
            until = next(int(i["leaseUntil"]["N"]) for i in self._shards() if i["partitionId"]["S"] == partition_id)
            return True if until < time.time_ns() // 1_000_000 else None

        await_value(ended, f"the lease of {partition_id} ends")

    def _await_rest(self) -> None:
        """Waits until no lease has changed for a second."""
        seen, since = self._epochs(), time.monotonic()

        def rest() -> bool | None:
            nonlocal seen, since
            if (now := self._epochs()) != seen:
                seen, since = now, time.monotonic()
            return True if time.monotonic() > since + 1 else None

        await_value(rest, "the pollers rest")

    def _epochs(self) -> list[Any]:
        # Other tests leave rows there whose attributes are of other types, or missing.
        return sorted((i["partitionId"]["S"], str(i.get("epoch")), str(i.get("leaseUntil"))) for i in self._shards())

    def _shards(self) -> list[dict[str, Any]]:
        return list(self._client("dynamodb").scan(TableName=self.stack.outputs["ShardsTable"])["Items"])

    def _client(self, service: str) -> Any:
        return self.stack.client(service)
