"""Pools over the API: who may write and read them, what is refused, and what their trail says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.pools.pool import Pool
from tests.handlers.faults import refused
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ACME, ADMIN, ALICE, BOB

WORKER = "arn:aws:iam::111111111111:role/BatchWorkers"
SESSION = "arn:aws:sts::111111111111:assumed-role/BatchWorkers/i-1"
BODY = {"principals": [WORKER], "handlers": ["generate_invoices"]}
QUEUES = "https://sqs.eu-central-1.amazonaws.com/111111111111"
FIRST = ("high", "normal", "low")
NAMES = (*FIRST, *(f"{one}-overflow" for one in FIRST))
URLS = {one: f"{QUEUES}/Clockwork-Pool-batch-etl-{one}" for one in NAMES}


@pytest.fixture
def api() -> Api:
    return Api(pools=("batch-etl=high,normal,low", "gpu=normal"), release_queue_url=f"{QUEUES}/Clockwork-Release")


def put(api: Api, body: Any = BODY, *, pool: str = "batch-etl", caller: str = ADMIN, **headers: str) -> Answer:
    return api.call("PUT", f"/v1/pools/{pool}", body, caller=caller, headers=headers)


def get(api: Api, caller: str = ADMIN, pool: str = "batch-etl") -> Answer:
    return api.call("GET", f"/v1/pools/{pool}", caller=caller)


def test_a_pool_is_shown_as_it_was_written_with_its_queues(api: Api) -> None:
    written = put(api)
    shown = {"name": "batch-etl", "revision": 1, **BODY, "leaseSeconds": 90, "queueUrls": URLS}
    assert (written.status, written.body) == (200, shown)
    waiting = [{"priority": one, "tickets": 0, "delayed": 0} for one in ("high", "normal", "low")]
    assert get(api).body == {**shown, "waiting": waiting, "running": 0, "workers": []}


def test_a_pool_tells_how_many_tickets_wait_by_priority(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    put(api)
    for number in range(3):
        api.clockwork.pool_queues.of("batch-etl", "low").put(str(number), number // 2 * 60)
        api.clockwork.pool_queues.of("batch-etl", "low-overflow").put(str(number), 60)
    # Both queues of a priority count together.
    assert [one["priority"] for one in get(api).body["waiting"]] == list(FIRST)
    assert get(api).body["waiting"][2] == {"priority": "low", "tickets": 2, "delayed": 4}

    def no_answer(_: str) -> Any:
        raise Unavailable("no answer")

    monkeypatch.setattr(api.clockwork.pool_queues, "waiting", no_answer)
    answer = get(api)
    assert (answer.status, "waiting" in answer.body) == (200, False)


def test_a_pool_that_nobody_has_written_has_no_workers(api: Api) -> None:
    shown = get(api, pool="gpu").body
    assert (shown["revision"], shown["principals"], shown["handlers"]) == (0, [], [])
    assert set(shown["queueUrls"]) == {"normal", "normal-overflow"}


def test_a_put_replaces_the_pool_whole(api: Api) -> None:
    put(api, {**BODY, "leaseSeconds": 900})
    assert put(api, {"handlers": ["other"]}).body | {"queueUrls": {}} == {
        "name": "batch-etl",
        "revision": 2,
        "principals": [],
        "handlers": ["other"],
        "leaseSeconds": 90,
        "queueUrls": {},
    }


def test_workers_read_their_pool_and_nobody_else_learns_whether_there_is_one(api: Api) -> None:
    put(api)
    assert get(api, SESSION).body["queueUrls"] == URLS
    answers = {(one.status, one.text) for one in (get(api, BOB), get(api, SESSION, "gpu"), get(api, SESSION, "none"))}
    assert len(answers) == 1
    assert answers.pop()[0] == 403


@pytest.mark.parametrize("caller", [ALICE, WORKER])
def test_only_admins_write_and_list_pools(api: Api, caller: str) -> None:
    put(api)
    refused(put(api, {**BODY, "principals": [caller]}, caller=caller), 403)
    refused(api.call("GET", "/v1/pools", caller=caller), 403)
    assert api.writes == []


def test_all_pools_of_the_deployment_are_listed(api: Api) -> None:
    put(api)
    items = api.call("GET", "/v1/pools", caller=ADMIN).body["items"]
    assert [(one["name"], one["revision"]) for one in items] == [("batch-etl", 1), ("gpu", 0)]


@pytest.mark.parametrize("pool", ["none", "batch-et", "Batch-etl", "batch-etl%20"])
@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_a_pool_without_queues_is_not_found_and_the_answer_says_what_to_do(api: Api, method: str, pool: str) -> None:
    api.clockwork.pools.put(Pool(name="none", revision=1, principals=(WORKER,)), replaces=0)
    answer = api.call(method, f"/v1/pools/{pool}", BODY if method == "PUT" else None, caller=ADMIN)
    refused(answer, 404)
    assert "option `pools` of deployment.json" in answer.body["detail"]
    assert get(api, WORKER, pool).status == 403


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"principals": [SESSION]}, "/principals/0"),
        ({"principals": ["arn:aws:iam::111111111111:role/path/R"]}, "/principals/0"),
        ({"principals": [WORKER] * 50}, "/principals"),
        ({"handlers": ["no spaces"]}, "/handlers/0"),
        ({"handlers": ["x" * 65]}, "/handlers/0"),
        ({"handlers": ["h"] * 201}, "/handlers"),
        ({"leaseSeconds": 59}, "/leaseSeconds"),
        ({"leaseSeconds": 901}, "/leaseSeconds"),
        ({"leaseSeconds": "90"}, "/leaseSeconds"),
        ({"name": "other"}, "/name"),
        ([], ""),
    ],
)
def test_bad_fields_are_refused(api: Api, body: Any, pointer: str) -> None:
    answer = put(api, body)
    refused(answer, 422)
    assert answer.pointers == [pointer]
    assert api.clockwork.pools.get("batch-etl") is None


@pytest.mark.parametrize("lease", [60, 900])
def test_the_bounds_of_a_lease_are_good(api: Api, lease: int) -> None:
    assert put(api, {"leaseSeconds": lease}).body["leaseSeconds"] == lease


def test_a_change_for_another_revision_is_refused(api: Api) -> None:
    assert put(api, **{"if-match": "0"}).body["revision"] == 1
    refused(put(api, {**BODY, "leaseSeconds": 60}, **{"if-match": "0"}), 409)
    assert put(api, {**BODY, "leaseSeconds": 60}, **{"if-match": "1"}).body["revision"] == 2


def test_a_repeat_whose_answer_was_lost_changes_nothing(api: Api) -> None:
    put(api, **{"if-match": "0"})
    again = put(api, **{"if-match": "0"})
    assert (again.status, again.body["revision"]) == (200, 1)
    assert api.writes == []


def test_two_admins_at_once_do_not_undo_each_other(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool changes between the read and the write: with a revision that is a conflict, without one a new round."""
    inner, between = api.clockwork.pools.put, [Pool(name="batch-etl", revision=1, lease_seconds=77)]

    def late(pool: Pool, *, replaces: int) -> bool:
        if between:
            inner(between.pop(), replaces=0)
        return inner(pool, replaces=replaces)

    monkeypatch.setattr(api.clockwork.pools, "put", late)
    refused(put(api, **{"if-match": "0"}), 409)
    between.append(Pool(name="batch-etl", revision=2, lease_seconds=78))
    assert put(api).body["revision"] == 2


