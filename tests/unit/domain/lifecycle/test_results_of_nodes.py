"""The result of a node that its target answers."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.executions import DAY_MS, State
from clockwork.domain.ids import NodeJob
from clockwork.domain.jobs import NodeOf
from clockwork.domain.lifecycle.attempts import plan_death, plan_outcome
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS
from clockwork.domain.lifecycle.transitions import refused
from clockwork.domain.releases import Of
from clockwork.domain.runs.results import TOO_LARGE, with_result
from clockwork.targets.message import LARGEST_RESULT
from tests.support.examples import NOW, execution, failure, release, success

NO_JSON, TOO_DEEP = "its answer is not JSON", "its answer is more than 64 objects and lists deep"
OF = Of(NodeJob("p000", "r" * 22, 1, 0).job_id, node=NodeOf("job.1.0", "a"))


@pytest.mark.parametrize(
    ("body", "is_whole", "answer", "error"),
    [
        (b'{"n":1}', True, b'{"n":1}', None),
        (b"null", True, b"null", None),
        (b"", True, None, None),
        (b"<html>", True, None, NO_JSON),
        (b"\xff", True, None, NO_JSON),
        (b'{"n":1', True, None, NO_JSON),
        (b"[" * LARGEST_RESULT, True, None, NO_JSON),
        (b"[" * 10_000 + b"]" * 10_000, True, None, NO_JSON),
        (b"[" * 64 + b"]" * 64, True, b"[" * 64 + b"]" * 64, None),
        (b"[" * 65 + b"]" * 65, True, None, TOO_DEEP),
        (b'{"x":[1,' * 400 + b"1" + b"]}" * 400, True, None, TOO_DEEP),
        (b'"x"', False, None, TOO_LARGE),
        (b"", False, None, TOO_LARGE),
    ],
)
def test_an_answer_is_kept_if_it_is_json_and_whole(
    body: bytes, is_whole: bool, answer: bytes | None, error: str | None
) -> None:
    outcome = with_result(success(), body, is_whole=is_whole)
    assert (outcome.state, outcome.answer, outcome.error) == (State.SUCCEEDED, answer, error)
    assert with_result(failure(), body, is_whole=is_whole) == failure()


def test_the_record_of_a_node_keeps_its_result_or_why_there_is_none() -> None:
    running = execution(State.RUNNING, claimant="me", attempt=1)
    for outcome in (with_result(success(), b"[1]", is_whole=True), with_result(success(), b"no", is_whole=True)):
        ended = plan_outcome(release(of=OF), running, outcome, NOW + 5, 0).execution
        assert ended is not None
        report = ended.end.report
        assert report is not None
        assert (report.state, report.result, report.error) == (State.SUCCEEDED, outcome.answer, outcome.error)
    for of, outcome in ((OF, success()), (release().of, msgspec.structs.replace(success(), answer=b"[1]"))):
        ended = plan_outcome(release(of=of), running, outcome, NOW + 5, 0).execution
        assert ended is not None
        assert ended.end.report is None


def test_a_node_whose_deliverers_were_lost_can_be_given_up_once_its_claim_is_over() -> None:
    """Its message came back from the dead-letter queue, and nobody is at work on it."""
    running = execution(State.RUNNING, claimant="me", attempt=1, claim_until=NOW, started_at=NOW - 1)
    given_up = release(of=OF)
    early, late = (
        plan_death(given_up, running, "it came back", NOW + CLAIM_GRACE_MS + ms, NOW + DAY_MS) for ms in (-1, 0)
    )
    assert "bury asks that the claim and its grace are over" in str(refused(running, early))
    assert refused(running, late) is None
    assert (late.state, late.kept.occurrence, late.needs_attention) == (State.DEAD, None, False)
