"""The shipped adapters on moto as the stores of a simulated run, mirrored into memory for the run's watcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clockwork.aws.queues.backlog import AwsBacklog
from clockwork.aws.queues.dead_letters import AwsDeadLetters
from clockwork.aws.queues.ordered_queue import AwsOrderedQueue, AwsVisibility
from clockwork.aws.queues.pool_queues import AwsPoolQueues
from clockwork.aws.queues.release_queue import AwsReleaseQueue
from clockwork.aws.stores.clients import AwsClients, CachedClients
from clockwork.aws.stores.executions import AwsExecutions, AwsTurnstiles
from clockwork.aws.stores.jobs import AwsJobs
from clockwork.aws.stores.operations import AwsOperations
from clockwork.aws.stores.pools import AwsPools, CachedPools
from clockwork.aws.stores.regulation import AwsRegulation
from clockwork.aws.stores.requests import PREFIX, AwsActivity, AwsKeyRows, AwsTrail
from clockwork.aws.stores.runs import RUNS, AwsRuns, _sets
from clockwork.aws.stores.shards import AwsShards, _from_item
from clockwork.aws.stores.signing_secrets import AwsSigningSecrets
from clockwork.aws.stores.ticket_keys import AwsTicketKeys
from clockwork.aws.stores.timeline import AwsTimeline
from clockwork.aws.stores.workers import CHECKPOINTS, SEEN, AwsCheckpoints, AwsWorkers
from clockwork.aws.targets.notices import AwsNotices
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.storage.codec import decode, decode_message
from clockwork.domain.timeline import NEVER, Row
from clockwork.memory.clock import MemoryClock
from clockwork.ports.routing import Routed, by_order
from clockwork.settings import Settings
from tests.crash_points.queues import MotoPoolQueues, MotoQueue
from tests.crash_points.services import POOL_QUEUES, QUEUES, Services
from tests.simulation.faults import Adversary
from tests.simulation.stores import Stores, carried
from tests.simulation.watcher import Watcher


class AwsStores(Stores):
    """Stores on moto. The watcher reads the simulation's memory stores; `mirror` keeps these equal to moto."""

    def __init__(
        self, services: Services, clock: MemoryClock, settings: Settings, adversary: Adversary, watcher: Watcher
    ) -> None:
        super().__init__(clock, settings, adversary, watcher)
        watcher.caps.knows_slots = False
        watcher.grants.knows_clients = False
        aws, url = services.aws, services.url
        self._services = services
        self._watcher = watcher
        self.clients = AwsClients(aws, "clients")  # type: ignore[assignment]
        self._queues = {name: MotoQueue(services, name, clock) for name in QUEUES}
        self.queue, self.ordered_queue = self._queues.values()  # type: ignore[assignment]

        pooled = tuple(POOL_QUEUES) if settings.pools else ()
        self._pool_queues = MotoPoolQueues(services, pooled, clock)
        self.pool_queues = self._pool_queues  # type: ignore[assignment]
        self.ticket_keys = AwsTicketKeys(aws, "clients")  # type: ignore[assignment]
        self.pools = AwsPools(aws, "clients")  # type: ignore[assignment]
        urls = {pool: {one: url(f"pool-{one}") for one in of} for pool, of in settings.pool_queue_urls.items()}
        letters = [*QUEUES.values(), *(POOL_QUEUES[name] for name in pooled)]

        def elapsed() -> float:
            return clock.at / 1000

        self._adapters: dict[str, Callable[[], object]] = {
            "timeline": lambda: AwsTimeline(aws, "timeline"),
            "shards": lambda: AwsShards(aws, "shards"),
            "jobs": lambda: AwsJobs(aws, "jobs"),
            "executions": lambda: AwsExecutions(aws, "executions"),
            "releases": lambda: Routed(
                by_order(
                    AwsReleaseQueue(aws, url("release"), elapsed_seconds=elapsed),
                    AwsOrderedQueue(aws, url("ordered.fifo"), elapsed_seconds=elapsed),
                )
            ),
            "backlog": lambda: AwsBacklog(aws, [url("release")]),
            "dead_letters": lambda: AwsDeadLetters(aws, [url(dead) for dead in letters]),
            "notices": lambda: AwsNotices(aws),
            "visibility": lambda: AwsVisibility(aws, url("ordered.fifo")),
            "clients": lambda: CachedClients(AwsClients(aws, "clients"), clock, settings.client_cache_seconds),
            "checkpoints": lambda: AwsCheckpoints(aws, "executions"),
            "turnstiles": lambda: AwsTurnstiles(aws, "executions"),
            "runs": lambda: AwsRuns(aws, "executions"),
            "workers": lambda: AwsWorkers(aws, "executions"),
            "pools": lambda: CachedPools(AwsPools(aws, "clients"), clock, settings.client_cache_seconds),
            "key_rows": lambda: AwsKeyRows(aws, "jobs"),
            "regulation": lambda: AwsRegulation(aws, "clients", clock),
            "trail": lambda: AwsTrail(aws, "executions"),
            "activity": lambda: AwsActivity(aws, "executions"),
            "operations": lambda: AwsOperations(aws, "clients"),
            "signing_secrets": lambda: AwsSigningSecrets(aws),
            "pool_queues": lambda: AwsPoolQueues(aws, urls, elapsed_seconds=elapsed),
            "ticket_keys": lambda: AwsTicketKeys(aws, "clients"),
        }

    def port(self, name: str) -> object:
        """A new adapter for each process, since no process shares memory with another."""
        return self._adapters[name]()

    def mirror(self, call: str, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Applies the change of an actor's call to the memory stores."""
        if call == "sqs.SendMessageBatch":
            self._mirror_send(asked, answer)
        elif call == "sqs.ChangeMessageVisibilityBatch":
            self._queue_of(asked).tell()
        elif call == "sqs.DeleteMessageBatch":
            self._mirror_deletes(asked)
        elif call == "dynamodb.BatchWriteItem":
            for request in asked["RequestItems"]["timeline"]:
                self._mirror_timeline(request)
        elif call == "dynamodb.TransactWriteItems":
            self._mirror_client(asked)
        elif (call, asked.get("TableName")) in _MIRRORED:
            _MIRRORED[call, asked["TableName"]](self, asked, answer)

    def _mirror_send(self, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        failed = {entry["Id"] for entry in answer.get("Failed", ())}
        for entry in asked["Entries"]:
            if entry["Id"] not in failed:
                self._watcher.sent(decode_message(carried(entry["MessageBody"])))
        self._queue_of(asked).tell()

    def _mirror_deletes(self, asked: Mapping[str, Any]) -> None:
        """Tells of each ticket that was deleted."""
        queue = self._pool_queues.of(asked["QueueUrl"].rpartition("/")[2])
        if queue is None:
            return
        for entry in asked["Entries"]:
            if (body := queue.received.pop(entry["ReceiptHandle"], None)) is not None:
                self.pool_queues.on_deleted(carried(body))

    def _queue_of(self, asked: Mapping[str, Any]) -> MotoQueue:
        name = asked["QueueUrl"].rpartition("/")[2]
        return self._pool_queues.of(name) or self._queues[name]

    def _mirror_timeline(self, request: Mapping[str, Any]) -> None:
        if "PutRequest" in request:
            self.timeline.put([_row(request["PutRequest"]["Item"])])
        else:
            key = request["DeleteRequest"]["Key"]
            self.timeline.forget(key["partitionId"]["S"], [key["scheduleTime"]["S"]])

    def _mirror_client(self, asked: Mapping[str, Any]) -> None:
        """Tells the judge of deleted clients. The others need no clients here."""
        for put in (one["Put"] for one in asked["TransactItems"] if "Put" in one):
            if "definition" in put["Item"]:
                client = decode(put["Item"]["definition"]["B"], Client)
                self._watcher.departures.changed(client, self._services.now())

    def _mirror_row(self, asked: Mapping[str, Any], _: object) -> None:
        self.timeline.put([_row(asked["Item"])])

    def _mirror_cancel(self, asked: Mapping[str, Any], _: object) -> None:
        (element,) = asked["ExpressionAttributeValues"][":element"]["NS"]
        self.timeline.cancel(asked["Key"]["partitionId"]["S"], asked["Key"]["scheduleTime"]["S"], int(element))

    def _mirror_execution(self, asked: Mapping[str, Any], _: object) -> None:
        if asked["Item"]["jobId"]["S"].startswith((CHECKPOINTS, SEEN)):
            return  # The workers judge checkpoints, and what is told of them, by the answers.
        if asked["Item"]["jobId"]["S"].startswith(RUNS):
            self.runs.put_new(_sets(asked["Item"]))
            return
        after = decode(asked["Item"]["record"]["B"], Execution)
        (saved,) = self.executions.save([(self.executions.find(after.job_id, after.execution_id), after)])
        assert saved.ok, f"{after.execution_id} is {saved.actual} where memory is asked"

    def _mirror_sets(self, _: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        self.runs._put(_sets(answer["Attributes"]))

    def _mirror_job(self, asked: Mapping[str, Any], _: object) -> None:
        if not asked["Item"]["jobKey"]["S"].startswith(PREFIX):
            after = decode(asked["Item"]["job"]["B"], NamedJob)
            (before,) = self.jobs.get([(after.client_id, after.job_key)])
            assert not isinstance(before, Unreadable)
            assert self.jobs.save(before, after), f"{after.job_key} cannot be saved where memory is asked"

    def _mirror_shard(self, asked: Mapping[str, Any], _: object) -> None:
        """Mirrors a shard as it is stored now.

        A new epoch means that a poller took the shard. Any other change of cursor or horizon is a commit; a change of
        neither is about the shard's use, and the watcher is not told.
        """
        partition_id = (asked.get("Key") or asked["Item"])["partitionId"]["S"]
        before = self.shards._rows.get(partition_id)
        after = self.shards._rows[partition_id] = _from_item(self._services.stored("shards", partition_id))
        if before is None or (before.epoch, before.cursor, before.horizon) == (
            after.epoch,
            after.cursor,
            after.horizon,
        ):
            return
        tell = self._watcher.shard_taken if after.epoch != before.epoch else self._watcher.shard_moved
        tell(before, after, self.acting.actor)


def _row(item: Mapping[str, Any]) -> Row:
    expires_at = int(item["expiresAt"]["N"]) * 1000 if "expiresAt" in item else NEVER
    return Row(item["partitionId"]["S"], item["scheduleTime"]["S"], item["occurrences"]["B"], expires_at)


_MIRRORED: dict[tuple[str, str], Callable[[AwsStores, Mapping[str, Any], Mapping[str, Any]], None]] = {
    ("dynamodb.PutItem", "timeline"): AwsStores._mirror_row,
    ("dynamodb.UpdateItem", "timeline"): AwsStores._mirror_cancel,
    ("dynamodb.PutItem", "executions"): AwsStores._mirror_execution,
    ("dynamodb.UpdateItem", "executions"): AwsStores._mirror_sets,
    ("dynamodb.PutItem", "jobs"): AwsStores._mirror_job,
    ("dynamodb.PutItem", "shards"): AwsStores._mirror_shard,
    ("dynamodb.UpdateItem", "shards"): AwsStores._mirror_shard,
}