def test_what_was_changed_is_in_the_trail_of_the_pool_for_admins(api: Api) -> None:
    put(api)
    api.clockwork.clock.at += 1
    put(api, {**BODY, "leaseSeconds": 60})
    api.clockwork.clock.at += 1
    put(api, {**BODY, "leaseSeconds": 60})
    trail = api.call("GET", "/v1/audit", caller=ADMIN, query={"clientId": "pool/batch-etl"}).body["items"]
    assert [(one["action"], one["principal"], one["changes"]) for one in trail] == [
        ("putPool", ADMIN, ["/leaseSeconds"]),
        ("putPool", ADMIN, ["/handlers", "/principals"]),
    ]
    assert api.call("GET", "/v1/audit", caller=ADMIN, query={"clientId": "pool/gpu"}).body == {"items": []}
    refused(api.call("GET", "/v1/audit", caller=ALICE, query={"clientId": "pool/batch-etl"}), 403)


def test_a_client_says_which_pools_it_uses(api: Api) -> None:
    sent = {"principals": [ALICE], "allowedPools": ["batch-etl"]}
    assert api.call("PUT", "/v1/clients/acme", sent, caller=ADMIN).body["allowedPools"] == ["batch-etl"]
    bad = api.call("PUT", "/v1/clients/acme", {"allowedPools": ["Batch"]}, caller=ADMIN)
    assert bad.pointers == ["/allowedPools/0"]
    stored = api.clockwork.clients.get("acme")
    assert stored is not None
    assert (stored.allows("allowed_pools", "batch-etl"), stored.allows("allowed_pools", "batch")) == (True, False)
    assert not msgspec.structs.replace(ACME).allows("allowed_pools", "batch-etl")


def refusal(api: Api, **named: str) -> tuple[int, list[tuple[str, str]]]:
    """The status and faults of a job for a pool."""
    target = {"type": "pool", "handler": "generate_invoices", **named}
    job = {"clientId": "acme", "schedule": {"delaySeconds": 5}, "target": target}
    answer = api.call("POST", "/v1/jobs", job, caller=ALICE)
    return answer.status, [(one["pointer"], one["detail"]) for one in answer.body["errors"]]


@pytest.mark.parametrize("more", [{}, {"handler": "nope"}, {"priority": "high"}])
def test_a_client_that_may_not_use_a_pool_does_not_learn_whether_there_is_one(api: Api, more: dict[str, str]) -> None:
    put(api, pool="gpu")
    there, nowhere = refusal(api, pool="gpu", **more), refusal(api, pool="none", **more)
    assert there == nowhere == (422, [("/target/pool", "is not among the client's allowedPools")])


def test_a_client_whose_list_names_a_pool_that_is_not_deployed_is_told_so(api: Api) -> None:
    api.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_pools=("none",)))
    status, ((pointer, detail),) = refusal(api, pool="none")
    assert (status, pointer) == (422, "/target/pool")
    assert "its option `pools` names them" in detail
