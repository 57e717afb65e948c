"""`clockwork worker module:pool`: a process that works for a pool."""

from __future__ import annotations

import atexit
import logging
import os
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from clockwork_client.cli.app import State
    from clockwork_client.worker.pool import Pool

log = logging.getLogger(__name__)


@click.command()
@click.argument("where", metavar="MODULE:POOL")
@click.option("--concurrency", type=click.IntRange(1, 10_000), default=10, help="Handlers that run at once (10).")
@click.option("--drain", type=click.FloatRange(0), default=30.0, metavar="SECONDS", help="For handlers to end (30).")
@click.option("--worker-id", metavar="ID", help="Shown with its attempts; made of host and process unless given.")
@click.option("--alive-file", type=click.Path(path_type=Path), help="Touched while the queues answer, for a probe.")
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
    """End this process without waiting for its threads: what they still do was handed back, and others do it."""
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # Nobody reads them any more, so only the status can say it.
        status = status or 1
    os._exit(status)


def found(where: str) -> Pool:
    """The pool that `module:name` names, as Python finds it from the folder that one is in. Raises UsageError."""
    from clockwork_client.worker.pool import Pool

    if not all(where.partition(":")):
        raise click.UsageError(f"{where} is no MODULE:POOL, such as jobs:pool")
    sys.path.insert(0, str(Path.cwd()))
    try:
        pool = pkgutil.resolve_name(where)
    except ModuleNotFoundError as error:
        raise click.UsageError(f"there is no module {error.name}") from None
    except (AttributeError, ValueError):
        pool = None
    if not isinstance(pool, Pool):
        raise click.UsageError(f"{where} is no Pool of clockwork_client.worker")
    return pool
