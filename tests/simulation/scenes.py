"""The scenes of the scenario: the operations of clients, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.ids import NamedJobId
from clockwork.domain.named import changes
from clockwork.domain.named_jobs import Definition
from clockwork.domain.policies import Completion, RecordLevel, RetryPolicy
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.domain.workflows.definition import Node, WorkflowTarget
from clockwork.flows import access
from clockwork.flows.access import get_named
from clockwork.flows.named import write
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from clockwork.targets.pool import PoolTarget
from tests.simulation.clients import Visit, ask_again, cancel_one, create_asked, get_one
from tests.simulation.fleet import HANDS_BACK
from tests.simulation.machines import BREAKS, ENDLESS, MACHINE, TASK
from tests.simulation.named_clients import answered
from tests.simulation.receivers import SAYS, Manner
from tests.simulation.regulated import delete_client, pause_client, resume_client
from tests.simulation.requests import CALLED_BACK, CLIENTS, POOL, REGULATED, KeyedRequest
from tests.simulation.stage import BEGAN_AT
from tests.simulation.stores import NEVER_SENDABLE, POISON
from tests.simulation.targets import FAILS_ONCE, REJECTING_HOST
from tests.support.examples import outline

#: The operations of a client, each with its time (ms after the beginning).
Steps = Sequence[tuple[int, Callable[[Visit], None]]]
ONCE = RetryPolicy(max_attempts=1)
NEAR = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=5, jitter="none")
FAR = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=905, jitter="none")
#: The manners of the receivers in the scene of completion, in the order of their jobs.
ORDERED = (Manner.STEADY, Manner.FAILS, Manner.PROMPT, Manner.SILENT)
TARGET = HttpTarget("https://good.example.com/", timeout_seconds=5)


def created() -> Steps:
    """Jobs for soon and for later, created again under their key."""
    asked = _keyed("keyed", [job_of(b"soon", 1_000), job_of(b"keyed", 90_000)])
    return [
        (1_000, partial(ask_again, keyed=asked)),
        (5_000, partial(ask_again, keyed=asked)),
        (95_000, partial(ask_again, keyed=asked)),
    ]


def far() -> Steps:
    """A job beyond the lookahead, and a batch without a key over several rows."""
    batch = _request(None, [job_of(b"batch %d" % n, 80_000 * (n // 2 + 1)) for n in range(4)])
    return [
        (1_000, _ask("far", [job_of(b"beyond the lookahead", 900_000)])),
        (2_000, partial(create_asked, request=batch)),
    ]


def retried() -> Steps:
    """Attempts that fail, with retries within the queue's delay and beyond it, recorded and unrecorded."""
    return [
        (1_000, _ask("near retry", [job_of(FAILS_ONCE + b"1", 2_000)])),
        (2_000, _ask("far retry", [job_of(FAILS_ONCE + b"2", 2_500, FAR)])),
        (3_000, _ask("unrecorded retry", [job_of(FAILS_ONCE + b"3", 2_500, FAR, "none")])),
    ]


def poisoned() -> Steps:
    """A payload that kills every deliverer, until its message is a dead letter."""
    return [(1_000, _ask("poison", [job_of(POISON, 0, record="none")]))]


def called_back() -> Steps:
    """Jobs that die, each with a callback: at once, unrecorded, first of an ordering key, or by lost deliverers."""
    dying = [_dying(job_of(b"dies", 1_000)), _dying(job_of(b"unrecorded", 1_500, record="none"))]
    behind = [_dying(job_of(b"first of a key", 3_000)), job_of(b"second", 3_500)]
    in_order = [msgspec.structs.replace(job, ordering_key="a key", sequence=n) for n, job in enumerate(behind)]
    ordered_request = msgspec.structs.replace(_request("dying in order", in_order), outlines=())
    poison = msgspec.structs.replace(job_of(POISON, 0), on_failure=CALLED_BACK)
    return [
        (1_000, _ask("dying", dying)),
        (3_000, lambda visit: ask_again(visit, KeyedRequest(ordered_request, visit.now))),
        (5_000, _ask("poison with a callback", [poison])),
    ]


def completed() -> Steps:
    """Jobs that end by callback: after heartbeats, after a failure, at once, and one whose receiver falls silent."""
    jobs = [job_of(SAYS + manner.name.encode(), 1_000 + 500 * number) for number, manner in enumerate(ORDERED)]
    brief = Completion(heartbeat_seconds=10, timeout_seconds=60)
    asked = [msgspec.structs.replace(job, completion=brief) for job in jobs]
    return [(1_000, _ask("completed", asked))]


