"""The worlds in which the contracts are tested: memory, moto in this process, dynalite, the emulator."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Protocol

import botocore.loaders
import botocore.session
from botocore.hooks import HierarchicalEmitter

from clockwork.aws.capacity import CapacityMeter
from clockwork.aws.queues.backlog import AwsBacklog
from clockwork.aws.queues.pool_queues import AwsPoolQueues
from clockwork.aws.queues.release_queue import AwsReleaseQueue
from clockwork.aws.repeats import Backoff
from clockwork.aws.session import Aws
from clockwork.aws.stores.clients import AwsClients
from clockwork.aws.stores.executions import AwsExecutions, AwsTurnstiles
from clockwork.aws.stores.jobs import AwsJobs
from clockwork.aws.stores.operations import AwsOperations
from clockwork.aws.stores.pools import AwsPools
from clockwork.aws.stores.regulation import AwsRegulation
from clockwork.aws.stores.requests import AwsActivity, AwsKeyRows, AwsTrail
from clockwork.aws.stores.runs import AwsRuns
from clockwork.aws.stores.shards import AwsShards
from clockwork.aws.stores.signing_secrets import AwsSigningSecrets
from clockwork.aws.stores.ticket_keys import AwsTicketKeys
from clockwork.aws.stores.timeline import AwsTimeline
from clockwork.aws.stores.workers import AwsCheckpoints, AwsWorkers
from clockwork.domain.errors import Unreadable
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.pools.pool import PRIORITIES, pool_queues
from clockwork.domain.storage.codec import decode
from clockwork.memory.clients import MemoryClients, MemoryKeyRows, MemoryPools, MemoryTicketKeys
from clockwork.memory.clock import MemoryClock
from clockwork.memory.executions import (
    MemoryCheckpoints,
    MemoryExecutions,
    MemoryRuns,
    MemoryTurnstiles,
    MemoryWorkers,
)
from clockwork.memory.jobs import MemoryJobs
from clockwork.memory.regulation import MemoryRegulation
from clockwork.memory.release_queue import MemoryPoolQueues, MemoryReleaseQueue
from clockwork.memory.requests import MemoryActivity, MemoryOperations, MemoryTrail
from clockwork.memory.shards import MemoryShards
from clockwork.memory.signing_secrets import MemorySigningSecrets
from clockwork.memory.timeline import MemoryTimeline
from clockwork.ports import (
    Activity,
    Backlog,
    Checkpoints,
    Clients,
    Executions,
    Jobs,
    KeyRows,
    Operations,
    PoolQueues,
    Pools,
    Regulation,
    ReleaseQueue,
    Runs,
    Shards,
    SigningSecrets,
    TicketKeys,
    Timeline,
    Trail,
    Turnstiles,
    Workers,
)
from tests.contract.schema import create_table
from tests.contract.strictness import enforce

#: Reads botocore's service models once for all tests.
_LOADER = botocore.loaders.create_loader()

POOL_QUEUES = pool_queues(PRIORITIES)


@cache
def _handlers() -> HierarchicalEmitter:
    """botocore's own handlers. To register them takes 8 ms, and to copy them a tenth of that."""
    handlers = HierarchicalEmitter()
    botocore.session.Session(event_hooks=handlers)
    return handlers


class World(Protocol):
    """One fresh set of stores and queues."""

    @property
    def timeline(self) -> Timeline: ...

    @property
    def shards(self) -> Shards: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def executions(self) -> Executions: ...

    @property
    def clients(self) -> Clients: ...

    @property
    def pools(self) -> Pools: ...

    @property
    def checkpoints(self) -> Checkpoints: ...

    @property
    def turnstiles(self) -> Turnstiles: ...

    @property
    def runs(self) -> Runs: ...

    @property
    def workers(self) -> Workers: ...

    @property
    def key_rows(self) -> KeyRows: ...

    @property
    def regulation(self) -> Regulation: ...

    @property
    def trail(self) -> Trail: ...

    @property
    def operations(self) -> Operations: ...

    @property
    def activity(self) -> Activity: ...

    @property
    def signing_secrets(self) -> SigningSecrets: ...

    @property
    def releases(self) -> ReleaseQueue: ...

    @property
    def backlog(self) -> Backlog: ...

    @property
    def pool_queues(self) -> PoolQueues: ...

    @property
    def ticket_keys(self) -> TicketKeys: ...

    def receive_tickets(self, priority: str) -> Sequence[tuple[str, str]]:
        """The bodies and receipts of the messages of the pool `etl` for a priority that can be received now."""

    def receive(self, count: int) -> Sequence[str]:
        """The bodies of `count` messages of the release queue, or of as many as can be received now."""

    def delayed(self) -> int:
        """How many messages of the release queue cannot be received yet."""

    def add_secret(self, name: str) -> None:
        """Store a signing secret of this name."""

    def remove_secret(self, name: str) -> None:
        """Delete a signing secret as its owner does: Secrets Manager keeps it for a while, to be restored."""

    def damage_job(self, client_id: str, job_key: str, blob: bytes) -> None:
        """Overwrite a named job's row with bytes that cannot be read."""


