"""Copies of what is parked: they leave it to its row, which its client's note names, and delay nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.timeline import Row
from clockwork.flows.sweep.unpark import unpark
from tests.handlers.fleet import TARGET, Worker, with_pool
from tests.handlers.handlers import Api
from tests.support.examples import ADMIN, ALICE, BOB

HOOK = {"type": "http", "url": "https://example.com/hook"}


def create(api: Api, target: dict[str, Any], client_id: str = "acme", caller: str = ALICE) -> None:
    wanted = {"clientId": client_id, "schedule": {"delaySeconds": 0}, "target": target}
    answer = api.call("POST", "/v1/jobs", wanted, caller=caller)
    assert answer.status == 201, answer.text


def pause(api: Api, what: str) -> None:
    assert api.call("POST", f"/v1/clients/acme/{what}", {"reason": "x"}, caller=ADMIN).status == 200


def go(api: Api, ms: int) -> None:
    api.clockwork.run_until(api.clockwork.clock.at + ms)


def swept(api: Api) -> None:
    unpark(api.clockwork.world, api.clockwork.clock.at + 300_000)


def of_client(api: Api, client_id: str) -> list[Execution]:
    return [one for one in api.clockwork.executions.all() if one.client_id == client_id]


def parked_tickets() -> Api:
    """A pool with one ticket, which was parked and released: its record says PARKED still."""
    api = with_pool()
    create(api, TARGET)
    api.clockwork.poll_all()
    pause(api, "pause")
    assert [one["outcome"] for one in Worker(api).take()] == ["gone"]
    go(api, 1_000)
    pause(api, "resume")
    go(api, 60_000)
    swept(api)
    go(api, 120_000)
    return api


def test_a_claim_that_stalls_while_its_ticket_is_parked_again_never_runs_unwatched() -> None:
    api = parked_tickets()
    clockwork, worker = api.clockwork, Worker(api)
    stalled: list[bool] = []
    real = clockwork.executions.save

    def save(changes: Sequence[tuple[Execution | None, Execution]]) -> Any:
        if not stalled and any(after.state is State.RUNNING for _, after in changes):
            # Its watch is sent, and its claim is not written yet.
            stalled.append(True)
            pause(api, "pause")
            go(api, 61_000)
            assert [one["outcome"] for one in Worker(api).take()] == ["gone"]
            go(api, 200_000)
        return real(changes)

    clockwork.executions.save = save  # type: ignore[method-assign]
    assert [one["outcome"] for one in worker.take()] == ["gone"]
    assert stalled
    go(api, 3_600_000)
    assert [one.state for one in of_client(api, "acme")] == [State.PARKED]


def test_the_watch_of_what_is_parked_raises_its_revision() -> None:
    api = parked_tickets()
    clockwork, (before,) = api.clockwork, of_client(api, "acme")
    saved: list[object] = []
    real = clockwork.executions.save

    def save(changes: Sequence[tuple[Execution | None, Execution]]) -> Any:
        if not saved and any(after.state is State.RUNNING for _, after in changes):
            saved.append(changes)
            go(api, 200_000)  # The watch comes before the claim.
        return real(changes)

    clockwork.executions.save = save  # type: ignore[method-assign]
    (start,) = Worker(api).take()
    (after,) = of_client(api, "acme")
    # The watch spoiled the claim: it was made anew, with a watch of its own.
    assert start["outcome"] == "start"
    assert after.revision == before.revision + 2


def test_a_row_without_a_note_gets_one_from_the_copy_that_finds_it() -> None:
    api = Api()
    clockwork = api.clockwork
    create(api, HOOK)
    pause(api, "pause")
    clockwork.poll_all()
    frozen: list[bool] = []
    put, note = clockwork.timeline.put_new, clockwork.regulation.note_parked

    def put_new(rows: Sequence[Row]) -> None:
        if not frozen and rows and rows[0].partition_id.startswith("parked/"):
            # Frozen between the note and the row: its client is resumed, and sweeps forget the note.
            frozen.append(True)
            pause(api, "resume")
            for _ in range(5):
                clockwork.clock.at += 60_000
                swept(api)
            clockwork.regulation.note_parked = refuse  # type: ignore[assignment,method-assign]
        put(rows)

    def refuse(*_: object) -> None:
        clockwork.regulation.note_parked = note  # type: ignore[method-assign]
        raise Unavailable("no answer")

    clockwork.timeline.put_new = put_new  # type: ignore[method-assign]
    assert clockwork.deliver_visible().failed_messages
    for _ in range(30):
        go(api, 60_000)
        swept(api)
    assert frozen
    assert [one.state for one in of_client(api, "acme")] == [State.SUCCEEDED]


def test_what_was_unparked_from_its_row_asks_for_no_row_and_delays_nobody() -> None:
    api = Api()
    clockwork = api.clockwork
    for _ in range(9):
        create(api, HOOK)
    pause(api, "pause")
    clockwork.poll_all()
    go(api, 1_000)
    assert {one.state for one in of_client(api, "acme")} == {State.PARKED}
    pause(api, "resume")
    clockwork.clock.at += 60_000
    swept(api)
    clockwork.clock.at += 10_000
    create(api, HOOK, "globex", BOB)
    clockwork.poll_all()
    asked: list[object] = []
    find = clockwork.timeline.find

    def slow(refs: Sequence[tuple[str, str]]) -> Any:
        asked.append(refs)
        clockwork.clock.at += 4_000
        return find(refs)

    clockwork.timeline.find = slow  # type: ignore[assignment,method-assign]
    began_at = clockwork.clock.at
    clockwork.deliver_visible()
    assert asked == []
    assert clockwork.clock.at == began_at
    assert [one.state for one in of_client(api, "globex")] == [State.SUCCEEDED]
    assert {one.state for one in of_client(api, "acme")} == {State.SUCCEEDED}
