"""`clockwork exec`: list, recent, get, cancel, redrive, complete, fail."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from clockwork_client import results
from clockwork_client.cli import show, values
from clockwork_client.cli.options import id_of, named

if TYPE_CHECKING:
    from clockwork_client.cli.state import State
    from clockwork_client.workflows.answers import RunCounts


@click.group("exec")
def executions() -> None:
    """Executions of jobs: list, recent, get, cancel, redrive, complete, fail."""


@executions.command("list")
@named
@click.option("--limit", type=click.IntRange(1), default=20, help="At most so many (20).")
@click.pass_obj
def list_(state: State, job_id: str | None, key: str | None, limit: int) -> None:
    """List executions of a job, newest first."""
    pages = islice(state.cw.executions.list(id_of(state, job_id, key), page_size=min(limit, 1_000)), limit)
    if state.is_json:
        show.each_as_json(pages)
    else:
        show.table(show.EXECUTION_HEADS, [show.execution_row(one, state.now) for one in pages])


@executions.command()
@click.option("--from", "from_", type=values.INSTANT, help="Due at this instant or later (24 hours ago).")
@click.option("--to", type=values.INSTANT, help="Due at this instant or earlier (now).")
@click.option("--state", "run_state", help="SUCCEEDED, DEAD, SKIPPED, ...")
@click.option("--prefix", help="Of the job's key.")
@click.option("--tag", help="Of the job: name=value, or a name.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, help="At most so many (100).")
@click.option("--next-token", help="Go on with the jobs behind those of an earlier page.")
@click.pass_obj
def recent(state: State, /, run_state: str | None, limit: int, **which: Any) -> None:
    """List the runs of all named jobs within a time, the latest due first."""
    found = state.cw.clients.runs(state=run_state, page_size=limit, **which)
    if state.is_json:
        show.as_json(found.raw)
        return
    rows = [[one.job_key or "", one.state, show.when(one.due_at, state.now), str(one.attempts), one.reason or "",
             one.execution_id] for one in found.items]  # fmt: skip
    show.table(("job", "state", "due", "attempts", "reason", "execution"), rows)
    since = show.when(found.complete_from, state.now)
    show.said(f"Of {found.jobs_read:,} named jobs, complete from {since} on. One-off jobs are not in it.")
    if found.next_token:
        show.said(f"Other jobs follow: --next-token {found.next_token}")


@executions.command()
@click.argument("execution_id")
@click.pass_obj
def get(state: State, execution_id: str) -> None:
    """Show an execution with its attempts."""
    show_execution(state, state.cw.executions.get(execution_id))


@executions.command()
@click.argument("execution_id")
@click.pass_obj
def cancel(state: State, execution_id: str) -> None:
    """Cancel one execution. Exit status 1 if the cancel came too late."""
    show_cancel(state, state.cw.executions.cancel(execution_id))


@executions.command()
@click.argument("execution_id")
@click.option("--as-it-was", is_flag=True, help="Of a named job: as its record has it, not as the job is now.")
@click.pass_obj
def redrive(state: State, execution_id: str, as_it_was: bool) -> None:
    """Deliver a DEAD execution again."""
    show_execution(state, state.cw.executions.redrive(execution_id, as_it_was=as_it_was or None))


#: Never an argument: each user of the machine may read the command lines of all processes.
_TOKEN = click.option(
    "--token-file",
    "token",
    type=values.TOKEN,
    metavar="FILE",
    help="Has the attempt's token; - is standard input. Or set CLOCKWORK_TOKEN.",
)


@executions.command()
@click.argument("execution_id")
@_TOKEN
@click.option("--result", type=values.JSON, help="Any JSON value, kept with the execution.")
@click.pass_obj
def complete(state: State, execution_id: str, token: str | None, result: values.Given | None) -> None:
    """Report that an attempt which ends by a report has succeeded."""
    token = token or values.token_of_environment()
    show_execution(state, state.cw.executions.complete(execution_id, token, result and result.value))


@executions.command()
@click.argument("execution_id")
@_TOKEN
@click.option("--error", required=True, help="What went wrong, kept with the execution.")
@click.option("--final", is_flag=True, help="No retry follows.")
@click.pass_obj
def fail(state: State, execution_id: str, token: str | None, error: str, final: bool) -> None:
    """Report that an attempt which ends by a report has failed."""
    token = token or values.token_of_environment()
    show_execution(state, state.cw.executions.fail(execution_id, token, error, retryable=False if final else None))


def show_cancel(state: State, found: results.Execution) -> None:
    """Print an execution as its cancel left it. Exits with 1 if the cancel came too late."""
    show_execution(state, found)
    if found.result == "too_late":
        raise SystemExit(1)


def show_execution(state: State, found: results.Execution) -> None:
    """Print an execution and its attempts."""
    if state.is_json:
        show.as_json(found.raw)
        return
    now = state.now
    show.facts(
        [
            ("execution", found.execution_id),
            ("job", found.job_id),
            ("state", found.state),
            ("result", found.result),
            ("due", show.when(found.due_at, now)),
            ("next attempt", show.when(found.next_attempt_at, now)),
            ("waits for", _waiting(found, now)),
            ("at work until", found.at_work and show.when(found.at_work.lease_until, now)),
            ("reported", found.report and found.report.raw),
            ("reason", found.reason),
            ("skipped", found.skipped),
            ("nodes", found.run and _counts(found.run)),
            ("node", found.node and f"{found.node.name} of {found.node.run}"),
            ("still run", ", ".join(one.execution_id for one in found.executions or ())),
        ]
    )
    if found.attempts:
        rows = [
            [one.number, one.state, show.when(one.started_at, now), _blank(one.lateness_ms), _blank(one.status_code),
             _blank(one.error or one.response_excerpt)]
            for one in found.attempts
        ]  # fmt: skip
        show.table(("attempt", "state", "started", "late ms", "status", "error"), rows)


def _waiting(found: results.Execution, now: datetime) -> str:
    if found.waiting is None:
        return ""
    until = f", until {show.when(found.waiting.until, now)}" if found.waiting.until else ""
    return f"{found.waiting.cause}: {found.waiting.says}{until}"


def _counts(run: RunCounts) -> str:
    counted = {"succeeded": run.succeeded, "failed": run.failed, "skipped": run.skipped, "open": run.open}
    stopped = f", stopped by {run.stopped}" if run.stopped else ""
    return ", ".join(f"{count} {name}" for name, count in counted.items() if count) + stopped


def _blank(value: object) -> object:
    return "" if value is None else value
