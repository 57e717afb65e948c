"""The smoke on the local stack."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clockwork.domain.instants import from_text
from local.emulator import ACCOUNT, REGION
from local.stack import LocalStack, say_on_terminal
from tests.chaos.promises import Arrival, Key
from tests.chaos.target import Target, target
from tests.smoke.evidence import Bill
from tests.smoke.logs import Told
from tests.smoke.places.cloudwatch import invocation_errors, without_timeouts
from tests.smoke.places.place import Place
from tests.smoke.plan import Kind
from tests.smoke.scale import LOCAL, LOCAL_BOUNDS
from tests.smoke.targets.listener import Heard
from tests.smoke.targets.stack import gone
from tests.smoke.upgrade import another_version
from tests.support.kafka.cluster import KafkaCluster, headers_of, kafka_cluster

TOPIC = "target-smoke.heard"
NOT_HERE = {
    f"target {Kind.SEALED}": "the emulator's SQS asks no key",
    "initDuration": "the emulator reports none",
    "metricsInCloudWatch": "the emulator takes no metrics out of logs",
    "dollars": "the emulator meters nothing",
}
#: The targets that the tests' shared stack allows, too.
_SERVICES = (("lambda", "function:target-*"), ("events", "event-bus/target-*"), ("sns", "target-*"))
OPTIONS = {
    "targetQueueArns": f"arn:aws:sqs:{REGION}:{ACCOUNT}:target-*",
    "targetArns": ",".join(f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}" for service, name in _SERVICES),
}


class Local(Place):
    """A deployed local stack, whose `assembly` is the one that is deployed. `ends`: it is taken away at the end."""

    stage = "local"
    region, account = REGION, ACCOUNT
    scale, bounds = LOCAL, LOCAL_BOUNDS
    not_here = NOT_HERE
    public = False
    runtime = f"python{sys.version_info[0]}.{sys.version_info[1]}"

    def __init__(
        self, stack: LocalStack, assembly: Path, http: Target, kafka: KafkaCluster, folder: Path, *, ends: bool
    ) -> None:
        self.stack = stack
        self.outputs = stack.outputs
        self.api = stack.api()
        self._assembly = assembly
        self._http = http
        self._kafka = kafka
        self._folder = folder
        self._ends = ends
        kafka.topic(name=TOPIC)

    def client(self, service: str) -> Any:
        return self.stack.client(service)

    def tenant(self) -> Mapping[str, Any]:
        arn = self.stack.admin.arn
        return {"principals": [arn], "allowedPrivateTargets": [self._http.place], "allowedTopics": [TOPIC]}

    def web(self, made: Mapping[str, str]) -> str:
        return f"http://{self._http.place}"

    def more_targets(self) -> Mapping[Kind, Mapping[str, Any]]:
        return {Kind.KAFKA: {"type": "kafka", "topic": TOPIC}}

    def heard(self) -> Sequence[Heard]:
        messages = self._kafka.read(TOPIC, self._kafka.count(TOPIC))
        facts = [(headers_of(message), message.timestamp()[1]) for message in messages]
        return [
            *(Heard("http", arrival) for arrival in self._http.arrivals()),
            *(
                Heard(Kind.KAFKA, Arrival(Key(one["jobId"], from_text(one["dueAt"])), int(one["attempt"]), at, True))
                for one, at in facts
            ),
        ]

    def upgrade(self) -> None:
        self.stack.deploy(assembly=another_version(self._assembly, self._folder / "another"))

    def metrics(self, names: Sequence[str], since: int) -> frozenset[str] | None:
        return None

    def invocation_errors(self, told: Told, since: int) -> Mapping[str, float]:
        failed = invocation_errors(self.client, self.functions, since)
        return without_timeouts(self.client, self.functions, failed, told.durations_ms)

    def bill(self, reckoned: Mapping[str, float], since: int) -> Bill | None:
        return None

    def leave(self) -> list[str]:
        if not self._ends:
            return []
        said = gone(self.client, "Clockwork")
        return [*([said] if said else []), *_left(self.client)]


def _left(client: Any) -> list[str]:
    """The remains, in an emulator that has nothing else."""
    functions = client("lambda").list_functions()["Functions"]
    names = [one["FunctionName"] for one in functions]
    names += client("dynamodb").list_tables()["TableNames"]
    names += client("sqs").list_queues().get("QueueUrls", [])
    names += [one["Name"] for one in client("events").list_rules()["Rules"]]
    return [f"{name} is left" for name in names]


@contextmanager
def local() -> Iterator[Local]:
    """A stack of its own, in an emulator of its own."""
    with tempfile.TemporaryDirectory() as folder, kafka_cluster() as kafka, LocalStack.start() as stack:
        options = {**OPTIONS, "kafka": json.dumps({"bootstrapServers": kafka.addresses})}
        say_on_terminal("Synthesizing the CDK app")
        assembly = stack.synthesize(options)
        stack.deploy(assembly=assembly)
        with target(Path(folder)) as http:
            yield Local(stack, assembly, http, kafka, Path(folder), ends=True)
