"""The page of a run: its graph, the list of its nodes, and a redrive that says first what will run again."""

from __future__ import annotations

import re
from typing import Any

import pytest

from clockwork_client import Clockwork, Workflow, callback, http, retry
from clockwork_client.console.graphs import graph
from clockwork_client.testing import Answer, VirtualClockwork
from clockwork_client.workflows.answers import Node
from tests.console.visitor import Visitor, forms_of

HOOK = http("https://example.com/ok")
ONCE = retry(max_attempts=1)


def node(name: str, *after: str, **more: Any) -> Node:
    """A node that has succeeded."""
    raw = {"name": name, "after": [*after], "when": "succeeded", "state": "SUCCEEDED", "generation": 1}
    return Node({**raw, **more})


class TestPicture:
    def test_each_node_stands_behind_all_of_its_parents(self) -> None:
        found = graph([node("a"), node("b", "a"), node("c", "a", "b"), node("d")])
        x = {one.name: one.x for one in found.boxes}
        assert x["a"] == x["d"] < x["b"] < x["c"]
        assert len({(one.x, one.y) for one in found.boxes}) == 4
        assert all(one.x + found.box_width <= found.width for one in found.boxes)
        assert all(one.y + found.box_height <= found.height for one in found.boxes)
        assert found.says == "4 of 4 nodes succeeded. The list below has each of them."

    def test_a_rule_other_than_success_is_dotted(self) -> None:
        found = graph([node("a"), node("b", "a", when="failed"), node("c", "a", when="ended"), node("d", "a")])
        assert [one.kind for one in found.edges] == ["dotted", "dotted", "plain"]

    def test_a_long_name_is_cut_in_its_box_and_whole_in_words(self) -> None:
        (box,) = graph([node("a" * 40, state="DEAD")]).boxes
        assert (len(box.name), box.tone, box.says) == (20, "bad", f"{'a' * 40}: dead")

    def test_an_answer_with_a_circle_or_a_strange_parent_is_drawn(self) -> None:
        found = graph([node("a", "b"), node("b", "a"), node("c", "none")])
        assert (len(found.boxes), len(found.edges)) == (3, 2)

    def test_a_hundred_nodes_are_drawn(self) -> None:
        names = [f"n{place}" for place in range(99)]
        found = graph([*(node(name) for name in names), node("sink", *names)])
        assert len(found.edges) == 99


class Orders:
    """The run of an order whose payment was refused."""

    def __init__(self) -> None:
        self.v = VirtualClockwork("2026-03-01T00:00:00Z")
        self.cw: Clockwork = self.v.client("shop")
        wf = Workflow()
        reserve = wf.step("reserve", HOOK, retry=ONCE)
        pay = wf.step("pay", HOOK, after=reserve, retry=ONCE)
        ship = wf.step("ship", HOOK, after=pay, retry=ONCE)
        wf.step("mail", HOOK, after=reserve)
        wf.step("undo", HOOK, after=ship, when="failed")
        self.v.on_step("pay", lambda _: Answer(422, "<b>no funds</b>"))
        job = self.cw.schedule(wf, {"order": 17}, in_=0)
        self.v.advance(minutes=1)
        self.run = self.v.run(job).execution_id
        self.path = f"/executions/{self.run}"
        self.reader = Visitor(self.cw, self.v).enter()

    def states(self) -> dict[str, str]:
        return self.cw.runs.nodes(self.run).states


@pytest.fixture
def orders() -> Orders:
    return Orders()


