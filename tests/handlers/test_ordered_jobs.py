"""Ordered jobs at the edge: their required fields, their representation, and their shards."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.keys import is_ordered
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.sns import SnsTarget
from clockwork.targets.sqs import SqsTarget
from tests.handlers.handlers import Api, job_body

QUEUE = "arn:aws:sqs:us-east-1:123456789012:orders"


@pytest.mark.parametrize("job_key", [None, "order-17-reminder"])
def test_an_ordered_job_is_shown_with_its_key_and_place(job_key: str | None) -> None:
    api = Api()
    named = {} if job_key is None else {"jobKey": job_key}
    job_id = api.create(orderingKey="order-17", sequence=3, **named).body["jobId"]
    shown = api.call("GET", f"/v1/jobs/{job_id}").body
    assert (shown["orderingKey"], shown["sequence"]) == ("order-17", 3)
    assert shown["retryPolicy"]["maxAgeSeconds"] == 43_200


@pytest.mark.parametrize("job_key", [None, "order-17-reminder"])
def test_with_another_number_of_ordered_shards_it_is_refused_in_words_and_nothing_is_put(job_key: str | None) -> None:
    api = Api()
    api.clockwork.shards._ordered_count = 5
    named = {} if job_key is None else {"jobKey": job_key}
    answer = api.create(orderingKey="order-17", **named)
    assert answer.status == 503
    assert answer.body["detail"].startswith("the setting ordered_shards is 2, but this stack was made with 5")
    assert not [call for call in api.calls if call.startswith("timeline.put")]
    assert api.create(**named).status == 201
    assert [call for call in api.calls if call.startswith("timeline.put")]


def test_any_other_job_is_shown_without() -> None:
    api = Api()
    job_id = api.create().body["jobId"]
    assert {"orderingKey", "sequence"} & set(api.call("GET", f"/v1/jobs/{job_id}").body) == set()


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"orderingKey": ""}, "/orderingKey"),
        ({"orderingKey": "k" * 256}, "/orderingKey"),
        ({"orderingKey": "k", "record": "none"}, "/orderingKey"),
        ({"orderingKey": "k", "retryPolicy": {"maxAgeSeconds": 43_201}}, "/retryPolicy/maxAgeSeconds"),
        ({"sequence": 1}, "/sequence"),
        ({"orderingKey": "k", "sequence": -1}, "/sequence"),
        ({"orderingKey": "k", "sequence": 2**53 + 1}, "/sequence"),
        ({"orderingKey": "k", "sequence": 1.5}, "/sequence"),
    ],
)
def test_what_cannot_be_kept_in_order_is_refused(changes: dict[str, Any], pointer: str) -> None:
    answer = Api().create(**changes)
    assert (answer.status, answer.pointers) == (422, [pointer])


@pytest.mark.parametrize(
    "changes",
    [
        {"orderingKey": "k" * 255, "sequence": 2**53},
        {"orderingKey": "k", "retryPolicy": {"maxAgeSeconds": 43_200}},
        {"orderingKey": "k", "retryPolicy": {"maxAttempts": 3}},
        {"orderingKey": "k", "jobKey": "hourly", "schedule": {"every": {"seconds": 3_600}}},
    ],
)
def test_bounds_are_taken_and_a_schedule_may_recur(changes: dict[str, Any]) -> None:
    assert Api().create(**changes).status == 201


def test_jobs_of_a_batch_go_to_the_shards_of_their_keys_each_in_a_row_of_its_own() -> None:
    api = Api()
    jobs = [job_body(**({"orderingKey": f"k{n % 3}"} if n % 2 else {})) for n in range(12)]
    results = api.call("POST", "/v1/jobs/batch", {"jobs": jobs}).body["results"]
    assert {one["status"] for one in results} == {201}
    places = [place for place in api.clockwork.shards.list() if is_ordered(place)]
    rows = [row for place in places for row in api.clockwork.timeline.read(place, "0", "~", 100).rows]
    assert len(rows) == 6


def test_a_named_job_that_gets_an_ordering_key_moves_to_its_shard_and_fires_once() -> None:
    api = Api()
    body = {"schedule": {"delaySeconds": 100}, "target": {"type": "http", "url": "https://example.com/hook"}}
    job_id = api.create(jobKey="moves", **body).body["jobId"]
    for ordering_key in ("k", "other", None):
        changed = {**body, "orderingKey": ordering_key} if ordering_key else {**body, "payload": "plain again"}
        assert api.call("PUT", f"/v1/jobs/{job_id}", changed).status == 200
    assert api.call("PUT", f"/v1/jobs/{job_id}", {**body, "orderingKey": "k"}).status == 200
    api.clockwork.run_until(api.clockwork.clock.at + 300_000)
    assert len(api.clockwork.targets.delivered) == 1


def test_a_target_with_an_order_of_its_own_is_told_the_key() -> None:
    assert KafkaTarget("orders").in_order("k") == KafkaTarget("orders", key="k")
    assert KafkaTarget("orders", key="mine").in_order("k") == KafkaTarget("orders", key="mine")
    first, again, other = (SqsTarget(f"{QUEUE}.fifo").in_order(key) for key in ("k", "k", "l"))
    assert first == again != other
    assert SqsTarget(QUEUE).in_order("k") == SqsTarget(QUEUE)
    topic = SnsTarget("arn:aws:sns:us-east-1:123456789012:orders.fifo")
    assert topic.in_order("k") != topic