def ended() -> Steps:
    """Jobs that end with executions of a state machine, and with tasks: well, after a failure, or by a stop."""
    brief = Completion("end", timeout_seconds=60)
    asks = (MACHINE, b"ends"), (MACHINE, BREAKS), (MACHINE, ENDLESS), (TASK, BREAKS + b" as a task")
    jobs = [
        msgspec.structs.replace(job_of(ask, 1_000 + 500 * number), target=target, completion=brief)
        for number, (target, ask) in enumerate(asks)
    ]
    return [(1_000, _ask("ended", jobs))]


def pulled() -> Steps:
    """Jobs of a pool: after heartbeats and checkpoints, after a failure, handed back, and one whose worker dies."""
    asks = (*(SAYS + one.name.encode() for one in (Manner.STEADY, Manner.FAILS, Manner.SILENT)), HANDS_BACK)
    jobs = [
        msgspec.structs.replace(job_of(ask, 1_000 + 500 * number), target=PoolTarget(POOL, "work", 300))
        for number, ask in enumerate(asks)
    ]
    return [(1_000, _ask("pulled", jobs))]


def flowing() -> Steps:
    """A workflow: a chain whose first node fails once, a branch that is refused and undone, and a join of all."""

    refused = HttpTarget(REJECTING_HOST, timeout_seconds=5)
    nodes = {
        "first": _node(FAILS_ONCE + b"first"),
        "second": _node(b"second of a run", "first"),
        "refused": _node(b"refused of a run", "first", target=refused),
        "undo": _node(b"undo of a run", "refused", when="failed"),
        "last": _node(b"last of a run", "second", "undo", when="ended", delay_seconds=10),
    }
    job = msgspec.structs.replace(job_of(b'"input"', 1_000), target=WorkflowTarget(nodes, 900))
    return [(1_000, _ask("flowing", [job]))]


def reported() -> Steps:
    """A workflow whose nodes end by callback, after heartbeats, a failure and at once; the last receiver is silent."""
    brief = Completion(heartbeat_seconds=10, timeout_seconds=60)
    manners = (Manner.STEADY, Manner.FAILS, Manner.PROMPT, Manner.SILENT)
    names = [one.name.lower() for one in manners]
    nodes = {
        name: _node(SAYS + one.name.encode(), *names[:place][-1:], completion=brief, optional=one is Manner.SILENT)
        for place, (name, one) in enumerate(zip(names, manners, strict=True))
    }
    job = msgspec.structs.replace(job_of(b'"reported"', 1_000), target=WorkflowTarget(nodes, 900))
    return [(1_000, _ask("reported", [job]))]


def stopped_run() -> Steps:
    """A workflow is cancelled while one node is at work and another one waits for its delay."""
    patient = Completion(heartbeat_seconds=250, timeout_seconds=300)
    nodes = {
        "first": _node(b"first of a stopped run"),
        "silent": _node(SAYS + Manner.SILENT.name.encode(), "first", completion=patient),
        "late": _node(b"late of a stopped run", "first", delay_seconds=200),
        "last": _node(b"last of a stopped run", "silent", "late"),
    }
    job = msgspec.structs.replace(job_of(b'"stopped"', 1_000), target=WorkflowTarget(nodes, 900))
    return [(1_000, _ask("stopped run", [job])), (20_000, _if_any(cancel_one))]


def stopped() -> Steps:
    """A job whose receiver is silent is cancelled, long before its lease ends."""
    patient = Completion(heartbeat_seconds=250, timeout_seconds=300)
    job = msgspec.structs.replace(job_of(SAYS + Manner.SILENT.name.encode(), 1_000), completion=patient)
    return [(1_000, _ask("stopped", [job])), (10_000, _if_any(cancel_one))]


def cancelled() -> Steps:
    """Cancels at both record levels, and a read."""
    return [
        (1_000, _ask("cancelled", [job_of(b"cancelled", 40_000)])),
        (10_000, _if_any(cancel_one)),
        (15_000, _ask("cancelled unrecorded", [job_of(b"c", 900_000, record="none")])),
        (20_000, _if_any(cancel_one)),
        (30_000, _if_any(get_one)),
    ]


def changed() -> Steps:
    """A named one-shot that is replaced, paused and resumed, and another that is deleted."""
    return [
        (1_000, create_key("moved", at=BEGAN_AT + 90_000)),
        (8_000, create_key("deleted", at=BEGAN_AT + 80_000)),
        (15_000, change_key("moved", changes.replaced(definition_of(at=BEGAN_AT + 70_000), b"{}"))),
        (22_000, change_key("moved", changes.paused("a pause"))),
        (30_000, change_key("deleted", changes.cancelled(None))),
        (45_000, change_key("moved", changes.resumed(None))),
    ]


