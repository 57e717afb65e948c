"""Bodies of answers are copied from stored structs field by field: no field is lost, and no unset field is sent."""

from __future__ import annotations

import pytest

from clockwork.domain.executions import State
from clockwork.edge.http.answer import AnswerBody, to_json
from clockwork.edge.responses.executions import Execution
from tests.support.examples import execution

AT = 1_777_975_200_250


class Shown(AnswerBody):
    job_id: str
    due_at: str
    next_attempt_at: str | None = None
    note: str | None = None


def test_a_field_is_given_or_taken_from_the_first_that_has_it_and_instants_become_text() -> None:
    first, second = execution(State.FAILED, job_id="a", due_at=AT), execution(State.FAILED, next_attempt_at=AT + 1)
    shown = Shown.like(first, first.waits, second.waits, note="given")
    assert to_json([shown]) == '[{"jobId":"a","dueAt":"2026-05-05T10:00:00.250Z","note":"given"}]'
    assert Shown.like(second, second.waits, note=None).next_attempt_at == "2026-05-05T10:00:00.251Z"


def test_a_field_that_nobody_gives_is_an_error_though_it_could_be_left_out() -> None:
    with pytest.raises(AttributeError, match="note"):
        Shown.like(execution(State.FAILED), execution(State.FAILED).waits)


def test_of_what_is_parked_nobody_knows_when_its_next_attempt_comes() -> None:
    parked = execution(State.PARKED, next_attempt_at=AT)
    assert Execution.of(parked).next_attempt_at is None
    assert Execution.of(execution(State.FAILED, next_attempt_at=AT)).next_attempt_at == "2026-05-05T10:00:00.250Z"
