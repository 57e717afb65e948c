"""Takes a stack away, and says what stays, what it costs, and how another stack takes it up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from botocore.exceptions import ClientError

from clockwork.settings import release_queue_name
from rollout.live import Live, Resource
from rollout.stillness import Say, await_rest, stilled

#: What a resource that stays costs, by its type.
_COSTS = {
    "AWS::DynamoDB::GlobalTable": "storage, and as much again for point-in-time recovery; protected against deletion",
    "AWS::SQS::Queue": "nothing, unless somebody reads from it; messages expire 14 days after they were sent",
    "AWS::Logs::LogGroup": "storage, for a month",
    "AWS::MSK::ServerlessCluster": "0.75 dollars an hour, and more by partitions",
    "AWS::EC2::VPCEndpoint": "0.01 dollars an hour for each zone, if it is an interface endpoint",
}


def destroy(live: Live, say: Say, *, now: bool) -> None:
    """Bring the stack to rest, delete it, and say what stays. `now` does not wait for what was released.

    Raises StillBusy, and puts everything back as it was, if the release queues do not become empty.
    """
    kept = [one for one in live.resources if one.stays]
    with stilled(live, say) as paused:
        if not now:
            await_rest(live, say)
        held = dict(_held(live, kept))
        live.delete()
    for gone in _take_further_deliverers_away(live):
        say(f"Removed {gone}, which stayed for a release queue")
    say(report(live.name, kept, held, paused))


def report(name: str, kept: list[Resource], held: Mapping[str, int], paused: list[str]) -> str:
    """What stays of a stack, with its cost, and the option by which a new stack takes up tables and queues."""
    lines = [f"The stack {name} is gone. These stay:"]
    for kind, cost in _COSTS.items():
        names = [_name(one) for one in kept if one.kind == kind]
        if names:
            lines += [f"  {kind}: {cost}", *(f"    {one}{_messages(held, one)}" for one in names)]
    adopt = json.dumps({"adopt": adoption(kept, held)}, indent=2)
    lines += ["", "A new stack takes up jobs, records and messages with this option in deployment.json:", adopt[2:-2]]
    if paused:
        lines += [
            "",
            "These clients were paused. Resume them once the new stack runs:",
            *(f"  {one}" for one in paused),
        ]
    return "\n".join(lines)


def adoption(kept: list[Resource], held: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """The option `adopt`: all tables, and the queues that hold messages."""
    tables = {
        one.name.removeprefix("Storage").lower(): one.physical
        for one in kept
        if one.kind == "AWS::DynamoDB::GlobalTable"
    }
    queues = {
        one.name.removeprefix("Queues").removeprefix("Ingestion"): _name(one)
        for one in kept
        if one.kind == "AWS::SQS::Queue" and held.get(_name(one))
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
    begin = release_queue_name(live.name, "")
    pages = functions.get_paginator("list_event_source_mappings").paginate()
    for mapping in [one for page in pages for one in page["EventSourceMappings"]]:
        if mapping["EventSourceArn"].rpartition(":")[2].startswith(begin):
            functions.delete_event_source_mapping(UUID=mapping["UUID"])
            yield f"event source {mapping['UUID']}"
            try:
                functions.delete_function(FunctionName=_unqualified(mapping["FunctionArn"]))
                yield f"function {mapping['FunctionArn']}"
            except functions.exceptions.ResourceNotFoundException:
                continue
            except ClientError as error:
                yield f"not the function {mapping['FunctionArn']} ({error})"


def _unqualified(function_arn: str) -> str:
    return ":".join(function_arn.split(":")[:7])
