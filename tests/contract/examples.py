"""Values for the contract tests."""

from __future__ import annotations

from clockwork.domain import keys
from clockwork.domain.executions import Attempt, Claimed, Execution, State
from clockwork.domain.ids import AnonymousJob, only_execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Deliver, Of, Release
from clockwork.domain.timeline import Row
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

#: 2026-05-05T10:00:00.250Z
DUE = 1_777_975_200_250
DAY = 86_400_000
JOB = AnonymousJob("p000", keys.row_key(DUE, "Zk3v0q-_7yT1mXw9rB2cLA"), 0)


def row(at: int = DUE, row_id: str = "a", partition_id: str = "p000", blob: bytes = b"\x01\x00blob") -> Row:
    """A row that is due at `at`."""
    return Row(partition_id, keys.row_key(at, row_id), blob, expires_at=3 * DAY + (at // 1000) * 1000)


def occurrence(body: bytes = b'{"order":1}', client_id: str = "acme") -> Occurrence:
    """An occurrence for a webhook."""
    target = HttpTarget("https://api.example.com/webhooks/orders", headers={"content-type": "application/json"})
    return Occurrence(client_id, DUE, DUE - 5_000, target, Payload(body), signing_secrets=("clockwork/acme",))


def release(run_at: int = DUE, body: bytes = b'{"order":1}') -> Release:
    """A release of a first attempt."""
    return Deliver(Of(JOB.job_id), occurrence(body), run_at)


def execution(
    state: State = State.RUNNING, revision: int = 1, due_at: int = DUE, job_id: str = JOB.job_id
) -> Execution:
    """A record as the claim of a first attempt leaves it."""
    return Execution(
        job_id=job_id,
        execution_id=only_execution(job_id, due_at),
        client_id="acme",
        due_at=due_at,
        state=state,
        revision=revision,
        expires_at=(due_at // 1000) * 1000 + 30 * DAY,
        attempt=1,
        claim=Claimed("gXhT5oW2bN8vQe1sKdYpRA", due_at + 60_000, due_at),
    )


def attempt(number: int = 1, state: State = State.SUCCEEDED) -> Attempt:
    """An attempt that has ended."""
    return Attempt(number, state, DUE + 3, DUE + 48, lateness_ms=3, status_code=200)
