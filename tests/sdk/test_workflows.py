"""Workflows of the client: steps, references that make edges, pictures, and runs."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from clockwork_client import Workflow, callback, http, job, pool, retry
from clockwork_client.transport import Request, Response
from clockwork_client.workflows.answers import WorkflowTarget
from clockwork_client.workflows.references import Reference
from clockwork_client.workflows.workflow import Step
from tests.sdk.edge import Hands, client_of

HOOK = http("https://example.com/hook")


def steps(wf: Workflow) -> dict[str, list[str]]:
    """The parents of each step."""
    return {name: node.get("after", []) for name, node in wf.raw["nodes"].items()}


class TestSteps:
    def test_a_workflow_is_a_target_of_a_job(self) -> None:
        wf = Workflow(timeout=timedelta(days=1))
        wf.step("fetch", pool("etl", "fetch"), payload={"day": wf.input["day"]})
        made = job(wf, {"day": "2026-11-24"}, cron="0 3 * * *", key="nightly")
        assert made["target"] == {
            "type": "workflow",
            "timeoutSeconds": 86_400,
            "nodes": {
                "fetch": {
                    "target": {"type": "pool", "pool": "etl", "handler": "fetch"},
                    "payload": {"day": {"$from": "/input/day"}},
                }
            },
        }

    def test_a_job_that_was_made_does_not_grow_with_its_workflow(self) -> None:
        wf = Workflow()
        wf.step("first", HOOK)
        made = job(wf, in_=1)
        wf.step("second", HOOK)
        assert list(made["target"]["nodes"]) == ["first"]

    def test_a_step_has_all_that_the_api_takes(self) -> None:
        wf = Workflow()
        first = wf.step("first", "https://example.com/hook")
        wf.step(
            "second",
            HOOK,
            payload="text",
            after=first,
            when="ended",
            if_=[first.state.is_("SUCCEEDED", None), first.result["n"].is_not(1)],
            optional=True,
            delay=timedelta(minutes=1),
            retry=retry(max_attempts=2),
            completion=callback(timeout_seconds=600),
            relevancy_window_seconds=5,
        )
        assert wf["second"].raw == {
            "target": HOOK.raw,
            "payload": "text",
            "after": ["first"],
            "when": "ended",
            "if": [
                {"at": "/nodes/first/state", "is": ["SUCCEEDED", None]},
                {"at": "/nodes/first/result/n", "isNot": [1]},
            ],
            "optional": True,
            "delaySeconds": 60,
            "retryPolicy": {"maxAttempts": 2},
            "completion": {"mode": "callback", "timeoutSeconds": 600},
            "relevancyWindowSeconds": 5,
        }
        wf.check()

    @pytest.mark.parametrize("name", ["Fetch", "", "1st", "a" * 41, "a b", "a\n", None])
    def test_a_name_that_is_none_is_refused_at_once(self, name: Any) -> None:
        with pytest.raises(ValueError, match="no name of a step"):
            Workflow().step(name, HOOK)

    def test_a_name_is_taken_once(self) -> None:
        wf = Workflow()
        wf.step("fetch", HOOK)
        with pytest.raises(ValueError, match="has a step 'fetch' already"):
            wf.step("fetch", HOOK)

    def test_a_step_of_another_workflow_is_refused_as_parent_and_as_reference(self) -> None:
        other = Workflow().step("other", HOOK)
        for given in ({"after": other}, {"payload": {"x": [other.result]}}, {"if_": other.result.is_(1)}):
            wf = Workflow()
            with pytest.raises(ValueError, match="another workflow's"):
                wf.step("own", HOOK, **given)
            assert wf.raw["nodes"] == {}


class TestReferences:
    def test_a_reference_makes_an_edge(self) -> None:
        wf = Workflow()
        fetch = wf.step("fetch", HOOK)
        check = wf.step("check", HOOK, payload={"all": [fetch.result["rows"][0], fetch.execution_id]})
        wf.step("ask", HOOK, if_=check.result["risk"].is_("high"))
        assert steps(wf) == {"fetch": [], "check": ["fetch"], "ask": ["check"]}
        assert wf["check"].raw["payload"] == {
            "all": [{"$from": "/nodes/fetch/result/rows/0"}, {"$from": "/nodes/fetch/executionId"}]
        }

    def test_a_reference_to_what_comes_before_anyway_makes_none(self) -> None:
        """Or `book` would run although `check` was skipped, since `fetch` has succeeded."""
        wf = Workflow()
        fetch = wf.step("fetch", HOOK)
        check = wf.step("check", HOOK, payload=fetch.result)
        wf.step("book", HOOK, payload={"rows": fetch.result, "risk": check.result})
        wf.step("undo", HOOK, after=["book"], when="failed", payload={"id": fetch.result["id"], "why": check.error})
        assert (steps(wf)["book"], steps(wf)["undo"]) == (["check"], ["book"])

    def test_parts_are_written_as_rfc_6901_has_them(self) -> None:
        assert Reference("/input")["a/b"]["m~n"][""][7].raw == {"$from": "/input/a~1b/m~0n//7"}

    @pytest.mark.parametrize("part", [-1, True, 1.5, None, slice(1)])
    def test_what_names_no_part_is_a_type_error(self, part: Any) -> None:
        with pytest.raises(TypeError, match="names no part"):
            Reference("/input")[part]

    def test_a_reference_has_no_value_before_the_run(self) -> None:
        wf = Workflow()
        risk = wf.step("check", HOOK).result["risk"]
        for use in (lambda: risk == "high", lambda: bool(risk), lambda: f"{risk}", lambda: [*risk]):
            with pytest.raises(TypeError, match="no value before the run"):
                use()
        with pytest.raises(TypeError, match="not decided before the run"):
            wf.step("ask", HOOK, if_=risk.is_("high") and risk.is_("low"))
        with pytest.raises(TypeError, match="if_ takes conditions"):
            wf.step("ask", HOOK, if_=[risk])  # type: ignore[list-item]
        assert repr(risk) == "Reference('/nodes/check/result/risk')"
        assert (risk == wf["check"].result["risk"], risk == wf["check"].result) == (True, False)


class TestInclude:
    def test_another_workflow_is_added_under_a_prefix(self) -> None:
        report = Workflow()
        rows = report.step("rows", HOOK, payload={"day": report.input["day"]})
        report.step("mail", HOOK, payload={"x": [rows.result["rows"]]}, if_=rows.result["n"].is_not(0))
        wf = Workflow()
        book = wf.step("book", HOOK)
        added = wf.include(report, prefix="report-", after=[book])
        wf.step("end", HOOK, after=added["mail"])
        assert steps(wf) == {
            "book": [],
            "report-rows": ["book"],
            "report-mail": ["report-rows"],
            "end": ["report-mail"],
        }
        assert wf["report-mail"].raw["payload"] == {"x": [{"$from": "/nodes/report-rows/result/rows"}]}
        assert wf["report-mail"].raw["if"] == [{"at": "/nodes/report-rows/result/n", "isNot": [0]}]
        assert wf["report-rows"].raw["payload"] == {"day": {"$from": "/input/day"}}
        assert steps(report) == {"rows": [], "mail": ["rows"]}
        wf.check()

    def test_a_name_that_is_taken_adds_nothing(self) -> None:
        report, wf = Workflow(), Workflow()
        for name in ("a", "b"):
            report.step(name, HOOK)
        wf.step("b", HOOK)
        with pytest.raises(ValueError, match="'b' is taken"):
            wf.include(report)
        assert list(wf.raw["nodes"]) == ["b"]


class TestPictures:
    def test_a_picture_has_the_edges_and_the_rules(self) -> None:
        wf = Workflow()
        book = wf.step("book", HOOK)
        wf.step("end", HOOK, after=book)
        wf.step("undo", HOOK, after=book, when="failed")
        wf.step("clean", HOOK, after=book, when="ended")
        assert wf.mermaid().splitlines() == [
            "flowchart LR",
            '  n0["book"]',
            '  n1["end"]',
            '  n2["undo"]',
            '  n3["clean"]',
            "  n0 --> n1",
            "  n0 -. failed .-> n2",
            "  n0 -. ended .-> n3",
        ]


def node(name: str, state: str, after: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    return {"name": name, "after": [*after], "when": "succeeded", "state": state, "generation": 1, **more}


class Edge:
    """An API that answers each request for nodes and for the run with the next of its answers."""

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.sent: list[Request] = []

    def __call__(self, request: Request) -> Response:
        self.sent.append(request)
        if request.url.endswith("/nodes"):
            nodes = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            return Response(200, {}, json.dumps({"generation": 1, "items": nodes}).encode())
        state = "RUNNING" if len(self.answers) > 1 else "DEAD"
        execution = {"executionId": "e", "jobId": "j", "dueAt": "2026-11-24T03:00:00.000Z", "state": state}
        return Response(200, {}, json.dumps({**execution, "attempts": []}).encode())


class TestRuns:
    def test_the_nodes_of_a_run_are_read_by_name(self) -> None:
        edge = Edge([node("fetch", "SUCCEEDED", executionId="x"), node("book", "SKIPPED", ("fetch",), because="fetch")])
        found = client_of(edge).runs.nodes("e")
        assert found.states == {"fetch": "SUCCEEDED", "book": "SKIPPED"}
        assert (found["book"].after, found["book"].because, found["fetch"].execution_id) == (("fetch",), "fetch", "x")
        with pytest.raises(KeyError, match="none"):
            found["none"]

    def test_a_redrive_names_its_steps(self) -> None:
        edge = Edge([])
        fetch = Workflow().step("fetch", HOOK)
        both: list[str | Step] = [fetch, "book"]
        for given in (None, "fetch", fetch, both):
            client_of(edge).runs.redrive("e", from_=given)
        bodies = [None if one.body is None else json.loads(one.body) for one in edge.sent]
        assert bodies == [None, {"from": ["fetch"]}, {"from": ["fetch"]}, {"from": ["fetch", "book"]}]

    def test_a_watch_tells_each_change_until_the_run_has_ended(self) -> None:
        waiting, running, dead = ([node("fetch", state)] for state in ("RELEASED", "RUNNING", "DEAD"))
        hands = Hands()
        cw = client_of(Edge(waiting, waiting, running, dead), hands)
        assert [one.states["fetch"] for one in cw.runs.watch("e", every=3)] == ["RELEASED", "RUNNING", "DEAD"]
        assert hands.slept == [3, 3, 3]

    def test_a_picture_of_a_run_has_the_states(self) -> None:
        edge = Edge([node("fetch", "SUCCEEDED"), node("end", "UNREACHED", ("fetch", "gone")), node('"]\n', "NEW")])
        assert client_of(edge).runs.mermaid("e").splitlines() == [
            "flowchart LR",
            '  n0["fetch<br/>SUCCEEDED"]',
            '  n1["end<br/>UNREACHED"]',
            '  n2["#34;#93;#92;x0a<br/>NEW"]',
            "  n0 --> n1",
            "  classDef succeeded fill:#d3f2dc,stroke:#1a7f37,color:#0b3d1a",
            "  classDef unreached fill:#ffeeed,stroke:#c1281d,color:#5c0f09,stroke-dasharray:4",
            "  class n0 succeeded",
            "  class n1 unreached",
        ]

    def test_a_job_shows_its_workflow(self) -> None:
        raw = {"type": "workflow", "timeoutSeconds": 60, "nodes": {"fetch": {"target": HOOK.raw}}}
        found = WorkflowTarget(raw)
        assert (found.timeout_seconds, [*found.nodes]) == (60, ["fetch"])
