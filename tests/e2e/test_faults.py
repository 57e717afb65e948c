"""Faults on the deployed stack: missed ticks, pollers that collide or die, releases in the dead-letter queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from clockwork.domain import keys
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.releases import Deliver, Of, Release
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.domain.storage.codec import encode_release
from clockwork.domain.storage.rows import row_of_job
from clockwork.domain.timeline import Row
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.world import World
from clockwork.memory.targets import MemoryInvoker
from clockwork.ports import Refused, ReleaseQueue
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import lateness_ms

#: Enough for a poller to start, even without a warm environment.
ON_TIME_MS = 3_000
HOUR_MS = 3_600_000


class Killed(BaseException):
    """Stands for the end of the process, which no `except Exception` outlives."""


class DiesSending:
    """The release queue of a poller that is killed while it sends, after half of its releases."""

    def __init__(self, queue: ReleaseQueue) -> None:
        self._queue = queue
        self.sent = 0

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        self.sent = len(releases) // 2
        self._queue.send(releases[: self.sent], now, aligned)
        raise Killed


def occurrence(hook: Hook, due_at: int) -> Occurrence:
    target = HttpTarget(hook.url, private=True)
    return Occurrence("acme", due_at, due_at - 1_000, target, Payload(b"1"))


def in_parallel(work: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
    """Runs all calls at the same moment, in threads."""
    start = threading.Barrier(len(arguments))

    def run(argument: Any) -> Any:
        start.wait()
        return work(argument)

    with ThreadPoolExecutor(len(arguments)) as threads:
        return list(threads.map(run, arguments))


def test_a_job_created_after_missed_ticks_is_on_time(deployment: Deployment, acme: Tenant, hook: Hook) -> None:
    with deployment.without_ticks():
        deployment.miss_ticks()
        created = acme.create(hook, schedule={"delaySeconds": 2})
        arrival = hook.await_arrivals(1)[0]
    assert created["state"] == "SCHEDULED"
    assert 0 <= lateness_ms(arrival.at, created["dueAt"]) < ON_TIME_MS


def cancelled_rows(partition_id: str, hook: Hook, count: int) -> list[Row]:
    """Rows that give a poller work without deliveries: due now, and each cancelled."""
    now = time.time_ns() // 1_000_000
    rows = [row_of_job(partition_id, f"{n:022d}", occurrence(hook, now + n), now + HOUR_MS) for n in range(count)]
    return [Row(r.partition_id, r.key, r.blob, r.expires_at, frozenset({0})) for r in rows]


def test_of_two_pollers_of_one_shard_at_once_one_works_and_the_other_leaves(
    deployment: Deployment, acme: Tenant, hook: Hook
) -> None:
    with deployment.without_ticks(), deployment.world() as world:
        for partition_id, count in (("q000", 200), ("q001", 200), ("q002", 1_200)):
            world.shards.register(partition_id)
            world.timeline.put(cancelled_rows(partition_id, hook, count))

        def poll(partition_id: str) -> str:
            return str(deployment.invoke("poller", {"partitionId": partition_id})["outcome"])

        # Two different shards first, so that two environments are warm and neither comes late to the race.
        assert in_parallel(poll, ["q000", "q001"]) == ["dry", "dry"]
        assert sorted(in_parallel(poll, ["q002", "q002"])) == ["dry", "no_lease"]
        assert world.shards.get(["q002"])["q002"].epoch == 1


def test_a_poller_killed_between_its_sends_and_its_commit_loses_nothing_and_delivers_nothing_twice(
    deployment: Deployment, acme: Tenant, hook: Hook
) -> None:
    partition_id, jobs = "q010", 20
    with deployment.without_ticks(), deployment.world() as world:
        world.shards.register(partition_id)
        sent = kill_a_poller(world, partition_id, hook, jobs)
        assert len(hook.await_arrivals(sent)) == sent < jobs
        deployment.await_free(partition_id)
        report = deployment.invoke("poller", {"partitionId": partition_id})
    assert (report["outcome"], report["released"]) == ("dry", jobs)
    hook.await_arrivals(jobs)
    deployment.await_empty()
    assert len(hook.arrivals) == jobs
    assert len({arrival.headers["webhook-id"] for arrival in hook.arrivals}) == jobs
    assert all(lateness_ms(a.at, a.headers["clockwork-due-at"]) >= 0 for a in hook.arrivals)


def kill_a_poller(world: World, partition_id: str, hook: Hook, jobs: int) -> int:
    """Creates jobs due in two seconds in one shard, and kills a poller in this process while it sends them.

    Returns how many releases the poller had sent.
    """
    client = world.clients.get("acme")
    assert client is not None
    new_jobs = tuple(
        NewJob(index=n, target=HttpTarget(hook.url, private=True), payload=Payload(b"1"), delay_ms=2_000)
        for n in range(jobs)
    )
    create_jobs(world.with_(invoker=MemoryInvoker()), CreateRequest(client=client, jobs=new_jobs), [partition_id])
    dying = DiesSending(world.releases)
    short_lease = world.settings.with_(lease_seconds=1)
    with pytest.raises(Killed):
        poll_shard(world.with_(releases=dying, settings=short_lease), partition_id, world.clock.now() + HOUR_MS)
    assert world.shards.get([partition_id])[partition_id].cursor == keys.BEGINNING
    return dying.sent


def test_a_release_in_the_dead_letter_queue_is_released_again_by_the_sweeper(
    deployment: Deployment, acme: Tenant, hook: Hook
) -> None:
    now = time.time_ns() // 1_000_000
    due = occurrence(hook, now)
    job_id = AnonymousJob("p000", keys.row_key(now, "d" * 22), 0).job_id
    deployment.send_dead_letter(encode_release(Deliver(Of(job_id), due, now)))
    deployment.invoke("sweeper", {})
    arrival = hook.await_arrivals(1)[0]
    assert arrival.headers["clockwork-job-id"] == job_id
    deployment.await_empty("DeadLetterQueueUrl")
    deployment.await_empty()
    assert len(hook.arrivals) == 1
