"""Print an execution."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from clockwork_client import results
from clockwork_client.cli import show
from clockwork_client.cli.tables import Column

if TYPE_CHECKING:
    from clockwork_client.cli.state import State
    from clockwork_client.reports import AtWork
    from clockwork_client.workflows.answers import RunCounts
#: The characters of a bar of progress.
_BAR = 20


def show_cancel(state: State, found: results.Execution) -> None:
    """Print an execution as its cancel left it. Exits with 1 if the cancel came too late."""
    show_execution(state, found)
    if found.result == "too_late":
        raise SystemExit(1)


def show_execution(state: State, found: results.Execution, payload: object = None) -> None:
    """Print an execution and its attempts, and the payload if the caller has it."""
    if state.is_json:
        show.give(state, found.raw)
        return
    now, at_work = state.now, found.at_work
    show.facts(
        state,
        [
            ("execution", found.execution_id),
            ("job", found.job_key or found.job_id),
            ("state", found.state),
            ("result", found.result),
            ("reason", found.reason),
            ("due", show.when(found.due_at, now)),
            ("progress", at_work and progress(at_work)),
            ("worker", at_work and _worker(at_work)),
            ("lease until", at_work and show.when(at_work.lease_until, now)),
            ("deadline", at_work and show.when(at_work.deadline_at, now)),
            ("next retry", show.when(found.next_attempt_at, now)),
            ("waits for", _waiting(found, now)),
            ("has waited", found.waited and _waited(found.waited.raw)),
            ("asked for", "by hand" if found.forced else None),
            ("reported", found.report and found.report.raw),
            ("skipped", found.skipped),
            ("nodes", found.run and _counts(found.run)),
            ("node", found.node and f"{found.node.name} of {found.node.run}"),
            ("still run", ", ".join(one.execution_id for one in found.executions or ())),
            ("payload", payload),
        ],
    )
    if found.attempts:
        columns = ("attempt", Column("state", is_state=True), "started", Column("late", rank=2), Column("took", rank=1),
                   Column("status", rank=3), Column("error", least=24))  # fmt: skip
        show.table(state, columns, [_attempt(state, one) for one in found.attempts])


def _attempt(state: State, one: results.Attempt) -> list[object]:
    took = None if one.ended_at is None else (one.ended_at - one.started_at).total_seconds() * 1000
    error = one.error or one.response_excerpt or ""
    started = show.at(state, one.started_at)
    return [one.number, one.state, started, show.ms(one.lateness_ms), show.ms(took), one.status_code or "", error]


def progress(found: AtWork) -> str:
    """How far an attempt is, and what it says: `[########------------] 42 %  page 12 of 30`."""
    if found.progress is None:
        return found.message or ""
    filled = int(found.progress * _BAR)
    bar = "#" * filled + "-" * (_BAR - filled)
    return f"[{bar}] {found.progress:.0%}  {found.message or ''}".rstrip()


def _worker(found: AtWork) -> str:
    of = f" of {found.pool}" if found.pool else ""
    cancelled = ", which is asked to cancel" if found.cancel_requested else ""
    return f"{found.worker_id or 'the receiver'}{of}, at attempt {found.attempt}{cancelled}"


def _waited(causes: Mapping[str, int]) -> str:
    return ", ".join(f"{show.ms(count)} for {cause}" for cause, count in causes.items() if count)


def _waiting(found: results.Execution, now: datetime) -> str:
    if found.waiting is None:
        return ""
    until = f", until {show.when(found.waiting.until, now)}" if found.waiting.until else ""
    return f"{found.waiting.cause}: {found.waiting.says}{until}"


def _counts(run: RunCounts) -> str:
    counted = {"succeeded": run.succeeded, "failed": run.failed, "skipped": run.skipped, "open": run.open}
    stopped = f", stopped by {run.stopped}" if run.stopped else ""
    return ", ".join(f"{count} {name}" for name, count in counted.items() if count) + stopped
