"""Steps of workflows in a test: the answers of their targets, the order in which they begin, and their states."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery as Attempt
from clockwork.domain.runs.results import with_result
from clockwork.targets.message import Errand
from clockwork_client.client import Clockwork
from clockwork_client.testing.deliveries import Answer, Delivery
from clockwork_client.worker.fail import Fail

#: A step's answer to a delivery: a result in JSON, an Answer, Fail, TimeoutError or an OSError.
Stepping = Callable[[Delivery], Any]


@dataclass(frozen=True)
class Run:
    """A run of a workflow as it is now: `nodes` has the state of each step by its name."""

    execution_id: str
    state: str
    nodes: dict[str, str]


@dataclass(frozen=True)
class Began:
    """An attempt of a step, which began `at` (UTC)."""

    run: str
    name: str
    attempt: int
    at: datetime


class Steps:
    """The functions that answer for steps by their names, and the attempts of steps in the order of their begin."""

    def __init__(self) -> None:
        self.began: list[Began] = []
        self._answers: dict[str, Stepping] = {}

    def answer(self, name: str, answer: Stepping) -> None:
        """From now on a function answers for a step."""
        self._answers[name] = answer

    def of(self, delivery: Delivery) -> Stepping | None:
        """The function that answers a delivery, if it is of a step that has one."""
        return None if delivery.node is None else self._answers.get(delivery.node)

    def check_order(self, names: Sequence[str], run: str | None) -> None:
        """Assert that these steps of a run, or of the run that began last, have begun one after the other."""
        which = run or (self.began[-1].run if self.began else "")
        order = list(dict.fromkeys(one.name for one in self.began if one.run == which))
        if [one for one in order if one in names] != list(names):
            raise AssertionError(f"the steps began in the order {', '.join(order) or 'of none'}")


def answered(found: Any, delivery: Delivery, cw: Clockwork) -> object:
    """The target's answer that a step's function means. A step that ends by a callback is reported at once."""
    if found is None or isinstance(found, Answer | OSError):
        return Answer() if found is None else found
    if isinstance(found, Fail):
        return _failed(found, delivery, cw)
    if delivery.token is None:
        return Answer(200, json.dumps(found, allow_nan=False))
    cw.executions.complete(delivery.execution_id, delivery.token, found)
    return Answer()


def _failed(error: Fail, delivery: Delivery, cw: Clockwork) -> Answer:
    wait = error.retry_after.total_seconds() if isinstance(error.retry_after, timedelta) else error.retry_after
    if delivery.token is None:
        return Answer(500 if error.retryable else 422, str(error), None if wait is None else round(wait))
    retryable = None if error.retryable else False
    cw.executions.fail(delivery.execution_id, delivery.token, str(error), retryable=retryable, retry_after_seconds=wait)
    return Answer()


def with_answer(outcome: Outcome, answer: object) -> Outcome:
    """The outcome of a step's attempt with the body of the answer as its result, as an HTTP target has it."""
    return with_result(outcome, answer.body.encode(), is_whole=True) if isinstance(answer, Answer) else outcome


def stepped(step: Stepping, delivery: Delivery) -> Any:
    """The answer of a test's function, which may also raise Fail."""
    try:
        return step(delivery)
    except Fail as error:
        return error


def told(errand: Attempt, now: int, ending: Stepping | None, delivery: Delivery) -> Outcome:
    """The word of a service on what an attempt began, as a test's function says it; None: it has ended well."""
    said = None if ending is None else stepped(ending, delivery)
    if isinstance(said, Fail):
        return Outcome(State.FAILED, now, now, error=str(said), told=True)
    if said is not None or ending is None:
        return Outcome(State.SUCCEEDED, now, now, answer=json.dumps(said, allow_nan=False).encode(), told=True)
    if errand.errand is Errand.STOP:
        return Outcome(State.FAILED, now, now, error="ABORTED: it was stopped", told=True)
    return Outcome(State.RUNNING, now, now, told=True)
