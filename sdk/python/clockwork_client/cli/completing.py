"""Words that a shell completes by asking the API: keys, clients and pools.

A user waits for each. Without a quick answer nothing is completed, and nothing is said: a message would stand in the
line that the user types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from clockwork_client.errors import ClockworkError

if TYPE_CHECKING:
    from clockwork_client.client import Clockwork

Complete = Callable[[click.Context, click.Parameter, str], list[str]]
#: For the whole answer, and for its connection (s).
_DEADLINE, _CONNECTING = 2.0, 0.3
#: More words help nobody who types.
_MOST = 100


def _asking(words: Callable[[Clockwork, str], Iterable[str | None]]) -> Complete:
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
        from clockwork_client.cli.state import State

        names = ("url", "client_id", "profile", "region")
        given = {name: value for name in names if (value := ctx.find_root().params.get(name)) is not None}
        known = ctx.find_object(State)
        settings = {**(known.settings if known else {}), **given, "deadline": _DEADLINE, "connecting": _CONNECTING}
        try:
            found = list(words(State(**settings).cw, incomplete))
        except (ClockworkError, ValueError):
            return []
        return [word for word in found if word and word.startswith(incomplete)][:_MOST]

    return complete


def _keys(cw: Clockwork, incomplete: str) -> Iterable[str | None]:
    return [one.job_key for one in cw.jobs.list(prefix=incomplete or None, page_size=_MOST).page()]


def _clients(cw: Clockwork, incomplete: str) -> Iterable[str | None]:  # noqa: ARG001 - as the others
    caller = cw.whoami()
    return [one.client_id for one in cw.clients.list(page_size=1_000).page()] if caller.admin else caller.client_ids


def _pools(cw: Clockwork, incomplete: str) -> Iterable[str | None]:  # noqa: ARG001 - as the others
    return [one.name for one in cw.pools.list()]


key, client, pool = _asking(_keys), _asking(_clients), _asking(_pools)
