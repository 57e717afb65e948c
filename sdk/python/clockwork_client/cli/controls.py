"""`clockwork job pause`, `resume`, `cancel`: of one job, or of all with a tag or a prefix of their keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from clockwork_client.cli import many, show
from clockwork_client.cli.names import id_of
from clockwork_client.cli.options import Command, named, tries
from clockwork_client.cli.shown_job import show_job
from clockwork_client.handled import HandledJobs, PassedJob

if TYPE_CHECKING:
    from clockwork_client.cli.state import State
    from clockwork_client.states import WhatWaits

#: Options that select many jobs, and options that only go with those.
_MANY = ("tag", "prefix")
_OF_MANY = ("yes", "next_token")
_OF_ONE = ("if_revision", "dry_run")
_UNREADABLE = "the deployed version of Clockwork cannot read it"


def which(command: Command) -> Command:
    """A decorator: the command is about one job, by its id or `--key`, or about many."""
    command = click.option("--next-token", help="Of many: go on where an earlier run was stopped.")(command)
    command = click.option("--yes", "-y", is_flag=True, help="Of many: do not ask.")(command)
    command = click.option("--key-prefix", "prefix", help="All jobs whose keys begin so.")(command)
    command = click.option("--tag", help="All jobs with this tag: name=value, or a name.")(command)
    command = click.option("--if-revision", type=int, help="Only if the job is still at this revision.")(command)
    return named(tries(command))


@click.command()
@which
@click.option("--reason", help="Why, for others to read.")
@click.option("--waiting", type=click.Choice(["keep", "cancel"]), help="What was due before and waits (keep).")
@click.pass_obj
def pause(state: State, /, reason: str | None, waiting: WhatWaits | None, **given: Any) -> None:
    """Stop a named job until it is resumed; or all with a tag or a prefix of their keys."""
    if _is_about_many(given):
        call = state.cw.jobs.pause_many
        _handle(state, "Pause", lambda **more: call(reason=reason, waiting=waiting, **more), given)
        return
    show_job(state, state.cw.jobs.pause(_one(state, given), reason, waiting=waiting, **_of_one(given)))


@click.command()
@which
@click.option("--reason", help="Why, for others to read.")
@click.option("--waiting", type=click.Choice(["keep", "cancel"]), help="What was due before and waits (keep).")
@click.option("--paused-reason", help="Of many: leave alone what was paused for another reason.")
@click.pass_obj
def resume(
    state: State, /, reason: str | None, waiting: WhatWaits | None, paused_reason: str | None, **given: Any
) -> None:
    """Go on with a paused job; or with all that have a tag or a prefix of their keys."""
    if _is_about_many(given):
        call = partial(state.cw.jobs.resume_many, waiting=waiting, paused_reason=paused_reason)
        _handle(state, "Resume", lambda **more: call(reason=reason, **more), given)
        return
    if paused_reason is not None:
        raise click.UsageError("--paused-reason is for many jobs")
    show_job(state, state.cw.jobs.resume(_one(state, given), reason, waiting=waiting, **_of_one(given)))


@click.command()
@which
@click.option("--reason", help="Of many: why, for others to read.")
@click.pass_obj
def cancel(state: State, /, reason: str | None, **given: Any) -> None:
    """Cancel a job, or all with a tag or a prefix of their keys. Exit status 1 if the cancel came too late."""
    if _is_about_many(given):
        call = state.cw.jobs.cancel_many
        _handle(state, "Cancel", lambda **more: call(reason=reason, **more), given)
        return
    if reason is not None:
        raise click.UsageError("--reason is for many jobs")
    found = state.cw.jobs.cancel(_one(state, given), **_of_one(given))
    if state.is_json:
        show.give(state, found.raw)
    else:
        tried = "nothing was changed" if found.dry_run else None
        show.facts(state, [("dry run", tried), ("result", found.result), ("reason", found.reason)])
    if found.result == "too_late":
        raise SystemExit(1)


def _one(state: State, given: dict[str, Any]) -> str:
    return id_of(state, given["job_id"], given["key"])


def _of_one(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in _OF_ONE}


def _is_about_many(given: dict[str, Any]) -> bool:
    """Whether many jobs are meant. Raises UsageError for options that do not go together."""
    is_many = any(given[name] is not None for name in _MANY)
    if is_many and (given["job_id"] or given["key"]):
        raise click.UsageError("either one job, or --tag and --key-prefix")
    strange = [name for name in (_OF_ONE if is_many else _OF_MANY) if given[name]]
    if strange:
        raise click.UsageError(f"--{strange[0].replace('_', '-')} is for {'one job' if is_many else 'many jobs'}")
    return is_many


def _handle(state: State, verb: str, call: Callable[..., HandledJobs], given: dict[str, Any]) -> None:
    chosen = {name: given[name] for name in _MANY if given[name] is not None}
    passed: list[PassedJob] = []

    def found() -> Any:
        yield from state.cw.jobs.list(prefix=given["prefix"], tag=given["tag"], page_size=1_000)

    if not given["yes"] and not many.confirm(state, verb, "named job", found()):
        return

    def once(token: str | None) -> HandledJobs:
        answer = call(next_token=token, **chosen)
        unreadable = [PassedJob({"jobKey": key, "reason": _UNREADABLE}) for key in answer.unreadable or ()]
        for one in (*(answer.passed or ()), *unreadable):
            show.said(f"{one.job_key} was passed: {one.reason}")
            passed.append(one)
        return answer

    many.handle(state, once, given["next_token"], passed)
