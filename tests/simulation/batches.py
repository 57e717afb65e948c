"""Clients that create many jobs at once, create more than they may, or do not name the client they act for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain.errors import NameTaken
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.flows import access
from clockwork.flows.named import write
from clockwork.flows.requests import create
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.message import Payload
from clockwork.targets.sqs import SqsTarget
from tests.simulation.clients import Visit, accept, ask_again, create_asked, create_keyed, create_once, request_of
from tests.simulation.named_clients import KEYS, answered, definition
from tests.simulation.requests import (
    ADMIN,
    DOWNCAST,
    METERED,
    NARROW,
    QUEUE_ARN,
    REGULATED,
    SHARING,
    TOPIC,
    KeyedRequest,
)
from tests.simulation.stores import POISON
from tests.simulation.targets import DOWN_HOST
from tests.support.examples import outline


def with_jobs(asked: CreateRequest, jobs: Sequence[NewJob]) -> CreateRequest:
    """The same request with other jobs."""
    return msgspec.structs.replace(asked, jobs=tuple(jobs), outlines=tuple(map(outline, jobs)))


def _alike(visit: Visit, count: int, delay_ms: int, apart_ms: int) -> CreateRequest:
    """A request for jobs that differ only in payload and instant."""
    asked = request_of(visit, count, f"alike-{visit.rng.getrandbits(64):x}")
    jobs = [
        msgspec.structs.replace(
            asked.jobs[0], index=job.index, payload=job.payload, delay_ms=delay_ms + apart_ms * job.index
        )
        for job in asked.jobs
    ]
    return with_jobs(asked, jobs)


def create_alike(visit: Visit) -> None:
    """Creates a batch whose jobs share rows: alike, close together, some left out in the first request."""
    count, delay_ms = visit.rng.randint(10, 40), visit.rng.choice((30_000, 200_000, 500_000))
    whole = _alike(visit, count, delay_ms, 10)
    some = msgspec.structs.replace(whole, jobs=tuple(job for job in whole.jobs if job.index % 7))
    ask_again(visit, KeyedRequest(some, visit.now))
    ask_again(visit, KeyedRequest(whole, visit.now))


def create_large(visit: Visit) -> None:
    """Creates a batch of jobs so large that few fit into one row: a poller finds many full rows in one page."""
    whole = _alike(visit, 26, 300_000, 1)
    large = [
        msgspec.structs.replace(
            job, record="none", target=SqsTarget(QUEUE_ARN), payload=Payload(job.payload.body.ljust(3_500))
        )
        for job in whole.jobs
    ]
    ask_again(visit, KeyedRequest(with_jobs(whole, large), visit.now))


def create_bundled(visit: Visit) -> None:
    """Creates jobs of one second for one queue or topic; one of them may kill the deliverer that delivers it."""
    target = visit.rng.choice((SqsTarget(QUEUE_ARN), KafkaTarget(TOPIC)))
    whole = _alike(visit, visit.rng.randint(2, 8), visit.rng.choice((2_000, 40_000)), 0)
    record = visit.rng.choice(("full", "none"))
    jobs = [msgspec.structs.replace(job, target=target, record=record) for job in whole.jobs]
    settings = visit.desk.cloud.settings
    may_poison = settings.max_receive_count == 2 and settings.visibility_seconds <= 120
    if visit.desk.cloud.adversary.profile.rows and may_poison and visit.rng.random() < 0.1:
        poison = Payload(POISON + b" %d" % visit.rng.getrandbits(64))
        jobs[-1] = msgspec.structs.replace(jobs[-1], payload=poison, record="none")
    create_asked(visit, msgspec.structs.replace(with_jobs(whole, jobs), idempotency_key=None))


def create_mixed(visit: Visit) -> None:
    """Creates a batch of anonymous jobs, named ones, or both; each named one is answered on its own."""
    asked = request_of(visit, visit.rng.randint(0, 3), visit.rng.choice((None, f"mixed-{visit.rng.getrandbits(64)}")))
    wanted = [definition(visit.rng, visit.now, visit.desk.began_at) for _ in range(visit.rng.randint(0, 2))]
    keys = visit.rng.sample(KEYS, len(wanted))

    def flow(world: World, shards: Sequence[str]) -> tuple[Sequence[create.CreatedJob], list[write.Written]]:
        client = visit.acting_for(world, visit.client.client_id)
        created = create.create_jobs(world, msgspec.structs.replace(asked, client=client), shards)
        written = []
        for key, one in zip(keys, wanted, strict=True):
            text = b'{"n": "%s"}' % one.payload.body
            try:
                request = write.NamedRequest(client=client, job_key=key, as_sent=text, definition=one)
                written.append(write.create_named(world, request, shards))
            except NameTaken:
                continue
        return created, written

    ask = visit.call if asked.idempotency_key is None else visit.call_until_answered
    created, written = ask(flow, len(asked.jobs) + len(wanted))
    accept(visit, asked, created)
    for one in written:
        answered(visit, one)


def create_metered(visit: Visit) -> None:
    """Creates as the client with a limit on how many jobs it may create."""
    visit.client = METERED
    count = visit.rng.choice((1, 1, 2, 4))
    if visit.rng.random() < 0.5:
        create_once(visit, count)
    else:
        create_keyed(visit, count)


def preview(visit: Visit) -> None:
    """Asks for work that makes nothing, several times at once: it goes at the pace of any client of the caller."""
    visit.client = visit.rng.choice((METERED, METERED, METERED, *SHARING))
    is_admin = visit.rng.random() < 0.1 and not visit.step.by_stranger

    def flow(world: World, _: Sequence[str]) -> None:
        # An admin whom no client lists has no pace.
        caller = access.identify(world, ADMIN) if is_admin else visit.caller(world)
        clients = access.clients_of(world, caller)
        for _again in range(visit.rng.choice((1, 1, 2, 4))):
            visit.intake.admit_preview(world, clients)

    visit.call_until_answered(flow)


def create_unnamed(visit: Visit) -> None:
    """Creates without naming the client, which only a principal of exactly one client may do."""
    visit.client = visit.rng.choice((visit.client, visit.client, *SHARING))
    request = request_of(visit, 1, None)

    def flow(world: World, shards: Sequence[str]) -> Sequence[create.CreatedJob]:
        client = visit.acting_for(world, None)
        visit.watcher.require(client.client_id == visit.client.client_id, "I9", "it acts for another client")
        return create.create_jobs(world, msgspec.structs.replace(request, client=client), shards)

    accept(visit, request, visit.call(flow))


def create_crowd(visit: Visit) -> None:
    """Creates more jobs at once than the client's concurrency cap; each has one attempt with a short timeout."""
    visit.client = NARROW
    asked, delay_ms = request_of(visit, 5, None), visit.rng.choice((5_000, 100_000))
    target, once = HttpTarget("https://good.example.com/", timeout_seconds=5), RetryPolicy(max_attempts=1)
    jobs = [
        msgspec.structs.replace(job, at=None, delay_ms=delay_ms, target=target, record="full", retry_policy=once)
        for job in asked.jobs
    ]
    create_asked(visit, with_jobs(asked, jobs))