class MemoryWorld:
    """The ports in plain Python."""

    def __init__(self) -> None:
        self.clock = MemoryClock()
        self.timeline = MemoryTimeline()
        self.shards = MemoryShards()
        self.jobs = MemoryJobs()
        self.executions = MemoryExecutions()
        self.clients = MemoryClients()
        self.pools = MemoryPools()
        self.checkpoints = MemoryCheckpoints()
        self.turnstiles = MemoryTurnstiles()
        self.runs = MemoryRuns()
        self.workers = MemoryWorkers()
        self.key_rows = MemoryKeyRows()
        self.regulation = MemoryRegulation(self.clock)
        self.trail = MemoryTrail()
        self.operations = MemoryOperations()
        self.activity = MemoryActivity()
        self.signing_secrets = MemorySigningSecrets()
        self.releases = self.backlog = MemoryReleaseQueue(self.clock)
        self.pool_queues = MemoryPoolQueues(self.clock, {"etl": POOL_QUEUES})
        self.ticket_keys = MemoryTicketKeys()

    def receive_tickets(self, priority: str) -> Sequence[tuple[str, str]]:
        return [(one.body, one.message_id) for one in self.pool_queues.of("etl", priority).receive()]

    def receive(self, count: int) -> Sequence[str]:
        return [message.body for message in self.releases.receive(count)]

    def delayed(self) -> int:
        return sum(message.visible_at > self.clock.at for message in self.releases.messages.values())

    def add_secret(self, name: str) -> None:
        self.signing_secrets.names.add(name)

    def remove_secret(self, name: str) -> None:
        self.signing_secrets.names.remove(name)

    def damage_job(self, client_id: str, job_key: str, blob: bytes) -> None:
        try:
            decode(blob, NamedJob)
        except Unreadable as fault:
            self.jobs.unreadable[client_id, job_key] = fault


