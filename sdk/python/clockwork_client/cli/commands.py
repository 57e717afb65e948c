"""All commands by name: the function that imports each at its first use, and its line in the help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import click


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


def _tail() -> click.Command:
    from clockwork_client.cli.tail import tail

    return tail


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
    "exec": (_exec, "Executions of jobs: list, get, cancel, redrive, complete, fail."),
    "run": (_run, "Runs of workflows: nodes, graph, watch, cancel, redrive."),
    "workflow": (_workflow, "Files with workflows: check, graph."),
    "dead": (_dead, "DEAD executions of a client: list, causes, redrive, discard."),
    "operation": (_operation, "Changes of many jobs or dead executions: begin, list, get, watch, stop."),
    "client": (
        _client,
        "Clients, their principals and their bounds: list, get, usage, activity, put, pause, resume, delete.",
    ),
    "pools": (_pools, "Pools of workers: list, show, running."),
    "cron": (_cron, "Cron expressions: explain, next."),
}
#: The same for commands that stand alone.
COMMANDS = {
    "upcoming": (_upcoming, "List the client's jobs that are about to start, anonymous ones included."),
    "tail": (_tail, "Print executions of named jobs as they end, until Ctrl-C."),
    "audit": (_audit, "List the changes of the client, with author, time and reason."),
    "shards": (_shards, "Show the state of each shard of the timeline (admins)."),
    "console": (_console, "Show jobs and their executions in a browser, until Ctrl-C."),
    "worker": (_worker, "Run the handlers of a pool until SIGTERM."),
    "whoami": (_whoami, "Show the caller's principal, and the clients that it may act for."),
}
LOADED: dict[str, tuple[Callable[[], click.Command], str]] = {**GROUPS, **COMMANDS}
