"""The options of commands about jobs, and their values for the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clockwork_client import results
from clockwork_client.cli import completing, values
from clockwork_client.reports import Completion

if TYPE_CHECKING:
    pass

Command = TypeVar("Command", bound=Callable[..., Any])
#: The option of the client, its flag, and its settings for click.
SCHEDULE: list[tuple[str, str, dict[str, Any]]] = [
    ("in_", "--in", {"type": values.DURATION, "help": "Once, after this time: 5m, 1h30m."}),
    ("at", "--at", {"type": values.INSTANT, "help": "Once, at this instant."}),
    ("every", "--every", {"type": values.DURATION, "help": "Again and again; needs --key."}),
    ("cron", "--cron", {"help": "By an expression of 5 or 6 fields; needs --key."}),
    ("timezone", "--timezone", {"help": "Of --cron: Europe/Berlin."}),
    ("anchor_at", "--anchor-at", {"type": values.INSTANT, "help": "--every counts from it."}),
    ("start_at", "--start-at", {"type": values.INSTANT, "help": "Nothing fires before it."}),
    ("end_at", "--end-at", {"type": values.INSTANT, "help": "Nothing fires after it."}),
    ("max_fires", "--max-fires", {"type": int, "help": "So many fires, then it is complete."}),
    ("jitter_seconds", "--jitter", {"type": values.DURATION, "help": "Spread fires over this time."}),
    ("exclude", "--exclude", {"multiple": True, "help": "A date or cron expression without fires; repeatable."}),
    ("dst_gap", "--dst-gap", {"type": click.Choice(["run_at_gap_end", "skip"])}),
    ("dst_overlap", "--dst-overlap", {"type": click.Choice(["first", "second", "both"])}),
    ("day_match", "--day-match", {"type": click.Choice(["cron", "and", "or"])}),
    ("catch_up", "--catch-up", {"type": click.Choice(["all", "latest", "none"])}),
    ("catch_up_window_seconds", "--catch-up-window", {"type": values.DURATION}),
    ("overlap", "--overlap", {"type": click.Choice(["allow", "skip"])}),
]
DEFINITION: list[tuple[str, str, dict[str, Any]]] = [
    (
        "relevancy_window_seconds",
        "--relevancy-window",
        {"type": values.DURATION, "help": "Not delivered later than that."},
    ),
    (
        "precision",
        "--precision",
        {"type": click.Choice(["millisecond", "second"]), "help": "second: up to a second late, for less."},
    ),
    ("record", "--record", {"type": click.Choice(["none", "full"])}),
    ("tags", "--tag", {"type": values.PAIR, "multiple": True, "help": "name=value; repeatable."}),
    ("ordering_key", "--ordering-key", {"help": "Jobs of one key are delivered in order."}),
    ("sequence", "--sequence", {"type": int}),
    ("on_failure", "--on-failure", {"metavar": "TARGET", "help": "Is told of each execution that ends DEAD."}),
    (
        "completion",
        "--completion",
        {"type": values.JSON, "help": 'Ends later: {"mode": "callback"}, or "end" of a state machine.'},
    ),
    ("retry", "--retry", {"type": values.JSON, "help": 'The retry policy: {"maxAttempts": 3}.'}),
]
TARGET: list[tuple[str, str, dict[str, Any]]] = [
    ("method", "--method", {"type": click.Choice(["POST", "PUT", "PATCH", "DELETE", "GET"]), "help": "Of a webhook."}),
    ("headers", "--header", {"type": values.PAIR, "multiple": True, "help": "Of a webhook: name=value; repeatable."}),
    ("timeout_seconds", "--timeout", {"type": values.DURATION, "help": "Of a webhook, or of a pool's attempt."}),
    ("message_group_id", "--message-group-id", {"help": "Of SQS and SNS FIFO."}),
    ("partition_key", "--partition-key", {"help": "Of Kinesis; the orderingKey, or else the jobId, unless given."}),
    ("cluster_arn", "--cluster-arn", {"help": "Of an ECS task, as all down to --assign-public-ip."}),
    ("container", "--container", {"help": "The one that gets the payload, and whose exit code decides."}),
    ("command", "--command", {"multiple": True, "help": "A word in place of the container's command; repeatable."}),
    ("environment", "--environment", {"type": values.PAIR, "multiple": True, "help": "name=value; repeatable."}),
    ("launch_type", "--launch-type", {"type": click.Choice(["FARGATE", "EC2", "EXTERNAL"])}),
    ("subnets", "--subnet", {"multiple": True, "help": "Repeatable."}),
    ("security_groups", "--security-group", {"multiple": True, "help": "Repeatable."}),
    ("assign_public_ip", "--assign-public-ip", {"type": bool, "help": "true or false."}),
    ("envelope", "--envelope", {"type": bool, "help": "false: the payload alone, for AWS services."}),
    ("role_arn", "--role-arn", {"help": "Taken on to send, for AWS services."}),
    ("source", "--source", {"help": "Of an event."}),
    ("detail_type", "--detail-type", {"help": "Of an event."}),
    ("message_key", "--message-key", {"help": "Of a Kafka message."}),
]


def options(*tables: list[tuple[str, str, dict[str, Any]]]) -> Callable[[Command], Command]:
    """A decorator that adds all options of some tables."""

    def add(command: Command) -> Command:
        for name, flag, settings in reversed([row for table in tables for row in table]):
            command = click.option(flag, name, **settings)(command)
        return command

    return add


def named(command: Command) -> Command:
    """A decorator: the command is about one job, by its key or its id. `names.id_of` finds the id."""
    command = click.option(
        "--key", shell_complete=completing.key, help="The same as JOB, for a key that looks like an id."
    )(command)
    return click.argument("job_id", required=False, metavar="[JOB]", shell_complete=completing.key)(command)


def one_execution(command: Command) -> Command:
    """A decorator: the command is about one execution. `names.execution_of` finds its id."""
    return click.argument("execution_id", metavar="EXECUTION|JOB", shell_complete=completing.key)(command)


def tries(command: Command) -> Command:
    """A decorator: the command can say what it would do. It gets that as `dry_run`."""
    return click.option("--dry-run", is_flag=True, help="Change nothing; say what would be.")(command)


def chosen(table: list[tuple[str, str, dict[str, Any]]], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options of a table, in the client's form."""
    found = {name: given[name] for name, _, _ in table if given[name] not in (None, ())}
    if "tags" in found:
        found["tags"] = dict(found["tags"])
    if "retry" in found:
        found["retry"] = results.RetryPolicy(values.object_of("--retry", found["retry"]))
    if "completion" in found:
        found["completion"] = Completion(values.object_of("--completion", found["completion"]))
    if "on_failure" in found:
        found["on_failure"] = values.target(found["on_failure"], {})
    return found


def payload_of(data: values.Given | None, text: str | None) -> values.Given | None:
    """The given payload, if any. Raises UsageError for two."""
    if data is not None and text is not None:
        raise click.UsageError("either --data or --text")
    return values.Given(text) if text is not None else data


def payload(command: Command) -> Command:
    """A decorator: the command takes a payload."""
    command = click.option("--text", help="The payload as plain text.")(command)
    return click.option("--data", type=values.JSON, help="The payload as JSON; @file, or - for standard input.")(
        command
    )
