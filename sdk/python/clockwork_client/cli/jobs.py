"""`clockwork job`: create, list, count, get, fires, update, pause, resume, run, backfill, cancel."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

import click

from clockwork_client import objects, requests
from clockwork_client.answers import Target, camel
from clockwork_client.cli import completing, controls, rows, show, values
from clockwork_client.cli.differences import changed, with_values
from clockwork_client.cli.names import id_of
from clockwork_client.cli.near import Group
from clockwork_client.cli.options import (
    DEFINITION,
    SCHEDULE,
    TARGET,
    chosen,
    named,
    options,
    payload,
    payload_of,
    tries,
)
from clockwork_client.cli.shown_job import show_job
from clockwork_client.cli.tables import Column
from clockwork_client.cli.waiting import UNCERTAIN, awaited, wait_for, watched
from clockwork_client.cli.workflows import FILE, target_of
from clockwork_client.errors import Conflict
from clockwork_client.states import ENDED, JobState
from clockwork_client.unsent import WAYS

if TYPE_CHECKING:
    from clockwork_client.cli.state import State


#: How the execution of a job that fired once can have ended.
_ENDS = tuple(sorted(ENDED - set(get_args(JobState))))
#: All states of the lists of jobs.
_SHOWN = (*get_args(JobState), *_ENDS)


@click.group(cls=Group)
def job() -> None:
    """Jobs: create, list, count, get, fires, update, pause, resume, run, backfill, cancel."""


@job.command()
@click.argument("target", required=False)
@click.option("--workflow", type=FILE, metavar="FILE", help="In place of TARGET: JSON of a workflow, or -.")
@payload
@click.option("--key", help="Names the job among its client's.")
@click.option("--idempotency-key", metavar="KEY", help="The same command under the same key makes one job.")
@tries
@options(SCHEDULE, TARGET, DEFINITION)
@awaited
@click.pass_obj
def create(
    state: State,
    /,
    target: str | None,
    workflow: dict[str, Any] | None,
    data: Any,
    text: str | None,
    key: str | None,
    idempotency_key: str | None,
    dry_run: bool,
    wait: float | None,
    **given: Any,
) -> None:
    """Create a job: clockwork job create --in 5m https://example.com/hook --data '{"order":17}'.

    TARGET is https://..., kafka:TOPIC, pool:NAME/HANDLER, or the ARN of a queue, topic, function or bus.
    """
    found = {**chosen(SCHEDULE, given), **chosen(DEFINITION, given)}
    if sum(name in found for name in WAYS) != 1:
        raise click.UsageError("say when: one of --in, --at, --every, --cron")
    if wait is not None and (dry_run or given["record"] == "none" or "every" in found or "cron" in found):
        raise click.UsageError("--wait is for a job that runs once, with a record")
    if key is not None:
        found["key"] = key
    content = payload_of(data, text)
    to = _target(target, workflow, {name: given[name] for name, _, _ in TARGET})
    body = requests.job(to, None if content is None else content.value, **found)
    try:
        made = state.cw.create(body, idempotency_key=idempotency_key, dry_run=dry_run)
    except Conflict as error:
        raise with_values(state, error, body) from error
    if wait is None:
        show_job(state, made)
        return
    show.said(f"The job {made.job_key or made.job_id} is created.", whole=True)
    if state.cw.jobs.get(made.job_id).record == "none":
        show.said("Its level of record is none: nothing tells when it has ended.")
        raise SystemExit(UNCERTAIN)
    wait_for(state, lambda: next(state.cw.executions.list(made.job_id, page_size=1), None), wait)


def _target(text: str | None, workflow: dict[str, Any] | None, more: dict[str, Any]) -> Target:
    if (text is None) == (workflow is None):
        raise click.UsageError("say where to: TARGET, or --workflow FILE")
    if text is not None:
        return values.target(text, more)
    if any(value not in (None, ()) for value in more.values()):
        raise click.UsageError("options of a target are for a TARGET: the nodes of a workflow have their own")
    assert workflow is not None
    return target_of(workflow)


@job.command("list")
@click.option("--prefix", shell_complete=completing.key, help="Of the keys.")
@click.option(
    "--state", "job_state", type=values.Word(_SHOWN), help="ACTIVE, PAUSED, COMPLETED or CANCELLED, or DEAD, ..."
)
@click.option("--tag", help="name=value, or a name.")
@click.option("--contains", help="In the key or the target, in any case.")
@click.option("--due-from", type=values.INSTANT, help="Its next fire is due then or later.")
@click.option("--due-to", type=values.INSTANT, help="Its next fire is due then or earlier.")
@click.option("--limit", type=click.IntRange(1), default=100, help="At most so many (100).")
@watched
@click.pass_obj
def list_(state: State, /, job_state: str | None, limit: int, **which: Any) -> None:
    """List named jobs in the order of their keys."""
    # A job that fired once is shown with the state of its execution: the API knows that job as COMPLETED.
    asked: Any = "COMPLETED" if job_state in _ENDS else job_state
    found = state.cw.jobs.list(state=asked, page_size=min(limit, 1_000), **which)
    pages = (one for one in found if job_state not in _ENDS or one.last_state == job_state)
    if state.is_json:
        show.give_each(state, islice(pages, limit))
        return
    show.table(state, rows.JOBS, [rows.job(state, one) for one in islice(pages, limit)])
    if next(pages, None) is not None:
        show.said(f"The first {limit}: there are more. Choose --limit or --prefix.")


@job.command()
@click.option("--prefix", shell_complete=completing.key, help="Of the keys.")
@click.option("--tag", help="name=value, or a name.")
@click.option("--contains", help="In the key or the target, in any case.")
@click.pass_obj
def count(state: State, /, **which: str | None) -> None:
    """Count named jobs, by state and by tag."""
    found = state.cw.jobs.counts(**which)
    if state.is_json:
        show.give(state, found.raw)
        return
    more = " or more" if found.more else ""
    show.facts(state, [("jobs", f"{found.count}{more}"), *((one.state.lower(), one.count) for one in found.states)])
    show.table(state, ("tag", "jobs"), [[one.tag, str(one.count)] for one in found.tags])


@job.command()
@named
@click.pass_obj
def get(state: State, job_id: str | None, key: str | None) -> None:
    """Show a whole job."""
    show_job(state, state.cw.jobs.get(id_of(state, job_id, key)))


#: How a shift of the clock touches a fire, in words.
_SHIFTS = {
    "gap": "the clock skips its time that day",
    "overlapFirst": "its time comes twice: this is the first",
    "overlapSecond": "its time comes twice: this is the second",
}


@job.command()
@named
@click.option("--from", "from_", type=values.INSTANT, help="Now unless given.")
@click.option("--count", type=click.IntRange(1, 1_000), default=10, help="So many fires (10).")
@click.pass_obj
def fires(state: State, job_id: str | None, key: str | None, from_: Any, count: int) -> None:
    """List the next fires of a named job, with the shifts of the clock among them."""
    found = state.cw.jobs.fires(id_of(state, job_id, key), from_=from_, count=count)
    if state.is_json:
        show.give(state, found.raw)
        return
    columns = ("fire", "there", "here", Column("shift of the clock", least=18))
    show.table(state, columns, [
        ["" if one.ordinal is None else str(one.ordinal), show.local(state, one.local), show.at(state, one.at),
         _SHIFTS.get(one.dst or "", one.dst or "")]
        for one in found.items
    ])  # fmt: skip


@job.command()
@named
@payload
@click.option("--target", help="As of `create`.")
@click.option("--workflow", type=FILE, metavar="FILE", help="As of `create`.")
@click.option("--patch", type=values.JSON, help="A merge patch in the API's names, for all else.")
@click.option("--if-revision", type=int, help="Only if the job is still at this revision.")
@tries
@options(SCHEDULE, TARGET, DEFINITION)
@click.pass_obj
def update(
    state: State,
    /,
    job_id: str | None,
    key: str | None,
    data: Any,
    text: str | None,
    target: str | None,
    workflow: dict[str, Any] | None,
    patch: Any,
    if_revision: int | None,
    dry_run: bool,
    **given: Any,
) -> None:
    """Change the given options of a job, leave the rest, and show each change with both values."""
    changes: dict[str, Any] = values.object_of("--patch", patch)
    schedule = chosen(SCHEDULE, given)
    if schedule:
        # Another way to say when replaces the one before: null takes that away.
        ways = dict.fromkeys(objects.RENAMED.get(way) or camel(way) for way in WAYS)
        is_another = any(way in schedule for way in WAYS)
        changes["schedule"] = {**(ways if is_another else {}), **requests.schedule_body(schedule)}
    changes |= requests.renamed(chosen(DEFINITION, given))
    more = {name: given[name] for name, _, _ in TARGET}
    if target is not None or workflow is not None:
        changes["target"] = _target(target, workflow, more).raw
    elif any(value not in (None, ()) for value in more.values()):
        raise click.UsageError("options of a target need --target")
    content = payload_of(data, text)
    if content is not None:
        changes["payload"] = content.value
    if not changes:
        raise click.UsageError("nothing to change")
    which = id_of(state, job_id, key)
    before = None if state.is_json or dry_run else state.cw.jobs.get(which).raw
    show_job(state, state.cw.jobs.patch(which, changes, if_revision=if_revision, dry_run=dry_run))
    if before is not None and (rows := changed(changes, before, state.cw.jobs.get(which).raw)):
        show.table(state, ("changed", "before", "now"), rows)


@job.command()
@named
@click.option("--idempotency-key", metavar="KEY", help="The same command under the same key runs it once.")
@awaited
@click.pass_obj
def run(state: State, job_id: str | None, key: str | None, idempotency_key: str | None, wait: float | None) -> None:
    """Execute a named job once, now."""
    started = state.cw.jobs.run(id_of(state, job_id, key), idempotency_key=idempotency_key)
    if wait is not None:
        wait_for(state, lambda: state.cw.executions.get(started.execution_id), wait)
    elif state.is_json:
        show.give(state, started.raw)
    else:
        show.facts(state, [("execution", started.execution_id)])


@job.command()
@named
@click.option("--from", "from_", type=values.INSTANT, required=True, help="The first instant of the range.")
@click.option("--to", type=values.INSTANT, required=True, help="The last instant of the range.")
@click.option("--max-per-second", type=float, default=10.0, help="At most so many (10).")
@click.option("--idempotency-key", metavar="KEY", help="The same command under the same key does it once.")
@click.pass_obj
def backfill(
    state: State,
    job_id: str | None,
    key: str | None,
    from_: Any,
    to: Any,
    max_per_second: float,
    idempotency_key: str | None,
) -> None:
    """Execute the fires of a past range again."""
    found = id_of(state, job_id, key)
    started = state.cw.jobs.backfill(found, from_, to, max_per_second=max_per_second, idempotency_key=idempotency_key)
    if state.is_json:
        show.give(state, started.raw)
    else:
        show.facts(state, [("backfill", started.backfill_id), ("executions", started.count)])


for command in (controls.pause, controls.resume, controls.cancel):
    job.add_command(command)
