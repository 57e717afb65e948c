"""The command `clockwork`, its global options, and its exit statuses.

0 done, 1 refused, 2 wrong use, 3 not certain: repeat. A command loads its part of the code only when it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from clockwork_client.cli.state import State
from clockwork_client.errors import (
    ClockworkError,
    NotAllowed,
    NotCertain,
    NotConfigured,
    Refused,
    TooManyRequests,
    UnexpectedAnswer,
)
from clockwork_client.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

REFUSED, USAGE, UNCERTAIN = 1, 2, 3


def _job() -> click.Group:
    from clockwork_client.cli.jobs import job

    return job


def _exec() -> click.Group:
    from clockwork_client.cli.executions import executions

    return executions


def _run() -> click.Group:
    from clockwork_client.cli.runs import run

    return run


def _workflow() -> click.Group:
    from clockwork_client.cli.workflows import workflow

    return workflow


def _dead() -> click.Group:
    from clockwork_client.cli.dead import dead

    return dead


def _operation() -> click.Group:
    from clockwork_client.cli.operations import operation

    return operation


def _client() -> click.Group:
    from clockwork_client.cli.clients import client

    return client


def _pools() -> click.Group:
    from clockwork_client.cli.pools import pools

    return pools


def _cron() -> click.Group:
    from clockwork_client.cli.cron import cron

    return cron


def _upcoming() -> click.Command:
    from clockwork_client.cli.overview import upcoming

    return upcoming


def _shards() -> click.Command:
    from clockwork_client.cli.overview import shards

    return shards


def _audit() -> click.Command:
    from clockwork_client.cli.overview import audit

    return audit


def _whoami() -> click.Command:
    from clockwork_client.cli.overview import whoami

    return whoami


def _worker() -> click.Command:
    from clockwork_client.cli.worker import worker

    return worker


def _console() -> click.Command:
    from clockwork_client.cli.console import console

    return console


#: Groups of commands: the function that imports a group at its first use, and its line in the help.
GROUPS = {
    "job": (_job, "Jobs: create, list, count, get, fires, update, pause, resume, run, backfill, cancel."),
    "exec": (_exec, "Executions of jobs: list, recent, get, cancel, redrive, complete, fail."),
    "run": (_run, "Runs of workflows: nodes, graph, watch, cancel, redrive."),
    "workflow": (_workflow, "Files with workflows: check, graph."),
    "dead": (_dead, "DEAD executions of a client: list, causes, redrive, discard."),
    "operation": (_operation, "Changes of many jobs or dead executions: begin, list, get, watch, stop."),
    "client": (_client, "Clients, their principals and their bounds: list, get, usage, put, pause, resume, delete."),
    "pools": (_pools, "Pools of workers: list, show, running."),
    "cron": (_cron, "Cron expressions: explain, next."),
}
#: The same for commands that stand alone.
COMMANDS = {
    "upcoming": (_upcoming, "List the client's jobs that are about to start, anonymous ones included."),
    "audit": (_audit, "List the changes of the client, with author, time and reason."),
    "shards": (_shards, "Show the state of each shard of the timeline (admins)."),
    "console": (_console, "Show jobs and their executions in a browser, until Ctrl-C."),
    "worker": (_worker, "Run the handlers of a pool until SIGTERM."),
    "whoami": (_whoami, "Show the caller's principal, and the clients that it may act for."),
}
LOADED: dict[str, tuple[Callable[[], click.Command], str]] = {**GROUPS, **COMMANDS}


class Main(click.Group):
    """Imports a group when it is used, and turns the client's errors into words and exit statuses."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options. Global ones may stand behind the command as well, as those of the AWS CLI do."""
        return super().parse_args(ctx, in_front(args))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return [*LOADED, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a name."""
        return LOADED[name][0]() if name in LOADED else super().get_command(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of commands in the help."""
        own = [(name, one.get_short_help_str(80)) for name, one in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in LOADED.items()] + own)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        from clockwork_client.cli import show

        try:
            return super().invoke(ctx)
        except (NotConfigured, ValueError) as error:
            show.said(f"Error: {error}")
            ctx.exit(USAGE)
        except Refused as error:
            faults = [f"  {one.pointer or '(request)'}: {one.detail}" for one in error.faults]
            show.said(f"Refused: {error.status}: {error.detail}", *faults)
            if isinstance(error, TooManyRequests) and error.retry_after is not None:
                show.said(f"Come again {show.distance(error.retry_after)}.")
            if isinstance(error, NotAllowed):
                show.said("`clockwork doctor` checks credentials and permissions.")
            ctx.exit(REFUSED)
        except (NotCertain, UnexpectedAnswer) as error:
            _repeat(ctx, str(error), error.idempotency_key)
        except KeyboardInterrupt:
            state = ctx.find_object(State)
            if state is None or state.unanswered is None:
                raise
            request, key = state.unanswered
            _repeat(ctx, f"{request} was sent, and its answer had not come", key)
        except ClockworkError as error:
            show.said(f"Error: {error}")
            ctx.exit(REFUSED)


