"""Lambda functions as workers: what they return and raise is reported under the token of their invocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clockwork_client import callback, lambda_function
from clockwork_client.testing import VirtualClockwork
from clockwork_client.worker import Cancelled, Fail, Lost
from clockwork_client.worker.lambdas import Delivered, completes

ARN = "arn:aws:lambda:us-east-1:111111111111:function:print-invoices"


@pytest.fixture
def virtual() -> VirtualClockwork:
    return VirtualClockwork()


def played(
    virtual: VirtualClockwork, function: Callable[..., Any], meanwhile: Callable[[Any], Any] | None = None
) -> Any:
    """The execution of a job whose function is invoked once, as it stands then."""
    cw = virtual.client("acme", allowed_target_arns=[ARN])
    job = cw.schedule(lambda_function(ARN), {"month": 5}, in_=1, completion=callback(heartbeat_seconds=60))
    virtual.advance(seconds=2)
    (delivery,) = virtual.deliveries
    event = {
        "executionId": delivery.execution_id,
        "jobId": job.job_id,
        "attempt": 1,
        "token": delivery.token,
        "payload": {"month": 5},
    }
    if meanwhile:
        meanwhile((cw, delivery.execution_id))
    completes(cw)(function)(event, None)
    virtual.advance(milliseconds=100)
    return cw.executions.get(delivery.execution_id)


def test_what_is_returned_is_the_result(virtual: VirtualClockwork) -> None:
    def work(payload: Any, ctx: Delivered) -> Any:
        ctx.heartbeat(0.5, "half")
        return {"pages": payload["month"], "attempt": ctx.attempt}

    found = played(virtual, work)
    assert (found.state, found.report.result) == ("SUCCEEDED", {"pages": 5, "attempt": 1})


@pytest.mark.parametrize(("raised", "state"), [(Fail("never", retryable=False), "DEAD"), (ValueError("bad"), "FAILED")])
def test_what_is_raised_is_the_error(virtual: VirtualClockwork, raised: Exception, state: str) -> None:
    def work(*_: Any) -> None:
        raise raised

    found = played(virtual, work)
    assert found.state == state
    assert str(raised) in found.attempts[0].error


@pytest.mark.parametrize("raised", [Cancelled("the month is closed"), Lost("my partition is gone")])
def test_a_stop_that_nobody_has_told_it_of_is_a_failure(virtual: VirtualClockwork, raised: Exception) -> None:
    def work(_: Any, ctx: Delivered) -> None:
        ctx.heartbeat()
        raise raised

    found = played(virtual, work)
    assert found.state == "FAILED"
    assert found.attempts[0].error == f"{type(raised).__name__}: {raised}"


def test_a_cancel_stops_it_at_its_next_heartbeat(virtual: VirtualClockwork) -> None:
    def work(_: Any, ctx: Delivered) -> None:
        ctx.heartbeat()
        raise AssertionError("it goes on")

    found = played(virtual, work, lambda seen: seen[0].executions.cancel(seen[1]))
    assert found.state == "CANCELLED"


def test_what_is_somebody_elses_by_now_is_left_alone(virtual: VirtualClockwork) -> None:
    def work(_: Any, ctx: Delivered) -> Any:
        virtual.advance(seconds=120)  # its claim ends, and the next attempt is delivered
        return "too late"

    found = played(virtual, work)
    assert next(one.state for one in found.attempts) == "WORKER_LOST"
    assert found.state == "RUNNING"


@pytest.mark.parametrize(
    ("told", "error"), [((True, None), TypeError), ((2.0, None), ValueError), ((None, 7), TypeError)]
)
def test_a_heartbeat_that_cannot_be_told_is_the_handlers_fault(
    virtual: VirtualClockwork, told: tuple[Any, Any], error: type[Exception]
) -> None:
    def work(_: Any, ctx: Delivered) -> Any:
        with pytest.raises(error):
            ctx.heartbeat(*told)
        ctx.heartbeat(0.5, "half" + 1_000 * "!")
        return "done"

    assert played(virtual, work).state == "SUCCEEDED"


def test_a_function_that_is_told_that_its_claim_is_over_tells_nothing(virtual: VirtualClockwork) -> None:
    told = list[str]()

    def work(_: Any, ctx: Delivered) -> Any:
        virtual.advance(seconds=120)  # its claim ends, and the next attempt is delivered
        ctx.report = lambda outcome: told.append(str(outcome))  # type: ignore[method-assign]
        ctx.heartbeat()

    assert played(virtual, work).state == "RUNNING"
    assert not told