@dataclass
class AwsWorld:
    """The ports on a stand-in for AWS. Tables and queues are created when they are first used."""

    endpoint_url: str | None
    account: str = "123456789012"
    pauses: list[float] = field(default_factory=list)

    @cached_property
    def aws(self) -> Aws:
        return self.connect()

    def connect(self, *, meter: CapacityMeter | None = None, endpoint_url: str | None = None) -> Aws:
        """A connection of its own. Instead of pausing between repeats it notes in `pauses` how long it would pause.

        The caller closes it.
        """
        session = botocore.session.Session(event_hooks=copy.copy(_handlers()), include_builtin_handlers=False)
        session.register_component("data_loader", _LOADER)
        session.set_config_variable("region", "us-east-1")
        session.set_credentials(self.account, "any")
        enforce(session.get_component("event_emitter"))
        backoff = Backoff(sleep=self.pauses.append)
        return Aws(session, endpoint_url=endpoint_url or self.endpoint_url, validate=True, meter=meter, backoff=backoff)

    def close(self) -> None:
        self.aws.close()

    def table(self, kind: str) -> str:
        """The name of this world's table of a kind."""
        return self._once(kind, lambda name: create_table(self.aws.client("dynamodb"), kind, name))

    def queue_url(self) -> str:
        """The URL of this world's release queue."""
        return self._once("queue", lambda name: self.aws.client("sqs").create_queue(QueueName=name)["QueueUrl"])

    @cached_property
    def timeline(self) -> Timeline:
        return AwsTimeline(self.aws, self.table("timeline"))

    @cached_property
    def shards(self) -> Shards:
        return AwsShards(self.aws, self.table("shards"))

    @cached_property
    def jobs(self) -> Jobs:
        return AwsJobs(self.aws, self.table("jobs"))

    @cached_property
    def executions(self) -> Executions:
        return AwsExecutions(self.aws, self.table("executions"))

    @cached_property
    def clients(self) -> Clients:
        return AwsClients(self.aws, self.table("clients"))

    @cached_property
    def pools(self) -> Pools:
        return AwsPools(self.aws, self.table("clients"))

    @cached_property
    def checkpoints(self) -> Checkpoints:
        return AwsCheckpoints(self.aws, self.table("executions"))

    @cached_property
    def turnstiles(self) -> Turnstiles:
        return AwsTurnstiles(self.aws, self.table("executions"))

    @cached_property
    def runs(self) -> Runs:
        return AwsRuns(self.aws, self.table("executions"))

    @cached_property
    def workers(self) -> Workers:
        return AwsWorkers(self.aws, self.table("executions"))

    @cached_property
    def key_rows(self) -> KeyRows:
        return AwsKeyRows(self.aws, self.table("jobs"))

    @cached_property
    def regulation(self) -> Regulation:
        return AwsRegulation(self.aws, self.table("clients"), MemoryClock())

    @cached_property
    def trail(self) -> Trail:
        return AwsTrail(self.aws, self.table("executions"))

    @cached_property
    def operations(self) -> Operations:
        return AwsOperations(self.aws, self.table("clients"))

    @cached_property
    def activity(self) -> Activity:
        return AwsActivity(self.aws, self.table("executions"))

    @cached_property
    def signing_secrets(self) -> SigningSecrets:
        return AwsSigningSecrets(self.aws)

    def add_secret(self, name: str) -> None:
        if name.startswith("ssm:"):
            value = {"Value": "whsec_c2VjcmV0", "Type": "SecureString"}
            self.aws.client("ssm").put_parameter(Name=name.removeprefix("ssm:"), **value)
        else:
            self.aws.client("secretsmanager").create_secret(Name=name, SecretString="whsec_c2VjcmV0")

    def remove_secret(self, name: str) -> None:
        if name.startswith("ssm:"):
            self.aws.client("ssm").delete_parameter(Name=name.removeprefix("ssm:"))
        else:
            self.aws.client("secretsmanager").delete_secret(SecretId=name)

    @cached_property
    def releases(self) -> ReleaseQueue:
        return AwsReleaseQueue(self.aws, self.queue_url())

    @cached_property
    def pool_queues(self) -> PoolQueues:
        return AwsPoolQueues(self.aws, {"etl": {one: self._pool_url(one) for one in POOL_QUEUES}})

    def _pool_url(self, priority: str) -> str:
        sqs = self.aws.client("sqs")
        return self._once(f"pool-{priority}", lambda name: sqs.create_queue(QueueName=name)["QueueUrl"])

    def receive_tickets(self, priority: str) -> Sequence[tuple[str, str]]:
        answer = self.aws.client("sqs").receive_message(QueueUrl=self._pool_url(priority), MaxNumberOfMessages=10)
        return [(one["Body"], one["ReceiptHandle"]) for one in answer.get("Messages", ())]

    @cached_property
    def ticket_keys(self) -> TicketKeys:
        return AwsTicketKeys(self.aws, self.table("clients"))

    @cached_property
    def backlog(self) -> Backlog:
        return AwsBacklog(self.aws, [self.queue_url()])

    def receive(self, count: int) -> Sequence[str]:
        bodies: list[str] = []
        while len(bodies) < count:
            answer = self.aws.client("sqs").receive_message(QueueUrl=self.queue_url(), MaxNumberOfMessages=10)
            if not answer.get("Messages"):
                break
            bodies += [message["Body"] for message in answer["Messages"]]
        return bodies

    def delayed(self) -> int:
        name = "ApproximateNumberOfMessagesDelayed"
        answer = self.aws.client("sqs").get_queue_attributes(QueueUrl=self.queue_url(), AttributeNames=[name])
        return int(answer["Attributes"][name])

    def damage_job(self, client_id: str, job_key: str, blob: bytes) -> None:
        self.aws.client("dynamodb").update_item(
            TableName=self.table("jobs"),
            Key={"clientId": {"S": client_id}, "jobKey": {"S": job_key}},
            UpdateExpression="SET #job = :job",
            ExpressionAttributeNames={"#job": "job"},
            ExpressionAttributeValues={":job": {"B": blob}},
        )

    def raw(self, kind: str) -> list[dict[str, Any]]:
        """Every stored item of a table, as DynamoDB returns it."""
        items: list[dict[str, Any]]
        items = self.aws.client("dynamodb").scan(TableName=self.table(kind), ConsistentRead=True)["Items"]
        return items

    @cached_property
    def _names(self) -> dict[str, str]:
        return {}

    def _once(self, kind: str, make: Callable[[str], str]) -> str:
        if kind not in self._names:
            self._names[kind] = make(f"{kind}-{uuid.uuid4().hex}")
        return self._names[kind]
