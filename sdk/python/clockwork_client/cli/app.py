"""The command `clockwork`, its global options, and its exit statuses.

0 done, 1 refused or not reached, 2 wrong use, 3 not certain: repeat.

A command loads its part of the code only when it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from clockwork_client.cli import completing
from clockwork_client.cli.commands import GROUPS, LOADED
from clockwork_client.cli.near import Group, explained
from clockwork_client.cli.state import State
from clockwork_client.errors import (
    ClockworkError,
    NotAllowed,
    NotCertain,
    NotConfigured,
    NotReached,
    Refused,
    TooManyRequests,
    UnexpectedAnswer,
)
from clockwork_client.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

REFUSED, USAGE, UNCERTAIN = 1, 2, 3
#: For the first connection (s).
CONNECTING = 0.5


class Main(Group):
    """Imports a group when it is used, and turns the client's errors into words and exit statuses."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options. Global ones may stand behind the command as well, as those of the AWS CLI do.

        `clockwork help job` is `clockwork job --help`.
        """
        return super().parse_args(ctx, in_front([*args[1:], "--help"] if args[:1] == ["help"] else args))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return [*LOADED, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a name."""
        return LOADED[name][0]() if name in LOADED else super().get_command(ctx, name)

    def alike(self, ctx: click.Context, name: str) -> str:
        """The sentence with the commands of this name in groups (`job list` for `list`), or else of similar names."""
        inner = [f"{group} {name}" for group, (load, _) in GROUPS.items() if name in load().commands]
        return f" Did you mean {' or '.join(map(repr, inner[:3]))}?" if inner else super().alike(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of commands in the help."""
        own = [(name, one.get_short_help_str(80)) for name, one in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in LOADED.items()] + own)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (NotConfigured, ValueError) as error:
            _leave(ctx, USAGE, f"Error: {error}")
        except Refused as error:
            _leave(ctx, REFUSED, *_why(error))
        except NotReached as error:
            _leave(ctx, REFUSED, f"Not reached: {error}", "Nothing was done. `clockwork doctor` checks the way.")
        except (NotCertain, UnexpectedAnswer) as error:
            _repeat(ctx, str(error), error.idempotency_key)
        except KeyboardInterrupt:
            state = ctx.find_object(State)
            if state is None or state.unanswered is None:
                raise
            request, key = state.unanswered
            _repeat(ctx, f"{request} was sent, and its answer had not come", key)
        except ClockworkError as error:
            _leave(ctx, REFUSED, f"Error: {error}")


def _leave(ctx: click.Context, status: int, *lines: str) -> NoReturn:
    # A help, which fails in nothing, is spared what shows answers.
    from clockwork_client.cli import show

    show.said(*lines)
    ctx.exit(status)


def _why(error: Refused) -> Iterator[str]:
    from clockwork_client.cli import show

    yield f"Refused: {error.status}: {error.detail}"
    yield from (f"  {one.pointer or '(request)'}: {explained(one)}" for one in error.faults)
    if isinstance(error, TooManyRequests) and error.retry_after is not None:
        yield f"Come again {show.distance(error.retry_after)}."
    if isinstance(error, NotAllowed):
        yield "`clockwork doctor` checks credentials and permissions."


def _repeat(ctx: click.Context, why: str, idempotency_key: str | None) -> NoReturn:
    again = f" with --idempotency-key {idempotency_key}" if idempotency_key else ""
    _leave(ctx, UNCERTAIN, f"Not certain: {why}", f"Repeat the command{again}.")


#: Global options, each with a value.
_GLOBAL = frozenset({"--url", "--client", "--profile", "--region", "--deadline", "--output", "-o"})
#: For people, or for programs.
OUTPUTS = ("table", "wide", "json", "jsonl")


def in_front(args: list[str]) -> list[str]:
    """The arguments with the global options before all others. Those behind `--` stay where they are."""
    front, rest = list[str](), list[str]()
    left = iter(args)
    for one in left:
        if one == "--":
            rest += [one, *left]
        elif one == "--json" or (one.startswith("-o") and one[2:].removeprefix("=") in OUTPUTS):
            front.append(one.replace("-o=", "-o"))
        elif one.partition("=")[0] in _GLOBAL:
            front += [one, *([] if "=" in one else [value for value in [next(left, None)] if value is not None])]
        else:
            rest.append(one)
    return front + rest


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]}, epilog="Exit statuses: 0 done, "
             "1 refused or not reached, 2 wrong use, 3 not certain (repeat).")  # fmt: skip
@click.option("--url", metavar="URL", help="The API's URL (or CLOCKWORK_URL).")
@click.option(
    "--client",
    "client_id",
    metavar="ID",
    shell_complete=completing.client,
    help="The client to act for (or CLOCKWORK_CLIENT_ID).",
)
@click.option("--profile", metavar="NAME", help="A profile of the AWS CLI.")
@click.option("--region", metavar="REGION", help="The API's AWS region, if its URL does not tell.")
@click.option("--deadline", type=float, metavar="SECONDS", help="For all tries of a call (30).")
@click.option("--output", "-o", type=click.Choice(OUTPUTS), default="table", help="For people, or for programs.")
@click.option("--json", "output", flag_value="json", help="The same as --output json.")
@click.version_option(__version__, prog_name="clockwork")
@click.pass_context
def clockwork(ctx: click.Context, /, output: str, **settings: Any) -> None:
    """Schedule jobs with Clockwork, and see their results."""
    state = ctx.ensure_object(State)
    state.output = output
    state.settings.update({name: value for name, value in settings.items() if value is not None})
    # A user who names a deadline waits for an API that may still come. Without one, a wrong URL is told at once.
    state.settings.setdefault("connecting", settings["deadline"] or CONNECTING)


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
    from clockwork_client.cli.tables import Column

    findings = list(examine(state))
    if state.is_json:
        show.give(
            state, [{"check": one.check, "ok": one.is_ok, "found": one.found, "do": one.advice} for one in findings]
        )
    else:
        show.table(state, ("", "check", Column("found", least=20), Column("what to do", least=20)),
                   [one.row() for one in findings])  # fmt: skip
    if not all(one.is_ok for one in findings):
        raise SystemExit(REFUSED)
