"""Removes a stack, and lists the resources that stay, their cost, and the way to adopt them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from clockwork.queue_names import release_queue_name
from rollout.live import Live, Resource
from rollout.stillness import Say, await_rest, stilled

#: The cost of a resource that stays, by its type.
_COSTS = {
    "AWS::DynamoDB::GlobalTable": "storage, and as much again for point-in-time recovery; protected against deletion",
    "AWS::SQS::Queue": "nothing, unless somebody reads from it; messages expire 14 days after they were sent",
    "AWS::Logs::LogGroup": "storage, for a month",
    "AWS::MSK::ServerlessCluster": "0.75 dollars an hour, and more by partitions",
    "AWS::EC2::VPCEndpoint": "0.01 dollars an hour for each zone, if it is an interface endpoint",
}


class Protected(Exception):
    """CloudFormation would refuse to delete the stack. Nothing was changed; the message says how to go on."""


def destroy(live: Live, say: Say, *, now: bool) -> None:
    """Bring the stack to rest, delete it, and list the resources that stay. `now` does not wait for released jobs.

    Raises Protected before anything is stopped. Raises StillBusy, and restores the former state, if the release queues
    do not become empty. Once the deletion has begun, nothing is restored. The list of remaining resources is printed
    once the deletion has begun, so that a later failure does not hide it.
    """
    if not live.is_going():
        if live.is_protected():
            off = "switch its termination protection off in CloudFormation first"
            raise Protected(f"The stack {live.name} is protected and nothing was changed: {off}")
        _begin(live, say, now=now)
    live.await_end()
    say(f"The stack {live.name} is gone.")
    for line in _take_further_deliverers_away(live):
        say(line)


def _begin(live: Live, say: Say, *, now: bool) -> None:
    kept = [*(one for one in live.resources if one.stays), *live.adopted]
    # Without a single Lambda, as a deletion that failed may leave it, nothing is accepted or released any more.
    rest: AbstractContextManager[list[str]] = stilled(live, say) if any(live.functions) else nullcontext([])
    with rest as paused:
        if not now and any(live.functions):
            await_rest(live, say)
        held = dict(_held(live, kept))
        live.delete()
    say(report(live.name, kept, held, paused))


def report(name: str, kept: list[Resource], held: Mapping[str, int], paused: list[str]) -> str:
    """The resources that stay of a stack, their cost, and the option by which a new stack adopts tables and queues.

    The list has every queue, also one that seems empty: SQS counts approximately.
    """
    lines = [f"The stack {name} is being deleted. These stay:"]
    for kind, cost in _COSTS.items():
        names = [_name(one) for one in kept if one.kind == kind]
        if names:
            lines += [f"  {kind}: {cost}", *(f"    {one}{_messages(held, one)}" for one in names)]
    adopt = json.dumps({"adopt": adoption(kept)}, indent=2)
    lines += ["", "A new stack takes up jobs, records and messages with this option in deployment.json:", adopt[2:-2]]
    if paused:
        lines += [
            "",
            "These clients were paused. Resume them once the new stack runs:",
            *(f"  {one}" for one in paused),
        ]
    return "\n".join(lines)


def adoption(kept: list[Resource]) -> dict[str, dict[str, str]]:
    """The option `adopt`: all tables and queues that stay."""
    tables = {
        one.name.removeprefix("Storage").lower(): one.physical
        for one in kept
        if one.kind == "AWS::DynamoDB::GlobalTable"
    }
    queues = {
        one.name.removeprefix("Queues").removeprefix("Ingestion"): _name(one)
        for one in kept
        if one.kind == "AWS::SQS::Queue"
    }
    found = {"tables": tables, "queues": queues}
    return {name: some for name, some in found.items() if some}


def _held(live: Live, kept: list[Resource]) -> Iterator[tuple[str, int]]:
    for one in kept:
        if one.kind == "AWS::SQS::Queue":
            yield _name(one), live.depth(one.physical)


def _name(one: Resource) -> str:
    """The name in the account: the id of a queue is its URL."""
    return one.physical.rpartition("/")[2] if one.kind == "AWS::SQS::Queue" else one.physical


def _messages(held: Mapping[str, int], name: str) -> str:
    return f" ({held[name]} messages)" if held.get(name) else ""


def _take_further_deliverers_away(live: Live) -> Iterator[str]:
    """Remove event sources and functions that a stack leaves behind for its further release queues.

    Without the role that went with the stack they could not deliver any more.
    """
    functions = live.account.client("lambda")
    # Another stack's name may begin like one of these queues: only the whole name tells whose queue it is.
    theirs = re.compile(re.escape(release_queue_name(live.name, "")) + "[1-9][0-9]*")
    pages = functions.get_paginator("list_event_source_mappings").paginate()
    for mapping in [one for page in pages for one in page["EventSourceMappings"]]:
        # Event sources of others may have none, for example that of a self-managed Kafka cluster.
        if theirs.fullmatch(mapping.get("EventSourceArn", "").rpartition(":")[2]):
            source, function = mapping["UUID"], _unqualified(mapping["FunctionArn"])
            yield _removed(f"the event source {source}", partial(functions.delete_event_source_mapping, UUID=source))
            yield _removed(f"the function {function}", partial(functions.delete_function, FunctionName=function))


def _removed(what: str, remove: Callable[[], object]) -> str:
    """Remove one of them, and print the result. A failure does not stop the next one."""
    try:
        remove()
    except (ClientError, BotoCoreError) as error:
        # One function may have had two event sources, as a deployment was repeated.
        if isinstance(error, ClientError) and error.response["Error"]["Code"] == "ResourceNotFoundException":
            return f"Gone before: {what}, which stayed for a release queue"
        return f"Not removed, delete it by hand: {what}, which stayed for a release queue ({error})"
    return f"Removed {what}, which stayed for a release queue"


def _unqualified(function_arn: str) -> str:
    return ":".join(function_arn.split(":")[:7])
