"""GET /v1/clients/{clientId}/activity: the counts of all environments, which cost no job a write of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from clockwork.bootstrap import App, noting
from clockwork.domain.errors import Unavailable, Undecodable
from clockwork.domain.executions import State
from clockwork.domain.instants import to_text
from clockwork.domain.requests.activity import HOUR_MS, MINUTE_MS, Counts, Tally, part_of
from clockwork.flows.activity import read
from clockwork.flows.activity.note import NOTE_MS, note_counts
from clockwork.flows.containment import InvocationFailed
from tests.handlers.handlers import CONTEXT, Api, job_body, make_handler
from tests.handlers.test_changes_of_named_jobs import failing
from tests.handlers.test_named_api import create, run
from tests.support.events import sqs_event
from tests.support.examples import ACME, ADMIN, BOB

PATH = "/v1/clients/acme/activity"


def look(api: Api, **query: str) -> Any:
    answer = api.call("GET", PATH, query=query)
    assert answer.status == 200, answer.text
    return answer.body


def total(found: Any, name: str) -> int:
    return sum(one[name] for one in found["items"])


def noted(api: Api, at: int, by: str = "another", **clients: Tally) -> None:
    for client_id, tally in clients.items():
        api.clockwork.activity.note(
            Counts(
                minute_at=at - at % MINUTE_MS,
                part=part_of(client_id),
                noted_at=at,
                by=by,
                clients={client_id: tally, "initech": Tally(started=9)},
            )
        )


@pytest.mark.parametrize("record", ["full", "none"])
def test_anonymous_jobs_are_counted_at_each_record_level(record: str) -> None:
    api = Api()
    for second in (1, 2, 70):
        api.create(schedule={"delaySeconds": second}, record=record)
    run(api, 90)
    found = look(api)
    assert [(one["started"], one["succeeded"], one["p50Ms"]) for one in found["items"]] == [(2, 2, 10), (1, 1, 10)]
    assert found["step"] == 60
    begin = api.clockwork.clock.at - 90_000
    assert found["items"][0]["at"] == to_text(begin - begin % MINUTE_MS)


@pytest.mark.parametrize("record", ["full", "none"])
def test_failures_and_deaths_are_told_apart(record: str) -> None:
    api = Api()
    failing(api)
    policy = {"maxAttempts": 3, "initialSeconds": 1, "jitter": "none"}
    api.create(schedule={"delaySeconds": 1}, record=record, retryPolicy=policy)
    run(api, 30)
    found = look(api, step="3600")
    assert {name: total(found, name) for name in ("started", "succeeded", "failed", "dead")} == {
        "started": 1,
        "succeeded": 0,
        "failed": 3,
        "dead": 1,
    }


def test_what_a_pause_skips_and_a_cancel_ends_is_counted() -> None:
    api = Api()
    job_id = create(api, "often", {"every": {"seconds": 10}, "catchUp": "none"}).body["jobId"]
    run(api, 15)
    api.call("POST", f"/v1/jobs/{job_id}/pause", {})
    run(api, 60)
    api.call("POST", f"/v1/jobs/{job_id}/resume", {})
    run(api, 20)
    lone = api.create(schedule={"delaySeconds": 60}).body["jobId"]
    run(api, 1)
    api.call("DELETE", f"/v1/jobs/{lone}")
    found = look(api, step="3600")
    assert total(found, "skipped") >= 5
    assert total(found, "cancelled") == 1
    assert total(found, "succeeded") == 3


def test_the_notes_of_all_environments_are_summed_up_for_the_client_alone() -> None:
    api = Api()
    now = api.clockwork.clock.at
    noted(api, now - 61_000, acme=Tally(started=2, late={5: 2}, waited={"cap": 7, "a_later_cause": 9}))
    noted(api, now - 61_000, by="a third", acme=Tally(started=1, late={9: 1}), globex=Tally(started=50))
    (one,) = look(api)["items"]
    assert (one["started"], one["p50Ms"], one["p99Ms"], one["waited"]) == (3, 150, 750, {"cap": 7})
    other = api.call("GET", "/v1/clients/globex/activity", caller=ADMIN).body
    assert total(other, "started") == 50
    assert api.call("GET", PATH, caller=BOB).status == 403
    assert api.call("GET", "/v1/clients/nobody/activity", caller=ADMIN).status == 404


def test_a_time_and_a_step_are_chosen() -> None:
    api = Api()
    now = api.clockwork.clock.at
    for minutes in range(0, 180, 20):
        noted(api, now - minutes * MINUTE_MS, by=str(minutes), acme=Tally(started=1))
    assert total(look(api), "started") == 4
    whole = look(api, step="3600", **{"from": to_text(now - 170 * MINUTE_MS), "to": to_text(now)})
    assert total(whole, "started") == 9
    assert len(whole["items"]) < 9
    some = look(api, **{"from": to_text(now - 65 * MINUTE_MS), "to": to_text(now - 35 * MINUTE_MS)})
    assert total(some, "started") == 2


@pytest.mark.parametrize(
    "query",
    [
        {"from": "2023-11-13T22:13:19Z", "to": "2023-11-14T22:13:20Z"},
        {"from": "2023-11-14T22:13:21Z"},
        {"to": "1970-01-01T00:30:00Z"},
        {"from": "yesterday"},
        *({"step": step} for step in ("0", "59", "90", "3660", "6e1", "-60", "")),
    ],
)
def test_a_time_of_more_than_a_day_or_a_strange_step_is_refused(query: dict[str, str]) -> None:
    answer = Api().call("GET", PATH, query=query)
    assert answer.status == 422
    assert answer.pointers


def test_another_client_that_had_the_id_before_is_not_told() -> None:
    api = Api()
    now = api.clockwork.clock.at
    noted(api, now - 5 * MINUTE_MS, acme=Tally(started=4))
    api.clockwork.clients.put(msgspec.structs.replace(ACME, since_at=now - 4 * MINUTE_MS - 1))
    noted(api, now - 3 * MINUTE_MS, acme=Tally(started=1))
    for step in ("60", "3600"):
        assert total(look(api, step=step), "started") == 1


def test_more_notes_than_an_answer_reads_end_it_and_it_says_from_when_on_it_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read, "MOST_NOTES", 3)
    api = Api()
    now = api.clockwork.clock.at
    for minutes in range(2 * 60):
        noted(api, now - minutes * MINUTE_MS, acme=Tally(started=1))
    found = look(api, **{"from": to_text(now - 2 * HOUR_MS)})
    assert total(found, "started") == 3
    assert found["completeFrom"] == to_text(now - now % MINUTE_MS - MINUTE_MS)


def test_a_deliverer_notes_its_counts_and_goes_on_without_a_table_that_gives_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = Api()
    api.create(schedule={"delaySeconds": 1})
    api.clockwork.poll_all()
    api.clockwork.clock.at += 1_000

    def fails(_: Counts) -> None:
        raise Unavailable("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(api.clockwork.world.activity, "note", fails)
        handle = make_handler("deliverer", api.clockwork.world)
        assert handle(sqs_event([(one.message_id, one.body) for one in api.clockwork.queue.receive(10)]), CONTEXT) == {
            "batchItemFailures": []
        }
    assert look(api)["items"] == [], "what was not noted is gone"


def test_a_deliverer_notes_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    handle = make_handler("deliverer", api.clockwork.world)
    notes = list[Counts]()
    monkeypatch.setattr(api.clockwork.activity, "note", notes.append)
    for _ in range(40):
        api.create(schedule={"delaySeconds": 1})
        api.clockwork.poll_all()
        api.clockwork.clock.at += 2_000
        handle(sqs_event([(one.message_id, one.body) for one in api.clockwork.queue.receive(10)]), CONTEXT)
    found = Counter[int]()
    for note in notes:
        found[note.noted_at] += note.clients["acme"].succeeded
    assert list(found.values()) == [1, 3, 6, 12]


def test_notes_that_cannot_be_read_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    now = api.clockwork.clock.at
    noted(api, now, acme=Tally(started=1))
    whole = api.clockwork.activity.list

    def damaged(part: int, hour_at: int, from_at: int, limit: int) -> Any:
        found = whole(part, hour_at, from_at, limit)
        return [*found, Undecodable("damaged")] if hour_at == now - now % HOUR_MS else found

    monkeypatch.setattr(api.clockwork.activity, "list", damaged)
    found = look(api)
    assert (found["unreadable"], total(found, "started")) == (1, 1)


def test_a_dry_run_notes_what_was_counted_before() -> None:
    api = Api()
    notes = api.clockwork.activity._hours
    body = job_body(clientId="acme", jobKey="tick", schedule={"every": {"seconds": 60}})
    job_id = api.call("POST", "/v1/jobs", body).body["jobId"]
    api.clockwork.world.environment.counters.of("acme", api.clockwork.clock.at).add_end(State.SUCCEEDED)
    assert not notes
    assert api.call("POST", f"/v1/jobs/{job_id}/pause", {}, query={"dryRun": "true"}).status == 200
    assert len(notes) == 1
    assert api.clockwork.world.environment.faults.take() == 0


def test_counts_wait_where_an_invocation_has_no_time_for_a_store_that_answers_late() -> None:
    made = Api().clockwork
    made.world.environment.counters.of("acme", made.clock.now()).add_end(State.SUCCEEDED)
    note_counts(made.world, made.clock.now() + NOTE_MS - 1)
    assert made.world.environment.counters.left(made.clock.now(), ""), "they wait for the next invocation"
    note_counts(made.world, made.clock.now() + NOTE_MS)
    assert not made.world.environment.counters.left(made.clock.now(), "")


@pytest.mark.parametrize("fails", [False, True])
def test_counts_are_noted_behind_every_invocation_also_one_that_fails(fails: bool) -> None:
    made = Api().clockwork
    notes = made.activity._hours

    def handle(_event: dict[str, Any], _context: Any) -> str:
        made.world.environment.counters.of("acme", made.clock.now()).add_end(State.SUCCEEDED)
        if fails:
            raise ValueError("as it was")
        return "answered"

    noted_behind = noting(App(made.world), handle)
    if fails:
        with pytest.raises(InvocationFailed, match="ValueError"):
            noted_behind({}, CONTEXT)
    else:
        assert noted_behind({}, CONTEXT) == "answered"
    assert len(notes) == 1