def _repeat(ctx: click.Context, why: str, idempotency_key: str | None) -> NoReturn:
    from clockwork_client.cli import show

    again = f" with --idempotency-key {idempotency_key}" if idempotency_key else ""
    show.said(f"Not certain: {why}", f"Repeat the command{again}.")
    ctx.exit(UNCERTAIN)


#: Global options, each with a value.
_GLOBAL = frozenset({"--url", "--client", "--profile", "--region", "--deadline", "--output"})


def in_front(args: list[str]) -> list[str]:
    """The arguments with the global options before all others. Those behind `--` stay where they are."""
    front, rest = list[str](), list[str]()
    left = iter(args)
    for one in left:
        if one == "--":
            rest += [one, *left]
        elif one.partition("=")[0] in _GLOBAL:
            front += [one, *([] if "=" in one else [value for value in [next(left, None)] if value is not None])]
        else:
            rest.append(one)
    return front + rest


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]}, epilog="Exit statuses: 0 done, "
             "1 refused, 2 wrong use, 3 not certain (repeat).")  # fmt: skip
@click.option("--url", metavar="URL", help="The API's URL (or CLOCKWORK_URL).")
@click.option("--client", "client_id", metavar="ID", help="The client to act for (or CLOCKWORK_CLIENT_ID).")
@click.option("--profile", metavar="NAME", help="A profile of the AWS CLI.")
@click.option("--region", metavar="REGION", help="The API's AWS region, if its URL does not tell.")
@click.option("--deadline", type=float, metavar="SECONDS", help="For all tries of a call (30).")
@click.option("--output", type=click.Choice(["table", "json"]), default="table", help="For people, or for programs.")
@click.version_option(__version__, prog_name="clockwork")
@click.pass_context
def clockwork(ctx: click.Context, /, output: str, **settings: Any) -> None:
    """Schedule jobs with Clockwork, and see their results."""
    state = ctx.ensure_object(State)
    state.output = output
    state.settings.update({name: value for name, value in settings.items() if value is not None})


@clockwork.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands: eval "$(clockwork completion bash)"."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(clockwork, {}, "clockwork", "_CLOCKWORK_COMPLETE").source())


@clockwork.command()
@click.option("--port", type=click.IntRange(1, 65535), help="On 127.0.0.1 (4780).")
@click.option("--state", metavar="FOLDER", help="Keeps jobs over restarts.")
@click.option("--tour", is_flag=True, help="Play two hundred jobs through it first.")
def dev(port: int | None, state: str | None, tour: bool) -> None:
    """Run Clockwork on this machine until Ctrl-C, in a checkout of it."""
    from clockwork_client.cli.dev import serve

    serve(port, state, is_tour=tour)


@clockwork.command()
@click.pass_obj
def doctor(state: State) -> None:
    """Check the clock, the credentials and the permissions, and say what to do about each fault."""
    from clockwork_client.cli import show
    from clockwork_client.cli.doctor import examine

    findings = list(examine(state))
    if state.is_json:
        show.as_json([{"check": one.check, "ok": one.is_ok, "found": one.found, "do": one.advice} for one in findings])
    else:
        show.table(("", "check", "found", "what to do"), [one.row() for one in findings])
    if not all(one.is_ok for one in findings):
        raise SystemExit(REFUSED)
