"""A stored value that names another client than its key fails alone: beside it, everybody's jobs are delivered."""

from __future__ import annotations

import msgspec

from clockwork.domain.releases import Deliver
from clockwork.domain.storage.codec import decode_message, encode_message
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from tests.support.examples import ACME, new_job, request
from tests.support.named import Named

GLOBEX = msgspec.structs.replace(ACME, client_id="globex")
EVERY_MS = 200_000


def due_together() -> tuple[Named, list[Message]]:
    """A fire of a client with a cap, so that its job is asked before it is taken, and a job of another client."""
    named = Named(every_ms=EVERY_MS)
    clockwork = named.clockwork
    clockwork.clients.put(msgspec.structs.replace(ACME, max_rate_per_second=100.0))
    clockwork.clients.put(GLOBEX)
    shards = ensure_shards(clockwork.world)
    create_jobs(clockwork.world, msgspec.structs.replace(request(new_job(delay_ms=EVERY_MS)), client=GLOBEX), shards)
    clockwork.clock.advance(EVERY_MS - 60_000)
    clockwork.poll_all()
    clockwork.clock.advance(60_000)
    messages = [Message(one.message_id, one.body) for one in clockwork.queue.receive()]
    assert len(messages) == 2
    return named, messages


def delivered(named: Named, messages: list[Message]) -> tuple[list[str], int]:
    """The clients to whose targets a batch of these messages delivers, and how many of the messages come back."""
    clockwork = named.clockwork
    report = deliver_batch(clockwork.world, messages, clockwork.clock.at + 60_000)
    return [one.occurrence.client_id for one in clockwork.targets.delivered], len(report.failed_messages)


def test_a_job_whose_row_names_another_client_holds_up_nobody_else() -> None:
    named, messages = due_together()
    named.clockwork.jobs._jobs["acme", "tick"] = msgspec.structs.replace(named.job, client_id="acmd")
    assert delivered(named, messages) == (["globex"], 1)


def test_a_release_whose_occurrence_names_another_client_than_its_job_is_not_delivered() -> None:
    named, messages = due_together()
    forged = [msgspec.structs.replace(one, body=with_client(one.body, "globex")) for one in messages]
    assert delivered(named, forged) == (["globex"], 1)


def with_client(body: str, client_id: str) -> str:
    """The body of a message, whose occurrence names this client."""
    (release,) = decode_message(body)
    assert isinstance(release, Deliver)
    occurrence = msgspec.structs.replace(release.occurrence, client_id=client_id)
    return encode_message([msgspec.structs.replace(release, occurrence=occurrence)])
