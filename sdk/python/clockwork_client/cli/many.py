"""Change many jobs or executions: count first, ask, show the progress, and go on after a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click

from clockwork_client.cli import show
from clockwork_client.inert import inert

if TYPE_CHECKING:
    from clockwork_client.answers import Answer
    from clockwork_client.cli.state import State
    from clockwork_client.handled import Handled

#: A larger count takes a call for each 1,000, and no answer of the user depends on it.
MOST_COUNTED = 10_000


def handle(
    state: State, call: Callable[[str | None], Handled], token: str | None, passed: Sequence[Answer] = ()
) -> None:
    """Call until everything is done. After a stop, print how to go on.

    `passed`: the selected items that `call` left unchanged, complete at the end. If there are any, the exit status is
    1.
    """
    matched = changed = 0
    try:
        while True:
            answer = call(token)
            matched, changed, token = matched + answer.matched, changed + answer.changed, answer.next_token
            if token is None:
                break
            show.said(f"{matched:,} found, {changed:,} changed, more to come")
    except (Exception, KeyboardInterrupt):
        again = f" --next-token {token}" if token is not None else ""
        show.said(f"Stopped after {changed:,}. To go on: the same command{again}", whole=True)
        raise
    if state.is_json:
        left = {"passed": [one.raw for one in passed]} if passed else {}
        show.give(state, {"matched": matched, "changed": changed, **left})
    else:
        show.facts(state, [("found", matched), ("changed", changed), ("passed", len(passed) or None)])
    if passed:
        raise SystemExit(1)


def confirm(state: State, verb: str, what: str, found: Iterable[object]) -> bool:
    """Ask the user to confirm the counted number; True if the user does. `what` is the noun of one.

    Raises UsageError if no user can answer.
    """
    if not show.can_ask():
        raise click.UsageError("nobody is there to ask: --yes does it without a question")
    count = sum(1 for _ in islice(found, MOST_COUNTED))
    if count == 0:
        show.said(f"No {what} is meant.")
        return False
    many = f"more than {count:,}" if count == MOST_COUNTED else f"{count:,}"
    return click.confirm(f"{verb} {many} {what}s of {inert(state.cw.client_id)}?", err=True)
