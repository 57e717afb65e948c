"""Workflows in the testing kit: answers of steps, runs with their nodes, and the order in which steps began."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork_client import Clockwork, Workflow, callback, pool, retry, sqs
from clockwork_client.testing import Answer, Delivery, VirtualClockwork
from clockwork_client.worker import Fail, Pool

HOOK = "https://example.com/hook"
ONCE = retry(max_attempts=1)
DAY = 86_400


@pytest.fixture
def v() -> VirtualClockwork:
    return VirtualClockwork(at="2026-01-01T00:00:00Z")


@pytest.fixture
def acme(v: VirtualClockwork) -> Clockwork:
    return v.client("acme")


def pair() -> Workflow:
    """`second` gets the result of `first`."""
    wf = Workflow()
    first = wf.step("first", HOOK, payload=wf.input, retry=ONCE)
    wf.step("second", HOOK, payload={"n": first.result["n"]}, retry=ONCE)
    return wf


def play(v: VirtualClockwork, cw: Clockwork, wf: Workflow, **passes: float) -> str:
    """The id of a job of the workflow, once its run has had its time."""
    job_id = cw.schedule(wf, {"n": 1}, in_=0).job_id
    v.advance(**(passes or {"minutes": 1}))
    return job_id


class TestAnswers:
    def test_a_json_value_is_the_result_of_the_step(self, v: VirtualClockwork, acme: Clockwork) -> None:
        seen: list[Delivery] = []
        v.on_step("first", lambda one: {"n": one.payload["n"] + 1})
        v.on_step("second", seen.append)
        run = v.run(play(v, acme, pair()))
        (second,) = seen
        assert (second.payload, second.node, second.run) == ({"n": 2}, "second", run.execution_id)
        assert second.headers["clockwork-node"] == "second"
        assert (run.state, run.nodes) == ("SUCCEEDED", {"first": "SUCCEEDED", "second": "SUCCEEDED"})

    @pytest.mark.parametrize(
        "answer",
        [Answer(503, "busy"), Fail("no stock", retryable=False), Fail("no stock"), TimeoutError(), OSError("away")],
        ids=repr,
    )
    @pytest.mark.parametrize("is_raised", [False, True])
    def test_a_failure_fails_the_step(self, v: VirtualClockwork, acme: Clockwork, answer: Any, is_raised: bool) -> None:
        def step(_: Delivery) -> Any:
            if is_raised and isinstance(answer, Exception):
                raise answer
            return answer

        v.on_step("first", step)
        assert v.run(play(v, acme, pair())).nodes == {"first": "DEAD", "second": "UNREACHED"}

    def test_a_failure_may_be_tried_again_after_its_own_wait(self, v: VirtualClockwork, acme: Clockwork) -> None:
        wf = Workflow()
        wf.step("only", HOOK, retry=retry(max_attempts=2, initial_seconds=1, jitter="none"))
        v.on_step("only", lambda one: Fail("busy", retry_after=90) if one.attempt == 1 else {})
        assert v.run(play(v, acme, wf, minutes=5)).state == "SUCCEEDED"
        assert [(one.attempt, f"{one.at:%M:%S}") for one in v.steps] == [(1, "00:00"), (2, "01:30")]

    def test_a_fault_of_the_test_ends_the_run(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.on_step("first", lambda one: one.payload["none"])
        with pytest.raises(KeyError):
            play(v, acme, pair())

    def test_other_steps_are_for_on_deliver(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.on_deliver(lambda one: Answer(200, '{"n": 7}') if one.node == "first" else 500)
        assert v.run(play(v, acme, pair())).nodes == {"first": "SUCCEEDED", "second": "DEAD"}


class TestApprovals:
    @pytest.fixture
    def wf(self) -> Workflow:
        wf = Workflow(timeout=3 * DAY)
        waits = callback(heartbeat_seconds=DAY, timeout_seconds=DAY)
        queue = sqs("arn:aws:sqs:us-east-1:111111111111:ask")
        ask = wf.step("ask", queue, payload="?", completion=waits, retry=ONCE)
        wf.step("book", HOOK, payload=ask.result)
        return wf

    @pytest.fixture
    def asking(self, v: VirtualClockwork) -> Clockwork:
        return v.client("asking", allowed_queue_arns=["arn:aws:sqs:us-east-1:111111111111:ask"])

    def test_a_json_value_completes_it(self, v: VirtualClockwork, asking: Clockwork, wf: Workflow) -> None:
        v.on_step("ask", lambda _: {"by": "ada"})
        assert v.run(play(v, asking, wf)).nodes == {"ask": "SUCCEEDED", "book": "SUCCEEDED"}
        assert v.deliveries[-1].payload == {"by": "ada"}

    def test_a_failure_is_reported(self, v: VirtualClockwork, asking: Clockwork, wf: Workflow) -> None:
        v.on_step("ask", lambda _: Fail("refused", retryable=False))
        run = v.run(play(v, asking, wf))
        assert run.nodes == {"ask": "DEAD", "book": "UNREACHED"}
        assert "refused" in str(asking.runs.nodes(run.execution_id)["ask"].last_error)

    def test_none_leaves_it_open_until_its_time_is_over(
        self, v: VirtualClockwork, asking: Clockwork, wf: Workflow
    ) -> None:
        v.on_step("ask", lambda _: None)
        job_id = play(v, asking, wf, hours=23)
        assert v.run(job_id).nodes == {"ask": "RUNNING", "book": "WAITING"}
        v.advance(days=1)
        assert v.run(job_id).nodes == {"ask": "DEAD", "book": "UNREACHED"}


class TestOrder:
    def test_the_order_is_that_of_the_begins(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.on_step("first", lambda _: {"n": 1})
        play(v, acme, pair())
        v.assert_order("first", "second")
        for wrong in (["second", "first"], ["first", "none"]):
            with pytest.raises(AssertionError, match="the steps began in the order first, second"):
                v.assert_order(*wrong)

    def test_handlers_of_pools_are_in_it(self) -> None:
        v, etl, seen = VirtualClockwork(pools=["etl"]), Pool("etl"), list[tuple[Any, Any]]()

        @etl.handler()
        def count(payload: Any, ctx: Any) -> dict[str, int]:
            seen.append((ctx.run, ctx.node))
            return {"n": payload["n"] + 1}

        v.work(etl)
        wf = Workflow()
        before = wf.step("before", HOOK, payload=wf.input)
        there = wf.step("there", pool("etl", "count"), after=before, payload=wf.input)
        wf.step("behind", HOOK, payload=there.result)
        run = v.run(play(v, v.client("acme", allowed_pools=["etl"]), wf))
        v.assert_order("before", "there", "behind", run=run.execution_id)
        assert seen == [(run.execution_id, "there")]
        assert v.deliveries[-1].payload == {"n": 2}

    def test_a_job_without_a_run_has_none_to_show(self, v: VirtualClockwork, acme: Clockwork) -> None:
        job = acme.schedule(pair(), in_=60)
        with pytest.raises(LookupError):
            v.run(job)
