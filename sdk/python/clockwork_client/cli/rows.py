"""The columns and rows of lists that more than one command prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clockwork_client.cli import show
from clockwork_client.cli.tables import Column
from clockwork_client.states import FINAL

if TYPE_CHECKING:
    from clockwork_client.attention import ClientRun
    from clockwork_client.cli.state import State
    from clockwork_client.results import Execution, Job

JOBS = (
    Column("key", least=24),
    Column("state", is_state=True),
    Column("next fire"),
    Column("schedule", least=10, rank=1),
    Column("target", least=24, rank=2),
    Column("job", is_wide=True),
)
EXECUTIONS = (
    Column("job", least=20),
    Column("state", is_state=True),
    Column("due"),
    Column("attempts", rank=2),
    Column("last word", least=24, rank=1),
    Column("execution", rank=3),
)


def job(state: State, one: Job) -> list[str]:
    """The cells of a job in a list: no next fire if it is over or paused, and of one that fired once how it ended."""
    due_at = None if one.state in FINAL | {"PAUSED"} else one.next_fire_at or one.due_at
    schedule = show.schedule(one.schedule, state.now)
    if one.schedule is not None and not (one.schedule.cron or one.schedule.every or state.is_wide):
        schedule = "once"
    shown = one.last_state or one.state
    return [one.job_key or "one-off", shown, show.at(state, due_at), schedule, show.place(one.target), one.job_id]


def run(state: State, one: ClientRun) -> list[str]:
    """The cells of an execution in a list over all jobs."""
    due = show.at(state, one.due_at)
    return [one.job_key or "one-off", one.state, due, str(one.attempts), one.reason or "", one.execution_id]


def execution(state: State, one: Execution) -> list[str]:
    """The cells of an execution in a list."""
    last = one.attempts[-1] if one.attempts else None
    said = one.reason or (last.error if last is not None else None) or ""
    due = show.at(state, one.due_at)
    return [one.job_key or "one-off", one.state, due, str(len(one.attempts)), said, one.execution_id]
