"""Slow calls about one client, before anything of it is claimed, hold up the starts of others for a bounded time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.flows.apart import ASKED_FOR_MS
from clockwork.flows.deliver.admission import SLOW_GATE_FOR_MS
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME, new_job, request

CALL_MS = 2_000
LIMITED = {"max_concurrency": 500, "max_rate_per_second": 50}


class Slow:
    """A Clockwork in memory, in which the calls of regulation about some clients take CALL_MS."""

    def __init__(self, *client_ids: str) -> None:
        self.clockwork = MemoryClockwork()
        self.client_ids = client_ids
        self.answers = True

    def slow(self, call: str) -> None:
        inner = getattr(self.clockwork.regulation, call)

        def slowly(client_id: str, *asked: Any, **more: Any) -> Any:
            if client_id in self.client_ids:
                self.clockwork.clock.advance(CALL_MS)
                if not self.answers:
                    raise Unavailable("throttled")
            return inner(client_id, *asked, **more)

        setattr(self.clockwork.regulation, call, slowly)

    def create(self, client_id: str, count: int = 1, **limits: Any) -> None:
        client: Client = msgspec.structs.replace(ACME, client_id=client_id, **limits)
        self.clockwork.clients.put(client)
        jobs = [new_job(delay_ms=5_000, record="full") for _ in range(count)]
        wish = msgspec.structs.replace(request(*jobs), client=client)
        create_jobs(self.clockwork.world, wish, ensure_shards(self.clockwork.world))

    def deliver(self) -> None:
        """Deliver all that is due, in one batch."""
        self.clockwork.poll_all()
        self.clockwork.clock.at += 5_200
        messages = [Message(one.message_id, one.body, 1) for one in self.clockwork.queue.receive(100)]
        report = deliver_batch(self.clockwork.world, messages, self.clockwork.clock.now() + 60_000)
        for message in messages:
            if message.message_id not in report.failed_messages:
                del self.clockwork.queue.messages[message.message_id]

    def late_ms(self, client_id: str) -> list[int]:
        """How late each attempt of a client started."""
        records = [one for one in self.clockwork.executions.all() if one.client_id == client_id]
        return [one.attempts[0].started_at - one.due_at for one in records if one.attempts]


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("call", ["lease", "circuits", "reserve"])
def test_a_client_whose_gate_takes_no_such_call_starts_before_one_that_is_limited(call: str, *, answers: bool) -> None:
    case = Slow("acme")
    case.create("acme", 9, **LIMITED)
    case.create("zeta")
    case.slow(call)
    case.answers = answers
    case.deliver()
    assert case.late_ms("zeta") == [200]
    assert (len(case.late_ms("acme")) > 0) is answers


def test_a_client_that_was_slow_lately_comes_last_for_a_while() -> None:
    case = Slow("acme")
    case.slow("circuits")
    late = []
    for _ in range(2):
        case.create("acme")
        case.create("zeta")
        case.deliver()
        late.append(case.late_ms("zeta")[-1])
    assert late == [200 + CALL_MS, 200]
    case.client_ids = ()
    case.clockwork.clock.advance(SLOW_GATE_FOR_MS)
    case.create("acme")
    case.create("zeta")
    case.deliver()
    assert case.late_ms("acme")[-1] == case.late_ms("zeta")[-1] == 200


def test_gates_take_a_bounded_time_of_a_batch_and_what_is_left_comes_back_uncounted() -> None:
    clients = [f"slow-{number}" for number in range(8)]
    case = Slow(*clients)
    for client_id in clients:
        case.create(client_id, **LIMITED)
    case.slow("reserve")
    began_at = case.clockwork.clock.at
    case.deliver()
    assert case.clockwork.clock.at - began_at - 5_200 <= ASKED_FOR_MS + CALL_MS
    ended = [one for one in case.clockwork.executions.all() if one.attempts]
    assert 0 < len(ended) <= 2
    case.client_ids = ()
    case.clockwork.run_until(case.clockwork.clock.at + 10_000)
    records = case.clockwork.executions.all()
    assert {(one.state, one.attempt) for one in records} == {(State.SUCCEEDED, 1)}
    assert len(records) == len(clients)


def test_what_is_due_soon_keeps_its_instant_beside_what_is_limited() -> None:
    case = Slow()
    case.create("acme", 2, **LIMITED)
    case.create("zeta", 2)
    case.clockwork.poll_all()
    case.clockwork.run_until(case.clockwork.clock.at + 8_000)
    assert case.late_ms("zeta") == [0, 0]
    assert sorted(case.late_ms("acme")) == [0, 1_000 // LIMITED["max_rate_per_second"]]
