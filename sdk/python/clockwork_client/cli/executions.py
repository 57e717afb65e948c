"""`clockwork exec`: list, get, cancel, redrive, complete, fail."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

import click

from clockwork_client.cli import completing, rows, show, values
from clockwork_client.cli.names import execution_of, id_of
from clockwork_client.cli.near import Group
from clockwork_client.cli.options import named, one_execution
from clockwork_client.cli.shown_execution import show_cancel, show_execution
from clockwork_client.cli.waiting import awaited, wait_for, watched
from clockwork_client.errors import NotFound
from clockwork_client.states import ExecutionState

if TYPE_CHECKING:
    from clockwork_client.cli.state import State
    from clockwork_client.results import Execution


@click.group("exec", cls=Group)
def executions() -> None:
    """Executions of jobs: list, get, cancel, redrive, complete, fail."""


@executions.command("list")
@named
@click.option("--from", "from_", type=values.INSTANT, help="Due at this instant or later (24 hours ago).")
@click.option("--to", type=values.INSTANT, help="Due at this instant or earlier (now).")
@click.option("--state", "run_state", type=values.Word(get_args(ExecutionState)), help="SUCCEEDED, DEAD, SKIPPED, ...")
@click.option("--prefix", shell_complete=completing.key, help="Of the job's key.")
@click.option("--tag", help="Of the job: name=value, or a name.")
@click.option("--all", "of_all", is_flag=True, help="What has ended of all jobs, if the client has --runs-index.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, help="At most so many (100).")
@click.option("--next-token", help="Go on behind an earlier page, of all jobs.")
@watched
@click.pass_obj
def list_(
    state: State,
    /,
    job_id: str | None,
    key: str | None,
    run_state: ExecutionState | None,
    of_all: bool,
    limit: int,
    **which: Any,
) -> None:
    """List executions: of JOB the newest first, or else of all named jobs, the latest due first."""
    if job_id is None and key is None:
        _of_client(state, run_state, limit, jobs="all" if of_all else None, **which)
        return
    if of_all or any(value is not None for value in which.values()):
        raise click.UsageError("of one job, --state and --limit choose")
    found = state.cw.executions.list(id_of(state, job_id, key), page_size=limit)
    chosen = islice((one for one in found if run_state in (None, one.state)), limit)
    if state.is_json:
        show.give_each(state, chosen)
    else:
        # All are of one job, which the user has named.
        show.table(state, rows.EXECUTIONS[1:], [rows.execution(state, one)[1:] for one in chosen])


def _of_client(state: State, run_state: ExecutionState | None, limit: int, **which: Any) -> None:
    found = state.cw.clients.runs(state=run_state, page_size=limit, **which)
    if state.is_json:
        show.give(state, found.raw)
        return
    show.table(state, rows.EXECUTIONS, [rows.run(state, one) for one in found.items])
    since, is_all = show.at(state, found.complete_from), which["jobs"] == "all"
    if is_all:
        show.said(f"Of {found.runs_read:,} runs that have ended, complete from {since} on.")
    else:
        show.said(f"Of {found.jobs_read:,} named jobs, complete from {since} on. Jobs without a key are not listed.")
    if found.next_token:
        show.said(f"{'Earlier runs' if is_all else 'Other jobs'} follow: --next-token {found.next_token}", whole=True)


@executions.command()
@one_execution
@click.pass_obj
def get(state: State, execution_id: str) -> None:
    """Show an execution with its attempts. The key of a job stands for its newest execution."""
    found = state.cw.executions.get(execution_of(state, execution_id))
    show_execution(state, found, None if state.is_json else _payload(state, found))


def _payload(state: State, found: Execution) -> Any:
    """The payload of its job. Of an old execution the job may be forgotten; of a node it is that of its run."""
    try:
        return state.cw.jobs.get(found.job_id).payload
    except NotFound:
        return None


@executions.command()
@one_execution
@click.pass_obj
def cancel(state: State, execution_id: str) -> None:
    """Cancel one execution. Exit status 1 if the cancel came too late."""
    show_cancel(state, state.cw.executions.cancel(execution_of(state, execution_id)))


@executions.command()
@one_execution
@click.option("--as-it-was", is_flag=True, help="Of a named job: as its record has it, not as the job is now.")
@awaited
@click.pass_obj
def redrive(state: State, execution_id: str, as_it_was: bool, wait: float | None) -> None:
    """Deliver a DEAD execution again."""
    which = execution_of(state, execution_id)
    begun = state.cw.executions.redrive(which, as_it_was=as_it_was or None)
    if wait is None:
        show_execution(state, begun)
    else:
        wait_for(state, lambda: state.cw.executions.get(which), wait)


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