def recurring() -> Steps:
    """A chain of fires whose target is changed half-way."""
    every = Recurrence(every=Every(60_000, BEGAN_AT + 20_000), max_fires=4)
    later = definition_of(payload=Payload(b"changed"), recurrence=every)

    changed = changes.replaced(later, b"{}")
    return [(1_000, create_key("recurring", recurrence=every)), (100_000, change_key("recurring", changed))]


def packed() -> Steps:
    """Jobs that share a row; some are left out in the first request, one is cancelled."""
    jobs = [job_of(b"alike %d" % n, 130_000 + n) for n in range(12)]
    whole = _request("packed", jobs)
    some = with_outlines_of(whole, [job for job in whole.jobs if job.index % 5])
    return [
        (1_000, lambda visit: ask_again(visit, KeyedRequest(some, visit.now))),
        (2_000, lambda visit: ask_again(visit, KeyedRequest(whole, visit.now))),
        (10_000, _if_any(cancel_one)),
    ]


def ordered() -> Steps:
    """Jobs of one ordering key; the first one fails once."""
    jobs = [job_of(FAILS_ONCE + b"1", 3_000), job_of(b"second", 3_000), job_of(b"third", 3_500)]
    jobs = [msgspec.structs.replace(job, ordering_key="a key", sequence=n) for n, job in enumerate(jobs)]
    asked = msgspec.structs.replace(_request("ordered", jobs), outlines=())
    return [(1_000, lambda visit: ask_again(visit, KeyedRequest(asked, visit.now)))]


def parked() -> Steps:
    """A client with caps is paused while one of its jobs comes due, and resumed."""
    asked = msgspec.structs.replace(
        _request("parked", [job_of(b"parked", 15_000), job_of(b"too", 16_000)]), client=REGULATED
    )

    def ask(visit: Visit) -> None:
        visit.client = REGULATED
        ask_again(visit, KeyedRequest(asked, visit.now))

    return [(1_000, ask), (5_000, pause_client), (40_000, resume_client)]


def deleted() -> Steps:
    """A client is deleted: some of its work is parked, some not due yet, recorded or not."""
    jobs = [job_of(b"parked", 15_000), job_of(b"later", 200_000), job_of(b"unrecorded", 400_000, record="none")]
    asked = msgspec.structs.replace(_request("deleted", jobs), client=REGULATED)

    def ask(visit: Visit) -> None:
        visit.client = REGULATED
        ask_again(visit, KeyedRequest(asked, visit.now))

    return [(1_000, ask), (5_000, pause_client), (40_000, delete_client)]


def unsendable() -> Steps:
    """Jobs that no queue can ever take: they end as dead."""
    return [(1_000, _ask("unsendable", [job_of(NEVER_SENDABLE, 90_000), job_of(b"beside it", 90_000)]))]


def retimed() -> Steps:
    """A period that is replaced by another one, by a call that is not repeated, and soon by a third one."""

    def beat(number: int) -> Recurrence:
        return Recurrence(every=Every(14_000 + number, BEGAN_AT + 20_000), max_fires=(10, 4, 2)[number])

    def replaced(number: int) -> changes.Change:
        return changes.replaced(definition_of(recurrence=beat(number)), b"%d" % number)

    return [
        (1_000, create_key("retimed", recurrence=beat(0))),
        (95_000, change_key("retimed", replaced(1), is_repeated=False)),
        (125_000, change_key("retimed", replaced(2))),
    ]


def missed() -> Steps:
    """A schedule that is paused and soon resumed, which skips what it missed: one message may outlast the pause."""
    every = Recurrence(every=Every(9_000, BEGAN_AT + 20_000), max_fires=9)
    return [
        (1_000, create_key("missed", recurrence=every, catch_up="none")),
        (30_000, change_key("missed", changes.paused("a short pause"))),
        (56_000, change_key("missed", changes.resumed(None))),
    ]


def held_back() -> Steps:
    """A schedule whose releases end in a short pause that no poller sees, and that its resume is to send anew."""
    every = Recurrence(every=Every(14_000, BEGAN_AT + 20_000), max_fires=9)
    return [
        (1_000, create_key("held back", recurrence=every, catch_up="all")),
        (64_000, change_key("held back", changes.paused("a short pause"))),
        (95_000, change_key("held back", changes.resumed(None))),
    ]


def skipping() -> Steps:
    """A job that becomes `overlap: skip`, twice, while two of its fires wait for their retries and many succeeded."""
    every = Recurrence(every=Every(4_000, BEGAN_AT + 8_000), max_fires=20)
    once = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=70, jitter="none")
    beat = {"recurrence": every, "retry_policy": once}
    allows = definition_of(payload=Payload(b"allows"), overlap="allow", **beat)
    skips = definition_of(payload=Payload(b"skips"), overlap="skip", **beat)
    return [
        (1_000, create_key("skipping", payload=Payload(FAILS_ONCE + b"skipping"), **beat)),
        (15_000, change_key("skipping", changes.replaced(allows, b"allows"))),
        (58_000, change_key("skipping", changes.replaced(skips, b"skips"))),
        (62_000, change_key("skipping", changes.replaced(allows, b"allows"))),
        (65_000, change_key("skipping", changes.replaced(skips, b"skips"))),
    ]


