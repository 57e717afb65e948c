"""Clients that ask by message: they create and cancel, in the order of a lane, with repeats and faults of their own."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from clockwork.domain.ids import digest_of
from clockwork.domain.requests.create import CreateRequest
from clockwork.flows.access import Caller
from clockwork.flows.named.write import NamedRequest, Written
from clockwork.flows.requests.ingest import Cancel, Command, Message
from clockwork.targets.message import Payload
from tests.simulation.clients import Visit, request_of
from tests.simulation.named_clients import KEYS, ORDERING_KEYS, answered, definition, known
from tests.simulation.requested import Wish
from tests.simulation.requests import METERED, ordered_policy, ordered_target
from tests.simulation.stores import NEVER_SENDABLE

#: The kinds of messages, counted as operations of their own: a full run must have done and have rejected each kind.
MESSAGES = ("create by message", "create named by message", "cancel by message")
LANES = ("first lane", "second lane")


def send_messages(visit: Visit) -> None:
    """Sends some messages, one after the other."""
    if visit.rng.random() < 0.2:
        visit.client = METERED
    if visit.rng.random() < 0.2:
        # Creates of several lanes follow each other: they are made together, whatever becomes of one of them.
        for number in range(visit.rng.randint(3, 8)):
            visit.desk.requests.send(_create(visit, f"lane {number}", 0.5))
    for _ in range(visit.rng.randint(1, 4)):
        ask = visit.rng.choice((_create, _create, _create_named, _cancel, _cancel, _unreadable))
        visit.desk.requests.send(ask(visit, visit.rng.choice(LANES)))


def _create(visit: Visit, lane: str, ordered: float = 0.2) -> Wish:
    request = request_of(visit, 1, "its own")
    job = request.jobs[0]
    # A message whose job the release queue never takes stays in its lane until the lane gives it up, and the messages
    # behind it wait: here each job can be sent.
    sendable = Payload(job.payload.body.replace(NEVER_SENDABLE, b"payload"))
    job = msgspec.structs.replace(job, payload=sendable)
    if visit.rng.random() < ordered:
        job = msgspec.structs.replace(
            job,
            record="full",
            ordering_key=visit.rng.choice(ORDERING_KEYS),
            relevancy_window_seconds=None,
            retry_policy=ordered_policy(job.retry_policy),
            target=ordered_target(job.target),
        )
    # A key that other messages use, too: the second request asks for something else under the same key.
    key = visit.rng.choice((None, None, f"key-{visit.client.client_id}-{visit.rng.randrange(3)}"))
    request = msgspec.structs.replace(request, jobs=(job,), digest=digest_of([job.payload.body]))

    def command(message: Message) -> CreateRequest:
        return msgspec.structs.replace(request, idempotency_key=key or message.message_id)

    return Wish("create by message", lane, command, lambda _: _accept(visit, request))


def _accept(visit: Visit, request: CreateRequest) -> None:
    """Notes the job of an acknowledged message: from now on it is a job like any other."""
    found = visit.watcher.job_of(
        request.jobs[0].payload.body, [s.partition_id for s in visit.desk.cloud.stores.shards.all()]
    )
    if found is None:
        visit.watcher.violated("I1", "a message was acknowledged, and there is no such job")
    else:
        visit.watcher.acknowledged(*found)


def _create_named(visit: Visit, lane: str) -> Wish:
    key, text = visit.rng.choice(KEYS), b'{"n": %d}' % visit.rng.getrandbits(64)
    wanted = definition(visit.rng, visit.now, visit.desk.began_at)
    asked = NamedRequest(client=visit.client, job_key=key, as_sent=text, definition=wanted)

    def done(_: bool) -> None:
        life = visit.watcher.named.lives[visit.client.client_id, key]
        if life.truths[-1].as_sent == text:
            answered(visit, Written(life.truths[-1]))

    return Wish("create named by message", lane, lambda _: asked, done)


def _cancel(visit: Visit, lane: str) -> Wish:
    kind = visit.rng.random()
    caller = Caller("ingestion", client_ids=frozenset({visit.client.client_id}))
    promise = visit.known_job()
    if kind < 0.3 or promise is None:
        job_key = visit.rng.choice((*KEYS, "no such key"))
        return _cancelling(lane, Cancel(caller, client_id=visit.client.client_id, job_key=job_key))
    job_id = known(visit) if kind < 0.5 else promise.job_id
    if kind < 0.6:
        caller = Caller("ingestion", client_ids=frozenset({visit.other().client_id}))
    elif job_id == promise.job_id:
        promise.cancel_asked = True

    def done(in_time: bool) -> None:
        mine = visit.client.client_id in caller.client_ids
        visit.watcher.require(mine, "I9", "another client's job was cancelled by message", job_id)
        if in_time and job_id == promise.job_id:
            visit.watcher.cancelled(job_id)

    return _cancelling(lane, Cancel(caller, job_id), done)


def _cancelling(lane: str, command: Command, done: Callable[[bool], None] = lambda _: None) -> Wish:
    return Wish("cancel by message", lane, lambda _: command, done)


def _unreadable(visit: Visit, lane: str) -> Wish:
    return Wish("create by message", lane, None, lambda _: None)


MESSAGE_OPERATIONS: dict[str, Callable[[Visit], None]] = {"send messages": send_messages}
MESSAGE_WEIGHTS = {"send messages": 6}
