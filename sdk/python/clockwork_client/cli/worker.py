"""`clockwork worker module:pool`: a process that works for a pool."""

from __future__ import annotations

import atexit
import logging
import os
import pkgutil
import sys
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from clockwork_client.cli.state import State
    from clockwork_client.worker.pool import Pool

log = logging.getLogger(__name__)

#: The time (s) that exit functions, and a write of the output, may take.
_PATIENCE = 5.0


@click.command()
@click.argument("where", metavar="MODULE:POOL")
@click.option("--concurrency", type=click.IntRange(1, 10_000), default=10, help="Handlers that run at once (10).")
@click.option("--drain", type=click.FloatRange(0), default=30.0, metavar="SECONDS", help="For handlers to end (30).")
@click.option("--worker-id", metavar="ID", help="Shown with its attempts; made of host and process unless given.")
@click.option("--alive-file", type=click.Path(path_type=Path), help="Touched while polls end, for a probe.")
@click.pass_obj
def worker(
    state: State, where: str, concurrency: int, drain: float, worker_id: str | None, alive_file: Path | None
) -> None:
    """Run the handlers of a pool until SIGTERM.

    Then it receives no more, lets handlers end, and hands back the rest, without using up an attempt. A second SIGTERM
    hands back at once, and a third one waits for no answer of the API.
    """
    from clockwork_client.worker.signals import run_until_signalled
    from clockwork_client.worker.worker import Worker

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # A worker that starts before its network waits for it.
    state.settings.pop("connecting", None)
    pool, cw = found(where), state.cw
    try:
        made = Worker(pool, cw, concurrency=concurrency, drain=drain, worker_id=worker_id)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    status = 0
    try:
        run_until_signalled(made, alive_file)
    except Exception:
        log.exception("the worker %s has failed", made.worker_id)
        status = 1
    leave(status)


def leave(status: int) -> NoReturn:
    """End this process without waiting for its threads and children: other workers repeat their work.

    Children that `multiprocessing` knows are killed. Functions registered at `atexit`, and the reader of the output,
    have a few seconds each. The status is 1 if the output cannot be written.
    """
    kill_children()
    wait_for(atexit._run_exitfuncs)
    # A thread that goes on may have begun another one meanwhile.
    kill_children()
    written = list[bool]()
    wait_for(lambda: written.append(flush()))
    # Nobody reads the output any more if it is not written, so only the status can say it.
    os._exit(status if written == [True] else status or 1)


def kill_children() -> None:
    """Kill the children of `multiprocessing`, whose own exit function would wait for each of them.

    A child that cannot be killed is left alone.
    """
    if "multiprocessing" not in sys.modules:
        return
    from multiprocessing import active_children

    children = list[Any]()
    # Other threads may begin and end children at the same time, which that module is not made for.
    with suppress(Exception):
        children += active_children()
    for one in children:
        with suppress(Exception):
            one.kill()  # SIGTERM is not enough: a child may have a handler of its own


def wait_for(function: Callable[[], object]) -> None:
    """Wait for a function for a few seconds at the most. If no thread can be started for it, it is left out."""
    running = Thread(target=function, daemon=True)
    with suppress(RuntimeError):
        running.start()
        running.join(_PATIENCE)


def flush() -> bool:
    """Write out what is buffered; True if the output could be written."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return False
    return True


def found(where: str) -> Pool:
    """The pool that `module:name` names, as Python finds it from the folder that one is in. Raises UsageError."""
    from clockwork_client.worker.pool import Pool

    if not all(where.partition(":")):
        raise click.UsageError(f"{where} is no MODULE:POOL, such as jobs:pool")
    sys.path.insert(0, str(Path.cwd()))
    module, _, name = where.partition(":")
    try:
        loaded = pkgutil.resolve_name(f"{module}:")
    except ModuleNotFoundError as error:
        raise click.UsageError(f"there is no module {error.name}") from None
    try:
        pool = attrgetter(name)(loaded)
    except AttributeError as error:
        raise click.UsageError(f"the module {module} has no {name}: {error}") from None
    if not isinstance(pool, Pool):
        raise click.UsageError(f"{where} is no Pool of clockwork_client.worker")
    return pool