SCENES: dict[str, Callable[[], Steps]] = {
    scene.__name__: scene
    for scene in (
        *(created, far, retried, poisoned, called_back, completed, pulled, flowing, cancelled),
        *(changed, recurring, packed, ordered, parked, deleted),
    )
}
#: Scenes that make no call to AWS which the others do not make; they are played in memory alone.
FURTHER_SCENES: dict[str, Callable[[], Steps]] = {
    scene.__name__: scene
    for scene in (ended, stopped, reported, stopped_run, unsendable, retimed, missed, held_back, skipping)
}


def keyed_request(key: str, jobs: list[NewJob], client: Client = CLIENTS[0]) -> CreateRequest:
    """A request under an Idempotency-Key."""
    return msgspec.structs.replace(_request(key, jobs), client=client)


def with_outlines_of(whole: CreateRequest, jobs: Sequence[NewJob]) -> CreateRequest:
    """The same request with only these jobs, but all outlines."""
    return msgspec.structs.replace(whole, jobs=tuple(jobs))


def _if_any(work: Callable[[Visit], None]) -> Callable[[Visit], None]:
    """The operation, skipped unless the client has been promised a job."""
    return lambda visit: work(visit) if visit.known_job() is not None else None


def _ask(key: str, jobs: list[NewJob]) -> Callable[[Visit], None]:
    return lambda visit: ask_again(visit, KeyedRequest(_request(key, jobs), visit.now))


def ask_as(client: Client, asked: CreateRequest) -> Callable[[Visit], None]:
    """The request of another client than the one of the scenes."""

    def ask(visit: Visit) -> None:
        visit.client = client
        ask_again(visit, KeyedRequest(asked, visit.now))

    return ask


def _keyed(key: str, jobs: list[NewJob]) -> KeyedRequest:
    return KeyedRequest(_request(key, jobs), BEGAN_AT)


def _request(key: str | None, jobs: list[NewJob]) -> CreateRequest:
    numbered = tuple(msgspec.structs.replace(job, index=index) for index, job in enumerate(jobs))
    outlines = tuple(map(outline, numbered)) if len(jobs) > 1 else ()
    return CreateRequest(client=CLIENTS[0], jobs=numbered, outlines=outlines, idempotency_key=key, digest=str(key))


def _node(says: bytes, *after: str, **fields: Any) -> Node:
    """A node of a workflow whose payload is this text."""
    payload = msgspec.json.encode(says.decode())
    return Node(**{"target": TARGET, "after": after, "payload": payload, "retry_policy": NEAR, **fields})


def job_of(payload: bytes, delay_ms: int, policy: RetryPolicy = NEAR, record: RecordLevel = "full") -> NewJob:
    return NewJob(target=TARGET, payload=Payload(payload), delay_ms=delay_ms, retry_policy=policy, record=record)


def _dying(job: NewJob) -> NewJob:
    """The same job with a target that refuses it permanently, and a callback."""
    return msgspec.structs.replace(job, target=HttpTarget(REJECTING_HOST, timeout_seconds=5), on_failure=CALLED_BACK)


def definition_of(**wanted: Any) -> Definition:
    return Definition(**{"target": TARGET, "payload": Payload(b"named"), "retry_policy": NEAR, **wanted})


def create_key(key: str, **wanted: Any) -> Callable[[Visit], None]:
    def create(visit: Visit) -> None:
        def flow(world: World, partitions: Sequence[str]) -> write.Written:
            caller = access.identify(world, visit.client.principals[0])
            client = access.client_for(world, caller, visit.client.client_id)
            asked = write.NamedRequest(
                client=client, job_key=key, as_sent=msgspec.json.encode(key), definition=definition_of(**wanted)
            )
            return write.create_named(world, asked, partitions)

        answered(visit, visit.call_until_answered(flow))

    return create


def change_key(key: str, changed: changes.Change, *, is_repeated: bool = True) -> Callable[[Visit], None]:
    def change(visit: Visit) -> None:
        job_id = NamedJobId(visit.client.client_id, key, 1).job_id

        def flow(world: World, _: Sequence[str]) -> write.Written:
            return write.change(world, get_named(world, visit.caller(world), job_id), None, changed)

        call = visit.call_until_answered if is_repeated else visit.call
        answered(visit, call(flow), is_change=True)

    return change
