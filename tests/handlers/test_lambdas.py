"""Each Lambda on the events that AWS sends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Outcome, State
from clockwork.domain.lifecycle.parking import parked_row, parking_of
from clockwork.domain.releases import Delivery
from clockwork.flows.containment import InvocationFailed
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.handlers.handlers import CONTEXT, Api, job_body, make_handler
from tests.support.events import LambdaContext, http_event, ordered_event, poller_event, scheduled_event, sqs_event
from tests.support.examples import NOW, failure, occurrence, release


def receive(clockwork: MemoryClockwork) -> dict[str, Any]:
    """The event that Lambda's event source makes of the release queue's messages once pollers have run."""
    clockwork.poll_all()
    return sqs_event([(message.message_id, message.body) for message in clockwork.queue.receive()])


def test_a_job_goes_through_all_five_lambdas() -> None:
    api = Api()
    clockwork = api.clockwork
    handlers = {
        moment: make_handler(moment, clockwork.world) for moment in ("ticker", "poller", "deliverer", "sweeper")
    }
    created = api.create(schedule={"delaySeconds": 65}).body
    assert created["state"] == "SCHEDULED"

    assert handlers["ticker"](scheduled_event(), CONTEXT) == {"started": 4, "failed": 0}
    released = [handlers["poller"](poller_event(shard), CONTEXT) for shard in clockwork.invoker.asked]
    assert sum(answer["released"] for answer in released) == 1
    assert {answer["outcome"] for answer in released} == {"dry"}
    assert api.call("GET", f"/v1/jobs/{created['jobId']}").body["state"] == "RELEASED"

    clockwork.clock.advance(65_000)
    assert handlers["deliverer"](receive(clockwork), CONTEXT) == {"batchItemFailures": []}
    (delivery,) = clockwork.targets.delivered
    assert delivery.occurrence.payload.body == b'{"n":1}'
    shown = api.call("GET", f"/v1/jobs/{created['jobId']}").body
    assert (shown["state"], shown["lastExecution"]["attempts"][0]["state"]) == ("SUCCEEDED", "SUCCEEDED")
    assert set(handlers["sweeper"](scheduled_event(), CONTEXT).values()) == {0}


def test_only_the_messages_that_failed_come_back() -> None:
    api = Api()
    for n in range(3):
        api.create(schedule={"delaySeconds": 0}, payload=n)
    event = receive(api.clockwork)
    event["Records"][1]["body"] = "not of ours"
    answer = make_handler("deliverer", api.clockwork.world)(event, CONTEXT)
    assert answer == {"batchItemFailures": [{"itemIdentifier": event["Records"][1]["messageId"]}]}
    assert len(api.clockwork.targets.delivered) == 2


def test_the_ordered_queue_gets_a_failed_head_and_its_followers_back_and_the_head_is_tried_again_first() -> None:
    api = Api()
    clockwork = api.clockwork
    outcomes = iter([failure(), *[Outcome(State.SUCCEEDED, NOW, NOW, status_code=200)] * 3])
    clockwork.targets._answer = lambda _: next(outcomes)
    for number in (1, 2):
        api.create(schedule={"delaySeconds": 0}, payload=number, orderingKey="k", sequence=number)
    deliverer = make_handler("deliverer", clockwork.world)

    def receive_ordered() -> dict[str, Any]:
        received = clockwork.ordered_queue.receive()
        return ordered_event([(m.message_id, m.body, m.receipt, m.group, m.receive_count) for m in received])

    clockwork.poll_all()
    event = receive_ordered()
    failed = deliverer(event, CONTEXT)["batchItemFailures"]
    assert failed == [{"itemIdentifier": record["messageId"]} for record in event["Records"]]
    assert len(failed) == 2
    clockwork.clock.advance(10_000)
    assert deliverer(receive_ordered(), CONTEXT) == {"batchItemFailures": []}
    assert [one.occurrence.payload.body for one in clockwork.targets.delivered] == [b"1", b"1", b"2"]


@pytest.mark.parametrize("succeeds", [True, False])
def test_a_poller_takes_an_ordered_shard_over_only_if_it_is_asked_to_succeed(succeeds: bool) -> None:
    clockwork = Api().clockwork
    clockwork.poll_all()
    now = clockwork.clock.at
    clockwork.shards.acquire("o000", "before", now, now + 3_000, "0")
    event = {"partitionId": "o000", "succeeds": True} if succeeds else poller_event("o000")
    assert make_handler("poller", clockwork.world)(event, CONTEXT)["outcome"] == ("dry" if succeeds else "no_lease")


def test_a_refusal_of_the_target_is_a_retry_rather_than_a_failed_message() -> None:
    api = Api()
    api.clockwork.targets._answer = lambda _: failure(status_code=500)
    job_id = api.create(schedule={"delaySeconds": 0}).body["jobId"]
    assert make_handler("deliverer", api.clockwork.world)(receive(api.clockwork), CONTEXT) == {"batchItemFailures": []}
    shown = api.call("GET", f"/v1/jobs/{job_id}/executions").body["items"][0]
    assert (shown["state"], shown["attempts"][0]["statusCode"]) == ("FAILED", 500)
    assert "nextAttemptAt" in shown


def test_nothing_is_started_that_the_invocation_has_no_time_for() -> None:
    api = Api()
    api.create(schedule={"delaySeconds": 0})
    out_of_time = LambdaContext(remaining_ms=10_000)
    assert make_handler("deliverer", api.clockwork.world)(receive(api.clockwork), out_of_time) == {
        "batchItemFailures": []
    }
    assert api.clockwork.targets.delivered == []
    # The deliverer sent it again as a new message, beside the old one, which is acknowledged.
    assert len(api.clockwork.queue.messages) == 2


def test_a_poller_that_finds_its_shard_leased_leaves_it() -> None:
    clockwork = MemoryClockwork()
    poller = make_handler("poller", clockwork.world)
    clockwork.shards.register("p000")
    assert clockwork.shards.acquire("p000", "another", clockwork.clock.now(), clockwork.clock.now() + 20_000, "1")
    assert poller(poller_event("p000"), CONTEXT) == {"partitionId": "p000", "outcome": "no_lease", "released": 0}


def test_a_pollers_event_without_its_shard_is_an_error() -> None:
    with pytest.raises(InvocationFailed, match="KeyError"):
        make_handler("poller", MemoryClockwork().world)(scheduled_event(), CONTEXT)


def test_the_sweeper_releases_what_lies_in_the_dead_letter_queue() -> None:
    api = Api(max_receive_count=1)
    api.create(schedule={"delaySeconds": 0})
    clockwork = api.clockwork
    clockwork.poll_all()
    for _ in range(2):
        clockwork.queue.receive()
        clockwork.clock.advance(clockwork.settings.visibility_seconds * 1000)
    assert len(clockwork.queue.dead) == 1
    answer = make_handler("sweeper", clockwork.world)(scheduled_event(), CONTEXT)
    assert answer["DeadLettersReleased"] == 1
    assert make_handler("deliverer", clockwork.world)(receive(clockwork), CONTEXT) == {"batchItemFailures": []}
    assert len(clockwork.targets.delivered) == 1


def test_the_executions_of_a_job_come_page_by_page_until_there_are_no_more() -> None:
    api = Api()
    job_id = api.create(schedule={"delaySeconds": 0}).body["jobId"]
    path = f"/v1/jobs/{job_id}/executions"
    assert api.call("GET", path).body == {"items": []}
    make_handler("deliverer", api.clockwork.world)(receive(api.clockwork), CONTEXT)
    page = api.call("GET", path, query={"limit": "1"}).body
    assert len(page["items"]) == 1
    assert "nextToken" not in page


def test_an_attempt_under_way_is_shown() -> None:
    api = Api()
    job_id = api.create(schedule={"delaySeconds": 0}).body["jobId"]
    seen: list[dict[str, Any]] = []

    def look(_: Delivery) -> Outcome:
        seen.append(api.call("GET", f"/v1/jobs/{job_id}").body)
        seen.append(api.call("DELETE", f"/v1/jobs/{job_id}").body)
        return Outcome(State.SUCCEEDED, NOW, NOW, status_code=200)

    api.clockwork.targets._answer = look
    make_handler("deliverer", api.clockwork.world)(receive(api.clockwork), CONTEXT)
    assert seen[0]["state"] == "RUNNING"
    assert seen[0]["lastExecution"]["attempts"] == [
        {"number": 1, "state": "RUNNING", "startedAt": "2023-11-14T22:13:20.000Z", "latenessMs": 0}
    ]
    assert (seen[1]["result"], len(seen[1]["executions"])) == ("running", 1)
    assert api.call("DELETE", f"/v1/jobs/{job_id}").body["result"] == "too_late"


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/job", "/v1/jobs/a/b/c", "/v1/jobs/a%2Fb", "/v2/jobs", "/v1/jobs/\x00"]
)
def test_a_path_of_no_route_is_404(path: str) -> None:
    answer = Api().call("GET", path)
    assert (answer.status, answer.content_type) == (404, "application/problem+json")


@pytest.mark.parametrize(
    ("method", "path", "allowed", "detail"),
    [
        ("PUT", "/v1/jobs", "GET, POST", "this path takes GET, POST alone; there is PUT /v1/jobs/{jobId}"),
        ("PATCH", "/v1/clients/acme", "DELETE, GET, PUT", "this path takes DELETE, GET, PUT alone"),
        ("GET", "/schedule", "DELETE, POST", "this path takes DELETE, POST alone"),
    ],
)
def test_a_path_with_another_method_is_405_and_names_the_methods(
    method: str, path: str, allowed: str, detail: str
) -> None:
    answer = Api().call(method, path, {})
    assert (answer.status, answer.content_type) == (405, "application/problem+json")
    assert (answer.headers["Allow"], answer.body["detail"]) == (allowed, detail)


def test_a_body_may_come_as_base64() -> None:
    api = Api()
    event = http_event(
        "POST",
        "/v1/jobs",
        '{"schedule":{"delaySeconds":0},"target":{"type":"http","url":"https://example.com/"},"payload":"ü"}'.encode(),
    )
    answer = api.send(event)
    assert answer.status == 201
    assert api.call("GET", f"/v1/jobs/{answer.body['jobId']}").body["payload"] == "ü"


def test_the_stores_being_away_is_503_and_nothing_else_of_it() -> None:
    api = Api()
    for method in ("put", "find"):

        def away(*_: Any) -> Any:
            raise Unavailable("table Clockwork-Timeline-7 in us-east-1 throttles")

        setattr(api.clockwork.timeline, method, away)
    for answer in (
        api.create(),
        api.call("GET", "/v1/jobs/acDAwMy8xNzAwMDAwMDMwMDAwIzBpZFdJVVVVbUoxc3dBaXBXbzdQNEwvMA"),
    ):
        assert (answer.status, answer.content_type) == (503, "application/problem+json")
        assert "Timeline" not in answer.text
    assert job_body()["target"]["url"] not in answer.text


def test_settings_of_the_account_allow_longer_timeouts() -> None:
    api = Api()
    assert Settings.for_account().target_timeout_seconds == 30
    api_of_account = Api(target_timeout_seconds=30)
    body = {"type": "http", "url": "https://example.com/", "timeoutSeconds": 30}
    assert (api.create(target=body).status, api_of_account.create(target=body).status) == (422, 201)


@pytest.mark.parametrize("part", ["dead_letters", "jobs", "regulation", "shards"])
def test_whatever_ends_one_repair_of_a_sweep_the_others_go_on(
    part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clockwork = MemoryClockwork()
    begun: list[str] = []
    parts = {"dead_letters": "receive", "jobs": "scan", "regulation": "parked", "shards": "list"}
    for port, method in parts.items():
        monkeypatch.setattr(getattr(clockwork.world, port), method, _begun(begun, port, fails=port == part))
    with pytest.raises(InvocationFailed, match="OSError"):
        make_handler("sweeper", clockwork.world)(scheduled_event(), CONTEXT)
    assert set(begun) == set(parts)
    assert '"Sweeps":1' in capsys.readouterr().out.replace(" ", "")


def test_a_resume_sweeps_its_client_at_once_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    clockwork = MemoryClockwork()
    for client_id in ("acme", "other"):
        clockwork.timeline.put_new([parked_row(release(occurrence=occurrence(client_id=client_id)))])
        clockwork.regulation.note_parked(client_id, clockwork.clock.at)
    swept = make_handler("sweeper", clockwork.world)({"clientId": "acme"}, CONTEXT)
    assert swept["ParkedDiscarded"] == 0
    assert not clockwork.timeline._rows[parking_of("acme")]
    assert clockwork.timeline._rows[parking_of("other")]
    # Only the sweep of everything shows that sweeps go on.
    assert "Sweeps" not in swept
    assert '"Sweeps"' not in capsys.readouterr().out


def _begun(begun: list[str], port: str, *, fails: bool) -> Callable[..., Any]:
    def call(*_: object) -> Any:
        begun.append(port)
        if fails:
            raise OSError(port)
        return ()

    return call