class TestPage:
    def test_it_has_the_graph_and_the_same_in_words(self, orders: Orders) -> None:
        page = orders.reader.look(orders.path)
        assert page.text.count("<rect class=") == 5
        assert len(re.findall(r'<path class="dotted"', page.text)) == 1
        assert "<title>undo, after ship if one of them fails: succeeded</title>" in page.text
        assert "ship not reached, because of pay after pay" in page.words
        assert "pay dead after reserve" in page.words
        node = orders.cw.runs.nodes(orders.run)["pay"].execution_id
        assert f'href="/executions/{node}"' in page.text

    def test_the_page_of_a_node_has_no_graph(self, orders: Orders) -> None:
        found = orders.cw.runs.nodes(orders.run)["pay"].execution_id
        page = orders.reader.look(f"/executions/{found}")
        assert "graph-h" not in page.text
        assert "Redrive from" not in page.words

    def test_it_refreshes_with_the_page(self, orders: Orders) -> None:
        text = orders.reader.look(orders.path).text
        assert text.index('id="live-run"') < text.index('id="graph-h"')


def test_a_cancel_tells_how_many_nodes_still_run() -> None:
    v = VirtualClockwork("2026-03-01T00:00:00Z")
    cw, wf = v.client("shop"), Workflow()
    ask = wf.step("ask", HOOK, completion=callback(timeout_seconds=3_600))
    wf.step("book", HOOK, after=ask)
    v.on_step("ask", lambda _: None)
    job = cw.schedule(wf, in_=0)
    v.advance(minutes=1)
    path = f"/executions/{v.run(job).execution_id}"
    done = Visitor(cw, v).enter().submit(path, f"{path}/cancel")
    assert "Stopped. 1 node of it may still run. None starts after this moment." in done.words
    v.advance(minutes=5)
    assert v.run(job).nodes == {"ask": "CANCELLED", "book": "UNREACHED"}


class TestRedrive:
    def test_the_question_says_what_will_run_again(self, orders: Orders) -> None:
        page = orders.reader.look(f"{orders.path}/redrive").words
        assert "3 nodes will run again if their rules hold: what failed, and all that comes after." in page
        assert "pay dead ship not reached undo succeeded: its target is called again" in page
        assert "2 nodes keep their result: reserve, mail ." in page
        assert f"clockwork run redrive {orders.run}" in page

    def test_a_node_of_choice_takes_all_behind_it_along(self, orders: Orders) -> None:
        path = f"{orders.path}/redrive?from=reserve"
        page = orders.reader.look(path).words
        assert "5 nodes will run again if their rules hold: what failed, reserve , and all that comes after." in page
        assert "keep" not in page
        assert f"clockwork run redrive {orders.run} --from reserve" in page
        orders.v.on_step("pay", lambda _: {})
        done = orders.reader.submit(path, f"{orders.path}/redrive")
        assert "Its nodes start again, as the question said." in done.words
        before = len(orders.v.steps)
        orders.v.advance(minutes=1)
        assert [one.name for one in orders.v.steps[before:]] == ["reserve", "pay", "mail", "ship"]
        assert orders.states()["undo"] == "SKIPPED"

    def test_without_a_choice_only_what_failed_starts_again(self, orders: Orders) -> None:
        orders.v.on_step("pay", lambda _: {})
        orders.reader.submit(f"{orders.path}/redrive", f"{orders.path}/redrive")
        before = len(orders.v.steps)
        orders.v.advance(minutes=1)
        assert [one.name for one in orders.v.steps[before:]] == ["pay", "ship"]

    def test_a_run_that_is_not_dead_offers_none(self, orders: Orders) -> None:
        orders.v.on_step("pay", lambda _: {})
        orders.cw.runs.redrive(orders.run)
        orders.v.advance(minutes=1)
        page = orders.reader.look(orders.path)
        assert "Redrive" not in page.words
        assert [one.action for one in forms_of(page) if "redrive" in one.action] == []

    def test_a_name_of_no_node_chooses_none(self, orders: Orders) -> None:
        page = orders.reader.look(f"{orders.path}/redrive?from=%3Cb%3E").words
        assert "3 nodes will run again" in page

    def test_who_only_reads_is_offered_none(self, orders: Orders) -> None:
        reader = Visitor(orders.cw, orders.v, is_read_only=True).enter()
        assert "Redrive" not in reader.look(orders.path).words
        assert reader.get(f"{orders.path}/redrive").status == 404
