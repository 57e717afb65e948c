"""Workflows as targets of jobs: what is taken and shown, what is refused and where, and hostile definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.workflows.definition import Node, WorkflowTarget
from tests.handlers.faults import HTTP, QUEUE, refused
from tests.handlers.handlers import Answer, Api, job_body
from tests.support.examples import ACME, ADMIN, ALICE

FTP = {"type": "http", "url": "ftp://example.com/"}
QUEUES = "https://sqs.eu-central-1.amazonaws.com/111111111111"
WHOLE = {
    "target": HTTP,
    "after": ["fetch"],
    "when": "ended",
    "if": [{"at": "/nodes/fetch/result/risk", "is": ["high", 2, None, True]}, {"at": "/input", "isNot": [1.5]}],
    "optional": True,
    "payload": {"rows": {"$from": "/nodes/fetch/result/rows"}, "of": [{"$from": "/input"}, 10**30]},
    "delaySeconds": 60,
    "retryPolicy": {"maxAttempts": 2},
    "completion": {"mode": "callback"},
    "relevancyWindowSeconds": 30,
}


def workflow(nodes: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "workflow", "nodes": dict(nodes), **more}


def many(count: int, **more: Any) -> dict[str, Any]:
    return {f"n{number}": {"target": HTTP, **more} for number in range(count)}


def create(api: Api, nodes: Mapping[str, Any], **more: Any) -> Answer:
    return api.create(**{"jobKey": "nightly", "target": workflow(nodes), **more})


def faults_of(answer: Answer) -> dict[str, str]:
    """The faults by their pointers below the target."""
    refused(answer, 422)
    return {one["pointer"].removeprefix("/target"): one["detail"] for one in answer.body["errors"]}


def stored(api: Api, job_id: str) -> Mapping[str, Node]:
    (job,) = [one for _, one in api.clockwork.world.jobs.list("acme", None, None, 9).jobs]
    assert isinstance(job, NamedJob)
    assert job.job_id == job_id
    assert isinstance(job.definition.target, WorkflowTarget)
    return job.definition.target.nodes


def test_a_workflow_is_kept_as_it_was_sent_and_shown_without_payloads() -> None:
    api = Api()
    created = create(api, {"fetch": {"target": HTTP}, "book": WHOLE})
    assert created.status == 201
    nodes = stored(api, created.body["jobId"])
    assert nodes["fetch"].payload is None
    kept = b'{"rows":{"$from":"/nodes/fetch/result/rows"},"of":[{"$from":"/input"},%d]}' % 10**30
    assert nodes["book"].payload == kept
    target = api.call("GET", f"/v1/jobs/{created.body['jobId']}").body["target"]
    assert (target["type"], target["timeoutSeconds"], list(target["nodes"])) == ("workflow", 86_400, ["fetch", "book"])
    shown = target["nodes"]["book"]
    assert "payload" not in shown
    for name in ("after", "when", "if", "optional", "delaySeconds", "relevancyWindowSeconds"):
        assert shown[name] == WHOLE[name], name
    assert shown["target"]["url"] == HTTP["url"]
    assert (shown["retryPolicy"]["maxAttempts"], shown["completion"]["heartbeatSeconds"]) == (2, 300)
    assert set(target["nodes"]["fetch"]) == {"target", "after", "when", "retryPolicy"}


def test_a_payload_of_null_is_not_one_that_is_left_out_and_a_text_stays_one() -> None:
    api = Api()
    nodes = {"a": {"target": HTTP, "payload": None}, "b": {"target": HTTP, "payload": "text"}}
    kept = stored(api, create(api, nodes).body["jobId"])
    assert [kept[name].payload for name in "ab"] == [b"null", b'"text"']


def test_a_node_without_a_retry_policy_has_that_of_its_client() -> None:
    api = Api()
    policy = {"maxAttempts": 7}
    put = api.call("PUT", "/v1/clients/acme", {"principals": [ALICE], "retryPolicy": policy}, caller=ADMIN)
    assert put.status == 200
    kept = stored(
        api, create(api, {"a": {"target": HTTP}, "b": WHOLE | {"after": ["a"], "if": [], "payload": 1}}).body["jobId"]
    )
    assert [kept[name].retry_policy.max_attempts for name in "ab"] == [7, 2]


def test_a_workflow_can_be_anonymous_in_a_batch_replaced_and_patched() -> None:
    api = Api()
    sent = workflow({"a": {"target": HTTP}})
    alone = api.create(target=sent)
    assert api.call("GET", f"/v1/jobs/{alone.body['jobId']}").body["target"]["type"] == "workflow"
    batch = api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(target=sent), job_body(target=workflow({}))]})
    assert [one["status"] for one in batch.body["results"]] == [201, 422]
    assert batch.body["results"][1]["problem"]["errors"][0]["pointer"] == "/jobs/1/target/nodes"
    path = f"/v1/jobs/{create(api, {'a': {'target': HTTP, 'payload': 1}}).body['jobId']}"
    added = {"target": {"nodes": {"b": {"target": HTTP, "after": ["a"]}}}}
    assert list(api.call("PATCH", path, added).body["executions"]) == []
    nodes = stored(api, path.rpartition("/")[2])
    assert (list(nodes), nodes["a"].payload) == (["a", "b"], b"1")
    assert api.call("PATCH", path, {"target": {"nodes": {"a": None}}}).pointers == ["/target/nodes/b/after/0"]
    assert api.call("PUT", path, job_body(target=workflow(many(2)))).status == 200
    assert list(stored(api, path.rpartition("/")[2])) == ["n0", "n1"]


def test_a_list_finds_a_job_by_the_name_and_the_target_of_a_node() -> None:
    api = Api()
    create(api, {"fetch": {"target": {**HTTP, "url": "https://risk.example/check"}}})

    def found(text: str) -> int:
        return len(api.call("GET", "/v1/jobs", query={"contains": text}).body["items"])

    assert [found(text) for text in ("FETCH", "risk.example", "ship")] == [1, 1, 0]


REFUSED: list[tuple[Any, str, str]] = [
    ({"a": {"target": HTTP, "after": ["a"]}}, "/nodes/a/after/0", "is the node itself"),
    ({"a": {"target": HTTP, "after": ["x"]}}, "/nodes/a/after/0", 'names no node: "x"'),
    (
        {name: {"target": HTTP, "after": [parent]} for name, parent in ("ab", "bc", "ca")},
        "/nodes/a/after",
        "closes a circle: a -> c -> b -> a",
    ),
    (many(101), "/nodes", "has 101 nodes, at least 1 and at most 100 are taken"),
    ({}, "/nodes", "has 0 nodes, at least 1 and at most 100 are taken"),
    (
        {"c": {"target": HTTP, "payload": {"day": {"$from": "/nodes/d/result"}}}, "d": {"target": HTTP}},
        "/nodes/c/payload/day",
        "refers to d, which does not come before c",
    ),
    ({"a": {"target": HTTP, "when": "ended"}}, "/nodes/a/when", "is for nodes with parents"),
    ({"a": {"target": workflow({})}}, "/nodes/a/target", "must not be a workflow: write its nodes here"),
    ({"a": {"target": {"type": "fax"}}}, "/nodes/a/target/type", "must be one of 'http', "),
    ({"a": {"target": {}}}, "/nodes/a/target/type", "is required"),
    ({"a": {}}, "/nodes/a/target", "is required"),
    ({"a": 7}, "/nodes/a", "must be a JSON object"),
    ({"a": {"target": HTTP, "orderingKey": "k"}}, "/nodes/a/orderingKey", "is not a known field"),
    ({"a": {"target": FTP}}, "/nodes/a/target/url", "must start with https://"),
    (
        {"a": {"target": {"type": "sqs", "queueArn": f"{QUEUE}2"}}},
        "/nodes/a/target/queueArn",
        "is not among the client's",
    ),
    ({"a": {"target": {**HTTP, "headers": {"host": "x"}}}}, "/nodes/a/target/headers/host", ""),
    ({"a": {"target": HTTP, "delaySeconds": 2_592_001}}, "/nodes/a/delaySeconds", "must be at most"),
    (
        {"a": {"target": HTTP, "completion": {"mode": "callback", "heartbeatSeconds": 1}}},
        "/nodes/a/completion/heart",
        "",
    ),
    ({"a": {"target": HTTP, "if": [{"at": "/input"}]}}, "/nodes/a/if/0", "must have just one of is and isNot"),
    ({"a": {"target": HTTP, "if": [{"at": "/input", "is": []}]}}, "/nodes/a/if/0/is", "must have at least 1 entry"),
    ({"a": {"target": HTTP, "if": [{"at": "/input", "is": [[1]]}]}}, "/nodes/a/if/0/is", "must hold texts, numbers"),
    ({"a": {"target": HTTP, "if": [{"at": "/input", "isNot": [2**64]}]}}, "/nodes/a/if/0/isNot", "more than 64 bits"),
    ({"a": {"target": HTTP, "if": [{"at": "input", "is": [1]}]}}, "/nodes/a/if/0/at", "must be a pointer"),
    ({"a": {"target": HTTP, "if": [{"at": "/input", "is": [1]}] * 6}}, "/nodes/a/if", "at most 5"),
    ({"a": {"target": HTTP, "payload": {"$from": "/input", "x": 1}}}, "/nodes/a/payload", "must be a pointer"),
    ({"a": {"target": {"type": "sqs", "queueArn": QUEUE}, "payload": "\x00"}}, "/nodes/a/payload", "control character"),
    # Names: no pattern of ours, hidden, of another script, too long, a slash, empty.
    *(
        ({name: {"target": HTTP}}, f"/nodes/{shown}", "must match")
        for name, shown in (
            ("A", "A"),
            ("9", "9"),
            ("a\u200b", "a\u200b"),
            ("\u0430", "\u0430"),
            ("a" * 41, "a" * 41),
            ("a/b", "a~1b"),
            ("", ""),
        )
    ),
]


@pytest.mark.parametrize(("nodes", "pointer", "says"), REFUSED)
def test_a_fault_of_a_definition_is_told_with_its_place_and_nothing_is_written(
    nodes: Any, pointer: str, says: str
) -> None:
    api = Api()
    api.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_queue_arns=(QUEUE,)))
    answer = create(api, nodes)
    ((place, detail),) = faults_of(answer).items()
    assert place.startswith(pointer)
    assert says in detail
    assert api.writes == []


def test_all_faults_are_told_at_once_those_of_the_graph_beside_those_of_fields() -> None:
    nodes = {
        "a": {"target": FTP, "after": ["x"], "color": 1},
        "b": {"target": HTTP, "payload": {"y": {"$from": "/nodes/zz"}}, "after": ["a"], "optional": "yes"},
        "c": {"target": workflow({})},
    }
    assert set(faults_of(create(Api(), nodes, payload="x" * 32_769, onFailure=workflow({})))) == {
        "/onFailure",
        "/payload",
        "/nodes/a/color",
        "/nodes/a/target/url",
        "/nodes/a/after/0",
        "/nodes/b/optional",
        "/nodes/b/payload/y",
        "/nodes/c/target",
    }


OUTSIDE = [
    ({"orderingKey": "k"}, "/orderingKey"),
    ({"completion": {"mode": "callback"}}, "/completion"),
    ({"retryPolicy": {"maxAttempts": 2}}, "/retryPolicy"),
    ({"record": "none"}, "/record"),
    ({"jobKey": None, "record": "none"}, ""),
    ({"onFailure": workflow({"a": {"target": HTTP}})}, "/onFailure"),
    ({"payload": "x" * 32_769}, "/payload"),
]


@pytest.mark.parametrize(("more", "pointer"), OUTSIDE)
def test_a_job_has_nothing_beside_a_workflow_that_its_nodes_have_themselves(more: Any, pointer: str) -> None:
    answer = create(Api(), {"a": {"target": HTTP}}, **more)
    assert list(faults_of(answer)) == [pointer]


def test_an_input_and_a_definition_at_their_bounds_are_taken() -> None:
    assert create(Api(), {"a": {"target": HTTP}}, payload="x" * 32_768).status == 201
    nodes: dict[str, Any] = {"a": {"target": HTTP, "payload": ""}}
    size = len(msgspec.json.encode(workflow(nodes)))
    nodes["a"]["payload"] = "x" * (65_536 - size)
    assert create(Api(), nodes).status == 201
    nodes["a"]["payload"] += "x"
    assert faults_of(create(Api(), nodes)) == {"": "has 65,537 bytes encoded, at most 65,536 are taken"}


def test_a_definition_of_one_hundred_nodes_and_four_hundred_edges_is_taken_and_one_edge_more_is_not() -> None:
    # The last twenty come after each of the first twenty.
    nodes = many(100)
    for number in range(80, 100):
        nodes[f"n{number}"] = {"target": HTTP, "after": [f"n{one}" for one in range(20)]}
    assert create(Api(), nodes).status == 201
    nodes["n99"]["after"].append("n20")
    assert faults_of(create(Api(), nodes)) == {"/nodes": "has 401 edges, at most 400 are taken"}


def test_a_pool_of_a_node_is_judged_as_that_of_a_job_is() -> None:
    def api_with(*handlers: str, allowed: tuple[str, ...] = ("etl",)) -> Api:
        api = Api(pools=("etl=normal",), release_queue_url=f"{QUEUES}/Clockwork-Release")
        api.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_pools=allowed))
        assert api.call("PUT", "/v1/pools/etl", {"handlers": handlers}, caller=ADMIN).status == 200
        return api

    nodes = {"a": {"target": {"type": "pool", "pool": "etl", "handler": "fetch"}, "completion": {"mode": "callback"}}}
    assert list(faults_of(create(api_with(allowed=()), nodes))) == ["/nodes/a/target/pool"]
    assert list(faults_of(create(api_with(), nodes))) == ["/nodes/a/completion", "/nodes/a/target/handler"]
    assert list(faults_of(create(api_with("fetch"), nodes))) == ["/nodes/a/completion"]
    del nodes["a"]["completion"]
    assert create(api_with("fetch"), nodes).status == 201


def test_no_node_may_target_a_queue_of_the_deployment_itself() -> None:
    own = "arn:aws:sqs:eu-central-1:111111111111:Clockwork-Release"
    api = Api(release_queue_url=f"{QUEUES}/Clockwork-Release")
    api.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_queue_arns=("arn:aws:sqs:*",)))
    found = faults_of(create(api, {"a": {"target": {"type": "sqs", "queueArn": own}}}))
    assert found == {"/nodes/a/target/queueArn": "is Clockwork's own, which no job may target"}


def test_huge_pointers_and_names_are_refused_without_an_answer_that_grows_with_them() -> None:
    huge = "/nodes/" + "x" * 30_000
    nodes = {"a": {"target": HTTP, "if": [{"at": huge, "is": [1]}], "payload": {"$from": huge}}}
    answer = create(Api(), nodes)
    assert set(faults_of(answer)) == {"/nodes/a/if/0/at", "/nodes/a/payload"}
    assert len(answer.text) < 1_000
    named = create(Api(), {"x" * 30_000: {"target": HTTP}, "y": {"target": HTTP, "after": ["z" * 30_000]}})
    assert len(faults_of(named)) == 2
    assert len(named.text) < 1_500
    # Ten thousand reference tokens that all exist are one pointer, which the context is followed by once.
    assert create(Api(), {"a": {"target": HTTP, "payload": {"$from": "/input" + "/a" * 10_000}}}).status == 201


def test_the_same_name_twice_is_no_json() -> None:
    api = Api()
    body = '{"schedule":{"delaySeconds":1},"target":{"type":"workflow","nodes":{"a":{},"a":{}}}}'
    refused(api.call("POST", "/v1/jobs", body), 400)


def test_faults_of_many_nodes_are_counted_beyond_the_first_hundred() -> None:
    answer = create(Api(), {name: {"target": FTP, "color": 1} for name in many(100)})
    refused(answer, 422)
    assert len(answer.details) == 101
    assert "has 100 more faults" in answer.details


def test_a_batch_of_the_largest_graphs_costs_no_more_work_than_a_request_may_cause() -> None:
    nodes = many(100, payload={"$from": "/input"})
    for number in range(80, 100):
        nodes[f"n{number}"]["after"] = [f"n{one}" for one in range(20)]
    one = {**job_body(), "target": workflow(nodes)}
    answer = Api().call("POST", "/v1/jobs/batch", {"jobs": [one] * 200})
    refused(answer, 422)
    assert "asks for more work than one request may cause" in answer.text


def test_a_workflow_counts_as_one_and_its_nodes_in_the_jobs_of_a_day() -> None:
    api = Api(api_environments=1)

    def cap(most: int) -> None:
        body = {"principals": [ALICE], "jobsPerDay": most, "createsPerSecond": 1_000}
        assert api.call("PUT", "/v1/clients/acme", body, caller=ADMIN).status == 200

    cap(11)
    assert create(api, many(11)).status == 429
    created = create(api, many(9))
    assert (created.status, create(api, many(1), jobKey="other").status) == (201, 429)
    path = f"/v1/jobs/{created.body['jobId']}"
    ways: tuple[tuple[int, Callable[[], Answer]], ...] = (
        (21, lambda: api.call("POST", f"{path}/run")),
        (31, lambda: api.call("PATCH", path, {"schedule": {"delaySeconds": 9_999}})),
        (41, lambda: api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(target=workflow(many(9)))]})),
    )
    for most, asked in ways:
        cap(most - 2)
        assert asked().status == 429
        cap(most)
        assert asked().status in (200, 202)
