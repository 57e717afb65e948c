"""Deliveries as a target gets them, and the target's answers, in place of the network and the receiver."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.domain.ids import NamedJobId, decode_job
from clockwork.domain.releases import Delivery as Attempt
from clockwork.targets.http import HttpTarget
from clockwork.targets.web import webhooks
from clockwork.targets.web.urls import parse
from clockwork_client.answers import Target, target_of

#: The most characters of an answer's body that a record keeps.
_LONGEST_EXCERPT = 1_024


@dataclass(frozen=True)
class Delivery:
    """One attempt at a target, which began `at` (UTC) and is number `attempt` of its execution.

    `body` are the bytes of the payload; for targets other than HTTP an envelope or a message carries them, which is not
    shown. `headers`, in lower case, are the headers of a webhook, with a signature if its client has signing secrets.
    """

    at: datetime
    execution_id: str
    job_id: str
    job_key: str | None
    client_id: str
    attempt: int
    target: Target
    body: bytes
    headers: Mapping[str, str]
    #: Of an attempt that ends by callback: under it the receiver reports.
    token: str | None = None
    #: Of a step of a workflow: its name, and the executionId of its run.
    node: str | None = None
    run: str | None = None

    @property
    def payload(self) -> Any:
        """The JSON value in the body. Raises ValueError if it holds a text that is no JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """A target's answer: a status, and for a webhook the body and the header Retry-After (seconds, or a date).

    `takes`: how long the attempt lasts (s, or a timedelta). Beyond the target's `timeoutSeconds` it times out.
    """

    status: int = 200
    body: str = ""
    retry_after: int | str | None = None
    takes: float | timedelta = 0


#: The answer to a delivery: a status, an Answer, or an exception for an attempt without an answer.
Answering = Callable[[Delivery], "int | Answer | BaseException"]


def moment(at: int) -> datetime:
    """An instant (ms) as a datetime in UTC, exact to the millisecond."""
    return datetime.fromtimestamp(at // 1000, timezone.utc).replace(microsecond=at % 1000 * 1000)


def delivery_of(attempt: Attempt, now: int, secrets: Mapping[str, str]) -> Delivery:
    """An attempt as its target sees it at `now` (ms); `secrets` are the signing secrets by their names."""
    occurrence = attempt.occurrence
    job = decode_job(attempt.job_id)
    raw = msgspec.to_builtins(occurrence.target)
    raw.pop("private", None)
    return Delivery(
        at=moment(now),
        execution_id=attempt.execution_id,
        job_id=attempt.job_id,
        job_key=job.job_key if isinstance(job, NamedJobId) else None,
        client_id=occurrence.client_id,
        attempt=attempt.attempt,
        target=target_of(raw),
        body=occurrence.payload.body,
        headers=_headers(attempt, now, secrets),
        token=attempt.token,
        node=None if attempt.node is None else attempt.node.name,
        run=None if attempt.node is None else attempt.node.run,
    )


def outcome_of(answer: object, attempt: Attempt, now: int) -> Outcome:
    """The outcome of an attempt at `now` (ms). Raises TypeError or ValueError for anything that is no answer."""
    if isinstance(answer, TimeoutError):
        return Outcome(State.TIMED_OUT, now, now, error="no answer in time")
    if isinstance(answer, OSError):
        return Outcome(State.FAILED, now, now, error=f"no connection: {answer}")
    if isinstance(answer, bool) or not isinstance(answer, int | Answer):
        raise TypeError(f"on_deliver has to return a status, an Answer, TimeoutError() or an OSError, not {answer!r}")
    answer = Answer(answer) if isinstance(answer, int) else answer
    if not 200 <= answer.status <= 599:
        raise ValueError(f"{answer.status} is no status that a target ends an answer with: 200 to 599 are")
    return _answered(answer, attempt, now)


def _answered(answer: Answer, attempt: Attempt, now: int) -> Outcome:
    if webhooks.is_success(answer.status):
        return Outcome(State.SUCCEEDED, now, now, status_code=answer.status)
    waits = None if answer.retry_after is None else str(answer.retry_after)
    redirected = ": redirects are not followed" if 300 <= answer.status < 400 else ""
    return Outcome(
        State.FAILED,
        now,
        now,
        permanent=webhooks.is_permanent(answer.status, attempt.occurrence.retry_policy.retry_status_codes),
        status_code=answer.status,
        error=f"answered {answer.status}{redirected}",
        excerpt=answer.body[:_LONGEST_EXCERPT] or None,
        retry_after_seconds=webhooks.retry_after_seconds(waits, now),
    )


def _headers(attempt: Attempt, now: int, secrets: Mapping[str, str]) -> dict[str, str]:
    occurrence = attempt.occurrence
    if not isinstance(occurrence.target, HttpTarget):
        return {}
    defaults = {
        "content-type": "text/plain; charset=utf-8" if occurrence.payload.is_text else "application/json",
        "user-agent": "Clockwork",
    }
    theirs = {name.lower(): value for name, value in occurrence.target.headers.items()}
    ours = webhooks.headers_for(attempt.message, now, [secrets[name] for name in occurrence.signing_secrets])
    return defaults | theirs | ours | {"host": parse(occurrence.target.url).host_header}
