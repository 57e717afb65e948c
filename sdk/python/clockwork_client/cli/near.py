"""Words that were nearly right: which known one somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from clockwork_client.errors import Fault

_UNKNOWN_FIELD = "is not a known field"


def near(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'list'?` behind a message about a word, or nothing if no known word is like it."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(map(repr, found))}?" if found else ""


class Group(click.Group):
    """A group of commands. An unknown name gets the names that are like it."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first argument names. Raises UsageError."""
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}.{self.alike(ctx, name)}")
        return super().resolve_command(ctx, args)

    def alike(self, ctx: click.Context, name: str) -> str:
        """The sentence with the commands that an unknown name may mean, or nothing."""
        return near(name, self.list_commands(ctx))


def explained(fault: Fault) -> str:
    """The words of a fault. A field that an older API does not know gets those that are like it."""
    if fault.detail != _UNKNOWN_FIELD:
        return fault.detail
    return f"{fault.detail}.{near(fault.pointer.rpartition('/')[2], _fields())}"


def _fields() -> set[str]:
    """The names of all fields of requests, as far as this version knows."""
    from clockwork_client import reports, requests, results
    from clockwork_client.answers import Answer, Target, camel, fields_of
    from clockwork_client.objects import RENAMED

    given = (requests.JobOptions, requests.ClientOptions, requests.DeadFilter, requests.JobFilter)
    made: list[type[Answer]] = [results.RetryPolicy, results.Every, reports.Completion]
    options = {name for one in given for name in one.__annotations__}
    named = {RENAMED.get(name) or camel(name) for name in options}
    named |= {json for one in (*made, *Target.__subclasses__()) for _, json, _, _ in fields_of(one)}
    return named | {"schedule", "target", "payload"}
