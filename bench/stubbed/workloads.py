"""The work of each Lambda for jobs, ready to be repeated: the flows over the real adapters, in stopped time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from bench.stubbed.canned import CLIENT, MINUTE_MS, NOW, PAGE, PARTITION, TARGET, due_rows, payloads
from clockwork.domain.clients import Client
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.domain.requests.packing import Outline
from clockwork.domain.storage.codec import encode_release
from clockwork.domain.storage.rows import releases_of
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.world import World

#: The largest request, and the largest batch of messages that a deliverer is handed.
REQUEST = 500
BATCH = 10
#: The delay of the jobs: too long for a create to start a poller itself.
DELAY_MS = 180_000
#: Jobs that are due so soon lie before the horizon of their shard: their create sends their message.
SOON_MS = 30_000
#: The calls to AWS that each work makes once an environment is warm. A page of 500 due jobs is 52 batches of messages:
#: a quarter of the jobs leaves at each of the four instants of a second, in 13 batches.
CALLS: Mapping[str, Mapping[str, int]] = {
    "create_single": {"PutItem": 1, "GetItem": 1},
    "create_soon": {"PutItem": 1, "GetItem": 2, "SendMessageBatch": 1},
    "create_batch": {"BatchWriteItem": 20, "GetItem": 1},
    "create_packed": {"BatchWriteItem": 1, "GetItem": 1},
    "poll_release": {"UpdateItem": 2, "Query": 1, "SendMessageBatch": 52},
    "deliver": {"PutItem": 20},
    "deliver_one": {"PutItem": 2},
    "api_single_whole": {"PutItem": 1, "GetItem": 1},
    "api_batch_whole": {"BatchWriteItem": 1, "GetItem": 1},
}


@dataclass(frozen=True)
class Workload:
    """`run` does the work of `jobs` jobs once."""

    jobs: int
    run: Callable[[World], None]


class Unexpected(Exception):
    """The flow did not do the work that is to be measured."""


def create_request(jobs: int, apart_ms: int = 0, delay_ms: int = DELAY_MS) -> CreateRequest:
    """A valid request for anonymous jobs, due `apart_ms` apart, as the API's edge hands it to the flow."""
    wanted = [
        NewJob(index=index, target=TARGET, payload=payload, delay_ms=delay_ms + index * apart_ms)
        for index, payload in enumerate(islice(payloads(), jobs))
    ]
    alike = TARGET.url.encode()
    outlines = [Outline(job.index, None, job.delay_ms, len(job.payload.body), alike) for job in wanted]
    return CreateRequest(client=Client(client_id=CLIENT), jobs=tuple(wanted), outlines=tuple(outlines))


def workloads() -> dict[str, Workload]:
    """The work of each Lambda by name."""
    return {
        "create_single": _creates(create_request(1)),
        "create_soon": _creates(create_request(1, delay_ms=SOON_MS), released=True),
        "create_batch": _creates(create_request(REQUEST, apart_ms=MINUTE_MS)),
        "create_packed": _creates(create_request(REQUEST)),
        "poll_release": Workload(PAGE, _poll),
        "deliver": _deliveries(BATCH),
        "deliver_one": _deliveries(1),
    }


def _creates(request: CreateRequest, *, released: bool = False) -> Workload:
    jobs = len(request.jobs)

    def run(world: World) -> None:
        created = create_jobs(world, request, [PARTITION])
        placed = [job for job in created if job.released is released]
        _expect(len(placed) == jobs, "every job is released" if released else "every job waits on the timeline")

    return Workload(jobs, run)


def _poll(world: World) -> None:
    report = poll_shard(world, PARTITION, NOW + 300_000)
    _expect((report.outcome, report.released, report.commits) == ("dry", PAGE, 1), "the page is released")


def _deliveries(jobs: int) -> Workload:
    releases = [release for row in due_rows(jobs, NOW - MINUTE_MS) for release in releases_of(row)]
    messages = [Message(f"m{index}", encode_release(release)) for index, release in enumerate(releases)]

    def run(world: World) -> None:
        report = deliver_batch(world, messages, NOW + 120_000)
        _expect((report.succeeded, report.failed_messages) == (jobs, []), "the batch is delivered")

    return Workload(jobs, run)


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise Unexpected(f"it does not hold that {what}")
