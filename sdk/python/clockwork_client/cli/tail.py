"""`clockwork tail`: executions as they end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from clockwork_client.cli import completing, show, values
from clockwork_client.cli.tables import Column, layout
from clockwork_client.cli.waiting import Looks
from clockwork_client.inert import inert
from clockwork_client.states import ENDED

if TYPE_CHECKING:
    from clockwork_client.attention import ClientRun
    from clockwork_client.cli.state import State

#: Pages of one look, of 400 named jobs each.
_PAGES = 5
_COLUMNS = (
    Column("due"),
    Column("state", is_state=True),
    Column("job", least=16),
    Column("late", rank=3),
    Column("took", rank=2),
    Column("attempts", rank=4),
    Column("reason", least=16, rank=1),
)
#: Lines come one by one, so a typical one decides the widths.
_TYPICAL = ("00:00:00", "CANCELLED", "k" * 28, "1000 ms", "1000 ms", "attempts", "r" * 40)


@click.command()
@click.option("--state", "run_state", type=values.Word(sorted(ENDED)), help="SUCCEEDED, DEAD, SKIPPED, ...")
@click.option("--prefix", shell_complete=completing.key, help="Of the job's key.")
@click.option("--tag", help="Of the job: name=value, or a name.")
@click.option("--all", "of_all", is_flag=True, help="Of all jobs, if the client has --runs-index.")
@click.option("--since", type=values.DURATION, default="1h", help="Due no longer ago than that (1h).")
@click.option("--lines", "-n", type=click.IntRange(0), default=10, help="So many that have ended already (10).")
@click.option("--every", type=click.FloatRange(0.5), default=2.0, help="Seconds between looks (2).")
@click.pass_obj
def tail(state: State, /, since: float, lines: int, every: float, **which: Any) -> None:
    """Print executions of named jobs as they end, until Ctrl-C."""
    # In a pipe each line stands for itself.
    is_headed = state.is_json or not show.is_terminal()
    try:
        for one in _ended(state, timedelta(seconds=since), lines, every, which):
            if not is_headed:
                click.echo(layout(_COLUMNS, [_TYPICAL], show.width()).head())
                is_headed = True
            _print(state, one)
    except KeyboardInterrupt:
        return


def _ended(state: State, since: timedelta, lines: int, every: float, which: dict[str, Any]) -> Iterator[ClientRun]:
    """Executions that have ended, each end once: first the last few of before, and then each as it comes."""
    seen: dict[tuple[str, str, int], datetime] = {}
    looks, is_first = Looks(), True
    while True:
        begins = state.now - since
        found = looks(lambda begins=begins: _look(state, begins, which))  # type: ignore[misc]
        if found is not None:
            # A redrive ends an execution once more, after another number of attempts.
            new = {(one.execution_id, one.state, one.attempts): one for one in found}
            fresh = sorted((one for key, one in new.items() if key not in seen), key=lambda one: one.due_at)
            yield from fresh[len(fresh) - min(lines, len(fresh)) :] if is_first else fresh
            seen = {key: at for key, at in seen.items() if at >= begins} | {key: one.due_at for key, one in new.items()}
            is_first = False
        state.machine.sleep(every)


def _look(state: State, begins: datetime, which: dict[str, Any]) -> list[ClientRun]:
    found: list[ClientRun] = []
    token = None
    for _ in range(_PAGES):
        page = state.cw.clients.runs(
            from_=begins, state=which["run_state"], prefix=which["prefix"], tag=which["tag"],
            jobs="all" if which["of_all"] else None, page_size=1_000, next_token=token,
        )  # fmt: skip
        found += [one for one in page.items if one.state in ENDED]
        token = page.next_token
        if token is None:
            break
    return found


def _print(state: State, one: ClientRun) -> None:
    if state.is_json:
        show.give_line(one.raw)
        return
    due, times = f"{one.due_at.astimezone():%H:%M:%S}", (show.ms(one.lateness_ms), show.ms(one.took_ms))
    cells = (due, one.state, one.job_key or "one-off", *times, one.attempts, one.reason or "")
    row = [inert(cell) for cell in cells]
    made = layout(_COLUMNS, [_TYPICAL if show.is_terminal() else row], show.width())
    click.echo(made.line(row, is_coloured=show.is_coloured()))
