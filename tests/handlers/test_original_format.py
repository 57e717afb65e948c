"""The original Clockwork's wire format, line by line, and regression tests for defects of the original."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.clients import Client
from clockwork.domain.executions import Outcome, State
from clockwork.domain.ids import NamedJobId
from clockwork.domain.releases import Delivery
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ACME, ALICE, NOW

URL = "https://example.com/hook"
KAFKA = {"kafka_release_queue_url": "https://sqs/kafka"}
TOPICS = Client(client_id="acme", principals=(ALICE,), allowed_topics=("orders.*", "orderTopic"))


def body(**changes: Any) -> dict[str, Any]:
    """The body of a valid POST, due in ten seconds."""
    values = {
        "clientId": "acme",
        "scheduleKey": "order1-create",
        "orderingKey": "order1",
        "taskData": "payload",
        "delivery": {"url": URL},
        "scheduleTime": NOW + 10_000,
        **changes,
    }
    return {name: value for name, value in values.items() if value is not None}


def post(api: Api, **changes: Any) -> Answer:
    return api.call("POST", "/schedule", body(**changes))


def delete(api: Api, schedule_key: str = "order1-create", client_id: str = "acme") -> Answer:
    return api.call("DELETE", "/schedule", {"clientId": client_id, "scheduleKey": schedule_key})


def said(answer: Answer) -> tuple[int, str, str]:
    return answer.status, answer.content_type, answer.text


def run(api: Api, ms: int) -> list[str]:
    """Let time pass; returns all payloads delivered by then."""
    api.clockwork.run_until(api.clockwork.clock.at + ms)
    return [delivery.occurrence.payload.body.decode() for delivery in api.clockwork.targets.delivered]


def refused(answer: Answer, *words: str) -> None:
    """Assert that the answer is a 400 whose problem document contains these words."""
    assert (answer.status, answer.content_type) == (400, "application/problem+json")
    assert all(word in answer.text for word in words), answer.text


def test_a_schedule_is_answered_with_its_ordering_key_and_delivered_exactly_at_its_time() -> None:
    api = Api()
    assert said(post(api, taskData='{"a": 1}  \u00e4')) == (200, "text/plain", "order1")
    assert run(api, 9_999) == []
    assert run(api, 1_001) == ['{"a": 1}  \u00e4']
    (delivery,) = api.clockwork.targets.delivered
    assert (delivery.occurrence.ordering_key, delivery.occurrence.record) == ("order1", "full")


def test_the_job_is_a_named_one_that_the_other_routes_show() -> None:
    api = Api()
    post(api)
    shown = api.call("GET", f"/v1/jobs/{NamedJobId('acme', 'order1-create', 1).job_id}").body
    assert (shown["jobKey"], shown["orderingKey"], shown["payload"]) == ("order1-create", "order1", "payload")
    assert shown["target"]["url"] == URL
    assert [one["jobKey"] for one in api.call("GET", "/v1/jobs").body["items"]] == ["order1-create"]


@pytest.mark.parametrize("ago_ms", [1, 86_400_001, NOW, NOW + 10**15])
def test_a_time_in_the_past_however_old_is_now(ago_ms: int) -> None:
    api = Api()
    assert post(api, scheduleTime=NOW - ago_ms).status == 200
    assert run(api, 1_000) == ["payload"]


def test_the_same_body_again_is_the_same_job() -> None:
    api = Api()
    for _ in range(3):
        assert said(post(api)) == (200, "text/plain", "order1")
    assert run(api, 30_000) == ["payload"]
    # The same holds for a client that lost the answer and repeats after the delivery.
    assert post(api).status == 200
    assert run(api, 30_000) == ["payload"]


@pytest.mark.parametrize("changes", [{"scheduleTime": NOW + 20_000}, {"taskData": "other"}, {"orderingKey": "order2"}])
def test_another_body_under_a_key_that_is_taken_names_the_existing_job(changes: dict[str, Any]) -> None:
    api = Api()
    post(api)
    refused(post(api, **changes), NamedJobId("acme", "order1-create", 1).job_id)
    assert run(api, 60_000) == ["payload"]


def test_a_key_may_be_used_again_once_its_job_is_delivered() -> None:
    api = Api()
    post(api)
    run(api, 20_000)
    assert post(api, taskData="second", scheduleTime=NOW + 40_000).status == 200
    assert run(api, 30_000) == ["payload", "second"]


def test_a_key_may_be_used_again_with_the_same_body_when_a_repeat_is_no_longer_meant() -> None:
    api = Api()
    post(api)
    run(api, 86_500_000)
    assert post(api).status == 200
    assert run(api, 5_000) == ["payload", "payload"]


def test_a_key_may_be_used_again_once_its_job_is_cancelled() -> None:
    api = Api()
    post(api)
    assert delete(api).status == 200
    assert post(api).status == 200
    assert run(api, 30_000) == ["payload"]


def test_a_cancel_is_answered_with_the_schedule_key_and_nothing_is_delivered() -> None:
    api = Api()
    post(api)
    assert said(delete(api)) == (200, "text/plain", "order1-create")
    assert run(api, 60_000) == []


def test_a_cancel_of_what_is_unknown_cancelled_or_delivered_is_refused() -> None:
    api = Api()
    refused(delete(api), "there is no job")
    post(api)
    delete(api)
    refused(delete(api), "cancelled already")
    post(api)
    run(api, 20_000)
    refused(delete(api), "delivered")


def test_a_cancel_while_an_attempt_is_under_way_does_not_claim_to_have_come_in_time() -> None:
    api = Api()
    answers: list[Answer] = []

    def answer(delivery: Delivery) -> Outcome:
        answers.append(delete(api))
        return Outcome(State.SUCCEEDED, api.clockwork.clock.at, api.clockwork.clock.at, status_code=200)

    api.clockwork.targets._answer = answer
    post(api)
    run(api, 20_000)
    refused(answers[0], "under way")


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        *(
            ({name: None}, f"/{name}")
            for name in ("scheduleKey", "orderingKey", "taskData", "delivery", "scheduleTime")
        ),
        *(({name: ""}, f"/{name}") for name in ("clientId", "scheduleKey", "orderingKey", "taskData")),
        *(({name: 1}, f"/{name}") for name in ("scheduleKey", "orderingKey", "taskData", "delivery")),
        *(({"scheduleTime": value}, "/scheduleTime") for value in ("1", 1.5, True, NOW + 316_000_000_000)),
        ({"scheduleKey": "a\u0001"}, "/scheduleKey"),
        ({"taskData": "x" * 262_145}, "/taskData"),
        ({"delivery": {}}, "/delivery"),
        ({"delivery": {"topic": "t", "url": URL}}, "/delivery"),
        ({"delivery": {"url": "http://127.0.0.1/"}}, "/delivery/url"),
        ({"delivery": {"url": URL, "more": 1}}, "/delivery/more"),
        ({"more": 1}, "/more"),
    ],
)
def test_whatever_is_wrong_with_a_request_is_400_and_says_where(changes: dict[str, Any], pointer: str) -> None:
    api = Api()
    answer = post(api, **changes)
    if pointer == "/clientId":
        assert answer.status == 403  # a client that the caller may not act for: 403, as on every route
        return
    refused(answer)
    assert pointer in answer.pointers
    assert api.writes == []


@pytest.mark.parametrize("text", ["", "{", "[]", "nonsense", '{"clientId": "acme", "clientId": "acme"}', "x" * 600_000])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_what_is_no_json_object_is_400(method: str, text: str) -> None:
    refused(Api().call(method, "/schedule", text))


def test_a_topic_without_kafka_is_400_and_says_so() -> None:
    refused(post(Api(), delivery={"topic": "orderTopic"}), "not supported by this deployment")


def test_a_topic_is_written_to_with_the_ordering_key_as_the_key_of_its_message() -> None:
    api = Api(**KAFKA)
    api.clockwork.clients.put(TOPICS)
    assert post(api, delivery={"topic": "orderTopic"}).status == 200
    run(api, 20_000)
    (delivery,) = api.clockwork.targets.delivered
    target: Any = delivery.occurrence.target
    assert (target.topic, target.key) == ("orderTopic", "order1")
    refused(post(api, scheduleKey="other", delivery={"topic": "secrets"}), "allowedTopics")


# Defects of the original.


def test_two_jobs_on_one_millisecond_are_both_delivered() -> None:
    api = Api()
    for number in range(5):
        assert post(api, scheduleKey=f"k{number}", taskData=f"{number}").status == 200
    assert sorted(run(api, 20_000)) == ["0", "1", "2", "3", "4"]


def test_a_create_that_is_due_at_once_leaves_a_pending_job_of_its_millisecond_alone() -> None:
    api = Api()
    post(api, scheduleKey="pending", taskData="pending")
    api.clockwork.clock.at = NOW + 10_000
    post(api, scheduleKey="soon", taskData="soon")
    assert sorted(run(api, 20_000)) == ["pending", "soon"]


def test_nothing_is_delivered_early() -> None:
    api = Api()
    starts: dict[str, int] = {}

    def answer(delivery: Delivery) -> Outcome:
        starts[delivery.execution_id] = api.clockwork.clock.at - delivery.occurrence.due_at
        return Outcome(State.SUCCEEDED, api.clockwork.clock.at, api.clockwork.clock.at, status_code=200)

    api.clockwork.targets._answer = answer
    for number in range(50):
        post(api, scheduleKey=f"k{number}", orderingKey=f"o{number % 7}", scheduleTime=NOW + number * 777)
    run(api, 60_000)
    assert len(starts) == 50
    assert all(0 <= late <= 100 for late in starts.values())


def test_a_target_that_always_fails_stops_neither_its_shard_nor_other_keys() -> None:
    api = Api()

    def answer(delivery: Delivery) -> Outcome:
        fails = delivery.occurrence.payload.body == b"bad"
        state = State.FAILED if fails else State.SUCCEEDED
        return Outcome(state, api.clockwork.clock.at, api.clockwork.clock.at, error="down" if fails else None)

    api.clockwork.targets._answer = answer
    post(api, scheduleKey="bad", orderingKey="bad", taskData="bad", scheduleTime=NOW + 1_000)
    for number in range(20):
        post(api, scheduleKey=f"k{number}", orderingKey=f"o{number}", taskData="good", scheduleTime=NOW + 2_000)
    assert run(api, 4_000).count("good") == 20


def test_client_and_key_are_no_text_with_a_dash_between() -> None:
    api = Api()
    api.clockwork.clients.put(Client(client_id="a", principals=(ALICE,)))
    api.clockwork.clients.put(Client(client_id="a-b", principals=(ALICE,)))
    api.clockwork.clients.put(ACME)
    assert post(api, clientId="a-b", scheduleKey="c", taskData="first").status == 200
    assert post(api, clientId="a", scheduleKey="b-c", taskData="second").status == 200
    assert delete(api, "b-c", "a").status == 200
    assert run(api, 20_000) == ["first"]


def test_a_malformed_idempotency_key_is_refused_by_both_routes() -> None:
    api = Api()
    assert api.call("POST", "/schedule", body()).status == 200
    cancel, headers = {"clientId": "acme", "scheduleKey": "order1-create"}, {"Idempotency-Key": "a b"}
    for method, sent in (("POST", body(scheduleKey="other")), ("DELETE", cancel)):
        answer = api.call(method, "/schedule", sent, headers=headers)
        assert (answer.status, answer.pointers) == (400, [""])
        assert answer.details == ["the Idempotency-Key header must be 1-255 visible ASCII characters"]
        assert api.writes == []
    assert api.call("DELETE", "/schedule", cancel, headers={"Idempotency-Key": "a"}).status == 200
