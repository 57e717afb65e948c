"""The number of plain shards may change at any time: no waiting job is lost, and no repeat creates a second job."""

from __future__ import annotations

from typing import Any

from clockwork.domain.ids import AnonymousJob, decode_job
from clockwork.domain.keys import plain_partitions
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.named_jobs import Definition
from clockwork.domain.requests.create import CreateRequest
from clockwork.flows.access import Caller, identify, require_known
from clockwork.flows.named.write import NamedRequest, create_named
from clockwork.flows.poll.tick import tick
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.requests.create import CreatedJob, create_jobs
from clockwork.flows.requests.read import view_job
from clockwork.flows.timeline.shards import all_shards, ensure_shards
from clockwork.flows.world import World
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME, ALICE, NOW, TARGET, new_job, request


class Deployments:
    """Deployments with different numbers of shards, on one set of stores."""

    def __init__(self) -> None:
        self.clockwork = MemoryClockwork()
        self.clockwork.clients.put(ACME)

    def of(self, shards: int) -> World:
        world = self.clockwork.world
        self.clockwork.world = world.with_(settings=world.settings.with_(shards=shards))
        return self.clockwork.world

    def create(self, shards: int, asked: CreateRequest | None = None) -> CreatedJob:
        world = self.of(shards)
        return create_jobs(world, asked or request(new_job(delay_ms=300_000)), ensure_shards(world))[0]

    def caller(self) -> Caller:
        return require_known(self.clockwork.world, identify(self.clockwork.world, ALICE))


def shard_of(job: CreatedJob) -> str:
    place = decode_job(job.job_id)
    assert isinstance(place, AnonymousJob)
    return place.partition_id


def named(job_key: str) -> NamedRequest:
    definition = Definition(target=TARGET, payload=new_job().payload, at=NOW + 300_000)
    return NamedRequest(client=ACME, job_key=job_key, as_sent=b"{}", definition=definition)


def test_a_shard_is_registered_before_anything_is_put_into_it() -> None:
    deployments = Deployments()
    world = deployments.of(2)
    ensure_shards(world)
    put, seen = world.timeline.put, set[str]()

    def putting(rows: Any) -> None:
        seen.update(row.partition_id for row in rows)
        assert seen <= set(deployments.clockwork.shards.list())
        put(rows)

    world.timeline.put = putting  # type: ignore[method-assign]
    for _ in range(100):
        deployments.create(8)
    assert len(seen) == 8


def test_jobs_that_wait_when_shards_are_added_are_shown_cancelled_and_delivered() -> None:
    deployments = Deployments()
    jobs = [deployments.create(2) for _ in range(20)]
    world = deployments.of(7)
    for job in jobs:
        assert view_job(world, deployments.caller(), job.job_id).state == "SCHEDULED"
    assert cancel_job(world, deployments.caller(), jobs[0].job_id).verdict is Verdict.CANCELLED
    deployments.clockwork.run_until(NOW + 400_000)
    delivered = {delivery.job_id for delivery in deployments.clockwork.targets.delivered}
    assert delivered == {job.job_id for job in jobs[1:]}


def test_a_keyed_create_repeats_to_the_same_job_across_a_change_of_shards() -> None:
    deployments = Deployments()
    for key in range(30):
        asked = request(new_job(delay_ms=300_000), key=f"key-{key}")
        first = deployments.create(2, asked)
        assert deployments.create(9, asked) == first
        assert deployments.create(1, asked) == first


def test_a_named_create_repeats_to_the_same_job_and_its_next_life_stays_in_its_shard() -> None:
    deployments = Deployments()
    for number in range(20):
        world = deployments.of(2)
        first = create_named(world, named(f"k{number}"), ensure_shards(world)).job
        grown = deployments.of(9)
        again = create_named(grown, named(f"k{number}"), ensure_shards(grown))
        assert (again.created, again.job) == (False, first)


def test_a_shard_that_was_given_up_is_drawn_no_more_and_polled_until_what_it_holds_is_delivered() -> None:
    deployments = Deployments()
    jobs = [deployments.create(6) for _ in range(40)]
    later = [deployments.create(2) for _ in range(40)]
    assert {shard_of(job) for job in later} == set(plain_partitions(2))
    world = deployments.of(2)
    assert {shard.partition_id for shard in all_shards(world)} == set(plain_partitions(6))
    assert tick(world).started == 6
    deployments.clockwork.run_until(NOW + 400_000)
    delivered = {delivery.job_id for delivery in deployments.clockwork.targets.delivered}
    assert delivered == {job.job_id for job in (*jobs, *later)}


def test_an_api_of_the_deployment_before_may_still_draw_a_shard_that_was_given_up() -> None:
    deployments = Deployments()
    before = deployments.of(6)
    partitions = ensure_shards(before)
    tick(deployments.of(2))
    jobs = [create_jobs(before, request(new_job(delay_ms=200_000)), partitions)[0] for _ in range(30)]
    assert {shard_of(job) for job in jobs} - set(plain_partitions(2))
    deployments.clockwork.run_until(NOW + 400_000)
    assert len(deployments.clockwork.targets.delivered) == 30
