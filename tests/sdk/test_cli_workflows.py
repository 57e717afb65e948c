"""`clockwork workflow` and `clockwork run`: files that are checked and drawn, and runs as the API tells them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clockwork_client import Workflow, http
from clockwork_client.transport import Response
from tests.handlers.handlers import Api
from tests.sdk.terminal import EXECUTION, HOOK, JOB, Cli
from tests.sdk.test_workflows import Edge, node


@pytest.fixture
def cli() -> Cli:
    return Cli(Api())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The workflow of an order."""
    wf = Workflow()
    book = wf.step("book", http(HOOK), payload={"order": wf.input["order"]})
    wf.step("undo", http(HOOK), after=book, when="failed")
    path = tmp_path / "wf.json"
    path.write_text(json.dumps(wf.raw))
    return path


class TestFiles:
    def test_a_file_without_fault_is_checked_without_the_api(self, cli: Cli, file: Path) -> None:
        ran = cli("workflow", "check", str(file))
        assert (ran.exit_code, ran.stderr) == (0, "No fault in 2 nodes.\n")
        assert cli.transport.sent == []

    def test_each_fault_has_its_place(self, cli: Cli, file: Path) -> None:
        raw = json.loads(file.read_text())
        raw["nodes"]["undo"]["after"] = ["bok"]
        ran = cli("workflow", "check", "-", text=json.dumps(raw))
        assert ran.exit_code == 1
        assert '/target/nodes/undo/after/0: names no node: "bok"' in ran.stderr
        assert cli("workflow", "graph", "-", text=json.dumps(raw)).exit_code == 1

    def test_a_file_is_drawn(self, cli: Cli, file: Path) -> None:
        ran = cli("workflow", "graph", str(file))
        assert ran.stdout.splitlines() == [
            "flowchart LR",
            '  n0["book"]',
            '  n1["undo"]',
            "  n0 -. failed .-> n1",
        ]

    @pytest.mark.parametrize("text", ["", "{", "[]", "7", "[" * 100_000])
    def test_a_file_that_is_none_is_wrong_use(self, cli: Cli, text: str) -> None:
        assert cli("workflow", "check", "-", text=text).exit_code == 2
        assert cli("workflow", "check", "no-such-file.json").exit_code == 2

    def test_a_job_is_created_and_changed_with_a_file(self, cli: Cli, file: Path) -> None:
        raw = json.loads(file.read_text())
        cli("job", "create", "--in", "5m", "--workflow", str(file), "--data", '{"order":17}')
        assert (cli.body()["target"], cli.body()["payload"]) == (raw, {"order": 17})
        cli("job", "update", JOB, "--workflow", str(file), "--json")
        assert cli.body() == {"target": raw}

    def test_a_job_has_one_target(self, cli: Cli, file: Path) -> None:
        for more in ([], ["--workflow", str(file), HOOK], ["--workflow", str(file), "--method", "PUT"]):
            assert cli("job", "create", "--in", "5m", *more).exit_code == 2
        assert cli.transport.sent == []


def on(edge: Edge) -> Cli:
    found = Cli(Api())
    found.transport = edge
    return found


def nodes_of(state: str) -> list[dict[str, Any]]:
    return [node("book", state, lastError="answered 500"), node("end", "UNREACHED", ("book",), because="book")]


class TestRuns:
    def test_the_nodes_are_listed(self) -> None:
        heads, book, end = on(Edge(nodes_of("DEAD")))("run", "nodes", EXECUTION).stdout.splitlines()
        assert heads.split() == ["NODE", "STATE", "AFTER", "LAST", "WORD", "EXECUTION"]
        assert book.split() == ["book", "DEAD", "answered", "500"]
        assert end.split() == ["end", "UNREACHED", "book", "because", "of", "book"]
        assert on(Edge(nodes_of("DEAD"))).json("run", "nodes", EXECUTION)["items"][0]["name"] == "book"

    def test_the_graph_is_drawn(self) -> None:
        assert '  n0["book<br/>DEAD"]\n' in on(Edge(nodes_of("DEAD")))("run", "graph", EXECUTION).stdout

    def test_a_watch_prints_what_changes_and_ends_with_the_run(self) -> None:
        ran = on(Edge(nodes_of("RUNNING"), nodes_of("RUNNING"), nodes_of("DEAD")))("run", "watch", EXECUTION)
        assert ran.stdout.splitlines() == [
            "book  RUNNING  answered 500",
            "end  UNREACHED  because of book",
            "book  DEAD  answered 500",
        ]
        assert (ran.exit_code, ran.stderr) == (1, "The run has ended: DEAD.\n")

    def test_cancel_and_redrive_ask_for_what_they_say(self) -> None:
        edge = Edge([])
        cli = on(edge)
        assert cli("run", "cancel", EXECUTION).exit_code == 0
        assert cli("run", "redrive", EXECUTION, "--from", "fetch", "--from", "book").exit_code == 0
        assert [one.url.partition("/v1/")[2] for one in edge.sent] == [
            f"executions/{EXECUTION}/cancel",
            f"executions/{EXECUTION}/redrive",
        ]
        assert json.loads(edge.sent[-1].body or b"") == {"from": ["fetch", "book"]}


def test_an_execution_tells_of_its_nodes_and_of_its_run() -> None:
    counts = {"generation": 2, "nodes": 7, "succeeded": 4, "failed": 1, "skipped": 0, "open": 2, "stopped": "cancel"}
    one = {"executionId": "e", "jobId": "j", "dueAt": "2026-11-24T03:00:00.000Z", "state": "RUNNING", "attempts": []}
    told = {**one, "run": counts, "node": {"name": "book", "run": "r", "generation": 1}, "executions": [one, one]}
    cli = Cli(Api())
    cli.transport = lambda _: Response(200, {}, json.dumps(told).encode())
    said = cli("run", "cancel", EXECUTION).stdout.splitlines()
    assert [one for one in said if one.startswith(("node", "still"))] == [
        "nodes      4 succeeded, 1 failed, 2 open, stopped by cancel",
        "node       book of r",
        "still run  e, e",
    ]
