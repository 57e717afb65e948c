"""The demonstration's resources of AWS: a state machine and a task that are waited for, a stream, and a Kafka topic."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from local.api import SignedApi
from local.broker import PARTITIONS, TOPIC
from local.demo.scenes.scene import Scene, until

_ORDER = {"order": 17}
_PACKED = {"parcel": "p-1"}
#: A second of work, and its output.
_MACHINE = {
    "StartAt": "pack",
    "States": {
        "pack": {"Type": "Wait", "Seconds": 1, "Next": "packed"},
        "packed": {"Type": "Pass", "Result": _PACKED, "End": True},
    },
}
_ENDS = {"mode": "end", "timeoutSeconds": 600}


class ServicesScene(Scene):
    """One job for each. Their names are new each time, as a kept state has those of before."""

    def _play(self, api: SignedApi) -> None:
        self._suffix = secrets.token_hex(4)
        with self._screen.step("A state machine, a task and a stream, and a topic of Kafka"):
            self._state_machine(api)
            self._task(api)
            self._stream(api)
            if self._server.kafka is None:
                self._screen.say(
                    "  No Kafka: its broker is not installed (`make setup-dev`), or not asked for (KAFKA=1)."
                )
            else:
                self._topic(api, self._server.kafka)

    def _state_machine(self, api: SignedApi) -> None:
        """A job that ends with the execution of its state machine, and has its output as the result."""
        stack = self._server.stack
        deliverer = stack.client("lambda").get_function(FunctionName=stack.outputs["DelivererFunction"])
        made = stack.client("stepfunctions").create_state_machine(
            name=f"demo-{self._suffix}", definition=json.dumps(_MACHINE), roleArn=deliverer["Configuration"]["Role"]
        )
        target = {"type": "stepFunctions", "stateMachineArn": made["stateMachineArn"]}
        job_id = self._created(api, "a job for a state machine", target=target, payload=_ORDER, completion=_ENDS)
        execution_id = self._awaited(api, job_id, "SUCCEEDED", "the job of a state machine")
        report = api.request("GET", f"/v1/executions/{execution_id}").body.get("report", {})
        self._expect("stateMachineOutput", report.get("result"), _PACKED)

    def _task(self, api: SignedApi) -> None:
        """A task of ECS, which gets the payload as a variable. In the emulator it runs until a cancel stops it."""
        ecs = self._server.stack.client("ecs")
        name = f"demo-{self._suffix}"
        cluster = ecs.create_cluster(clusterName=name)["cluster"]["clusterArn"]
        containers = [{"name": "app", "image": "app", "memory": 64}]
        made = ecs.register_task_definition(family=name, containerDefinitions=containers)["taskDefinition"]
        target = {
            "type": "ecs",
            "taskDefinitionArn": made["taskDefinitionArn"],
            "clusterArn": cluster,
            "container": "app",
        }
        job_id = self._created(api, "a job for a task", target=target, payload=_ORDER, completion=_ENDS)
        execution_id = self._awaited(api, job_id, "RUNNING", "the job of a task")
        (arn,) = until(lambda: ecs.list_tasks(cluster=cluster)["taskArns"] or None, "no task was started")
        api.request("POST", f"/v1/executions/{execution_id}/cancel", {})
        self._awaited(api, job_id, "CANCELLED", "the job of a task")
        (task,) = ecs.describe_tasks(cluster=cluster, tasks=[arn])["tasks"]
        (override,) = task["overrides"]["containerOverrides"]
        said = {one["name"]: one["value"] for one in override["environment"]}
        found = (task.get("stopCode"), json.loads(said.get("CLOCKWORK_PAYLOAD", "null")))
        self._expect("stoppedTask", found, ("UserInitiated", _ORDER))

    def _stream(self, api: SignedApi) -> None:
        """A record of Kinesis: the payload alone, under the ordering key."""
        kinesis, name = self._server.stack.client("kinesis"), f"demo-{self._suffix}"
        kinesis.create_stream(StreamName=name, ShardCount=1)
        kinesis.get_waiter("stream_exists").wait(StreamName=name)
        arn = kinesis.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]["StreamARN"]
        target = {"type": "kinesis", "streamArn": arn, "envelope": False}
        job_id = self._created(api, "a job for a stream", target=target, payload=_ORDER, orderingKey="order-17")
        self._awaited(api, job_id, "SUCCEEDED", "the job of a stream")
        (shard,) = kinesis.list_shards(StreamName=name)["Shards"]
        begin = kinesis.get_shard_iterator(StreamName=name, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]
        records = kinesis.get_records(ShardIterator=begin)["Records"]
        found = [(one["PartitionKey"], json.loads(one["Data"])) for one in records]
        self._expect("kinesisRecord", found, [("order-17", _ORDER)])

    def _topic(self, api: SignedApi, broker: str) -> None:
        """A message of Kafka: the payload alone, under the ordering key."""
        target = {"type": "kafka", "topic": TOPIC}
        key = f"order-{self._suffix}"
        job_id = self._created(api, "a job for a topic", target=target, payload=_ORDER, orderingKey=key)
        self._awaited(api, job_id, "SUCCEEDED", "the job of a topic")
        with _reader(broker) as reader:
            value = until(lambda: _value_of(reader, key.encode()), "no message came to the topic")
        self._expect("kafkaMessage", json.loads(value), _ORDER)

    def _expect(self, name: str, found: Any, wanted: Any) -> None:
        if found != wanted:
            self.faults.append(f"{name}: {found} in place of {wanted}")
            return
        self.shown[name] += 1
        self._screen.say(f"  {name}: {found}")


def _value_of(reader: Any, key: bytes) -> bytes | None:
    """The value of the next message, if it has this key."""
    message = reader.poll(0.5)
    is_it = message is not None and message.error() is None and message.key() == key
    return message.value() if is_it else None


@contextmanager
def _reader(broker: str) -> Iterator[Any]:
    """A consumer of the whole topic. Its package is installed where a broker is."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    reader = Consumer({"bootstrap.servers": broker, "group.id": "demo", "enable.auto.commit": False})
    try:
        reader.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
        yield reader
    finally:
        reader.close()
