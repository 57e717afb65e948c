"""Secrecy: no payload, header, secret's name or credential in a URL reaches a log, a metric or another caller."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.flows.containment import InvocationFailed
from tests.handlers.handlers import CONTEXT, Api, job_body, make_handler
from tests.support.events import poller_event, scheduled_event, sqs_event
from tests.support.examples import ADMIN, ALICE, failure
from tests.support.logs import logging_as_in_lambda

MARK = "s3cr3t-0f-th3-cl13nt"
MARKED = {
    "target": {
        "type": "http",
        "url": f"https://example.com/{MARK}?token={MARK}",
        "headers": {"authorization": f"Bearer {MARK}"},
    },
    "payload": {MARK: MARK},
    "tags": {MARK: MARK},
}


def written(capsys: pytest.CaptureFixture[str]) -> str:
    """Everything written to both streams since the last call."""
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_nothing_of_a_job_is_logged_on_any_way_that_it_may_go(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_as_in_lambda("DEBUG"):
        run_a_marked_job_in_every_way()
    output = written(capsys)
    for action in ("undecodable_message", "undecodable_dead_letter"):
        assert f'"action":"{action}"' in output
    assert MARK not in output


def run_a_marked_job_in_every_way() -> None:
    """Let marked jobs be accepted, repeated, refused, released, retried and DEAD, with garbage in the queue."""
    api = Api(max_receive_count=1)
    clockwork = api.clockwork
    clockwork.targets._answer = lambda _: failure(status_code=500, error="HTTP 500", excerpt=MARK)
    api.clockwork.signing_secrets.names.add(f"clockwork/{MARK}")
    put = {"principals": [ALICE], "signingSecrets": [f"clockwork/{MARK}"]}
    assert api.call("PUT", "/v1/clients/acme", put, caller=ADMIN).status == 200
    for delay in (0, 65):
        body = job_body(**MARKED, schedule={"delaySeconds": delay}, retryPolicy={"maxAttempts": 2, "jitter": "none"})
        assert api.call("POST", "/v1/jobs", body, headers={"Idempotency-Key": MARK}).status in (201, 409)
    api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(**MARKED), MARKED]})
    api.call("POST", "/v1/jobs", '{"payload": "' + MARK)
    api.call("GET", f"/v1/jobs/{MARK}")
    handlers = {
        moment: make_handler(moment, clockwork.world) for moment in ("ticker", "poller", "deliverer", "sweeper")
    }
    for _ in range(8):
        handlers["ticker"](scheduled_event(), CONTEXT)
        for shard in clockwork.shards.list():
            handlers["poller"](poller_event(shard), CONTEXT)
        clockwork.queue.put(MARK)
        received = [(message.message_id, message.body) for message in clockwork.queue.receive()]
        failed = handlers["deliverer"](sqs_event(received), CONTEXT)["batchItemFailures"]
        for message_id in {message_id for message_id, _ in received} - {one["itemIdentifier"] for one in failed}:
            clockwork.queue.delete(message_id)
        handlers["sweeper"](scheduled_event(), CONTEXT)
        clockwork.clock.advance(31_000)
    assert "DEAD" in {str(execution.state) for execution in clockwork.executions.all()}


@pytest.mark.parametrize(
    ("error", "status", "action"),
    [(ValueError(f"bad item: {MARK}"), 500, "api_failed"), (Unavailable("throttled"), 503, "api_unavailable")],
)
def test_a_defect_is_logged_with_its_place_and_told_to_nobody(
    capsys: pytest.CaptureFixture[str], error: Exception, status: int, action: str
) -> None:
    api = Api()
    api.clockwork.timeline.put = _raising(error)  # type: ignore[method-assign]
    with logging_as_in_lambda("DEBUG"):
        answer = api.create(**MARKED)
    assert (answer.status, answer.content_type) == (status, "application/problem+json")
    output = written(capsys)
    assert f'"action":"{action}"' in output
    assert MARK not in output + answer.text
    assert str(error) not in answer.text
    if status == 500:
        assert "ValueError" not in answer.text
        assert "create.py" in output
        assert "ValueError" in output


@pytest.mark.parametrize(("moment", "action"), [("sweeper", "repair_failed"), ("ticker", "invocation_failed")])
def test_a_defect_of_a_whole_repair_or_invocation_is_told_without_its_text(
    moment: str, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lambda's runtime writes the text of what an invocation raises, and of no cause."""
    api = Api()
    defect = _raising(ValueError(f"bad item: {MARK}"))
    api.clockwork.shards.all = api.clockwork.shards.list = defect  # type: ignore[method-assign]
    with logging_as_in_lambda("DEBUG"), pytest.raises(InvocationFailed) as raised:
        make_handler(moment, api.clockwork.world)(scheduled_event(), CONTEXT)
    output = written(capsys)
    assert f'"action":"{action}"' in output
    assert MARK not in output + "".join(traceback.format_exception(raised.value))


def _raising(error: Exception) -> Any:
    def put(*_: Any) -> None:
        raise error

    return put


def test_a_problem_quotes_no_value_of_a_secret_kind() -> None:
    api = Api()
    url = f"https://user:{MARK}@example.com/"
    answer = api.create(target={"type": "http", "url": url, "headers": {"x": f"{MARK}\n", "host": MARK}})
    assert answer.status == 422
    assert MARK not in answer.text
    answer = api.call("PUT", "/v1/clients/acme", {"signingSecrets": [MARK]}, caller=ADMIN)
    assert answer.status == 422
    assert MARK not in answer.text