def create_down(visit: Visit) -> None:
    """Creates jobs for a target that is down, one after the other: enough to open its circuit, and some for later."""
    visit.client = DOWNCAST
    asked = request_of(visit, 34, f"down-{visit.rng.getrandbits(64):x}")
    target, once = HttpTarget(DOWN_HOST, timeout_seconds=1), RetryPolicy(max_attempts=1)
    record = visit.rng.choice(("full", "none"))
    jobs = [
        msgspec.structs.replace(
            job,
            payload=Payload(b"down %d" % visit.rng.getrandbits(64)),  # parked poison never ends
            delay_ms=5_000 + 1_500 * job.index + (40_000 if job.index > 28 else 0),
            target=target,
            record=record,
            retry_policy=once,
            relevancy_window_seconds=None,
            on_failure=None,
        )
        for job in asked.jobs
    ]
    ask_again(visit, KeyedRequest(with_jobs(asked, jobs), visit.now))


def hold_back(visit: Visit) -> None:
    """Creates many jobs, due soon, of the client that operators pause."""
    visit.client = REGULATED
    whole = _alike(visit, visit.rng.randint(5, 12), visit.rng.choice((5_000, 30_000)), 5)
    ask_again(visit, KeyedRequest(whole, visit.now))


BATCH_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    "create alike": create_alike,
    "create large": create_large,
    "create bundled": create_bundled,
    "create mixed": create_mixed,
    "create metered": create_metered,
    "preview": preview,
    "create unnamed": create_unnamed,
    "create crowd": create_crowd,
    "create down": create_down,
    "create held back": hold_back,
}
BATCH_WEIGHTS = {
    "create alike": 2, "create large": 0.5, "create bundled": 4, "create mixed": 3, "create metered": 4,
    "preview": 1, "create unnamed": 2, "create crowd": 0.8, "create held back": 1.2,
    "create down": 0.8,
}  # fmt: skip
