"""Removals that a deployment would make from a live stack: options, queues, tables and admins.

A removal has a name. An operator who intends the removal gives that name; every other removal is an oversight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rollout.template import STATEFUL, Template, readable

#: Options that are lists of ARNs: each of them may be missed by somebody.
_LISTS = {
    "targetQueueArns": "jobs may no longer target",
    "targetArns": "jobs may no longer target",
    "targetKeyArns": "jobs may no longer target what is encrypted with",
}
#: Options whose loss takes nothing away that a later deployment would not give back.
_HARMLESS = frozenset(
    {"account", "region", "architecture", "tags", "shards", "delivererConcurrency", "queuePollers", "adminPrincipals"}
    | {"platformLogs", "accessLog", "bootstrapQualifier", "delivererForEachQueue", "warmThroughput", "tracing"}
)
#: Resources that an option brings, by the beginning of their logical id.
_BROUGHT = (
    (re.compile(r"Queues(Kafka)|KafkaCluster"), "kafka"),
    (re.compile(r"QueuesPrivate"), "network"),
    (re.compile(r"Ingestion"), "ingestionQueue"),
    (re.compile(r"QueuesRelease\d+$"), "releaseQueues"),
)


@dataclass(frozen=True)
class Removal:
    """`name` allows the removal; `what` is lost."""

    name: str
    what: str


def removals(live: Template, wanted: Template) -> list[Removal]:
    """Everything that the wanted template takes away from the live one, sorted by name."""
    found = [*_options(live, wanted), *_resources(live, wanted), *_address(live, wanted), *_admins(live, wanted)]
    return sorted(found, key=lambda one: (one.name, one.what))


def refused(found: list[Removal], allowed: frozenset[str]) -> list[Removal]:
    """The removals that nobody has allowed."""
    return [one for one in found if one.name not in allowed]


def _options(live: Template, wanted: Template) -> Iterator[Removal]:
    before, after = live.options, wanted.options
    for name, value in before.items():
        if name in _LISTS:
            gone = [one for one in value if one not in after.get(name, [])]
            yield from (Removal(name, f"{_LISTS[name]} {one}") for one in gone)
        elif name not in _HARMLESS and _is_less(value, after.get(name)):
            yield Removal(name, f"the option {name}, which is {_short(value)}")


def _is_less(before: Any, after: Any) -> bool:
    """Whether an option is switched off, left out, or has lost one of its fields."""
    if isinstance(before, Mapping):
        return not isinstance(after, Mapping) or any(name not in after for name in before)
    if isinstance(before, bool) or after is None:
        return bool(before) and not after
    return False


def _short(value: Any) -> str:
    return f"an object with {', '.join(value)}" if isinstance(value, Mapping) else str(value)


def _resources(live: Template, wanted: Template) -> Iterator[Removal]:
    for kind, fixed in STATEFUL.items():
        kept = dict(wanted.resources(kind))
        for logical_id, one in live.resources(kind):
            plain = f"the {kind.rpartition('::')[2]} {readable(logical_id)}"
            if logical_id not in kept:
                yield Removal(_option_of(logical_id), plain)
            elif changed := [name for name in fixed if _of(one, name) != _of(kept[logical_id], name)]:
                yield Removal(readable(logical_id), f"{plain}: a new one in its place, as {', '.join(changed)} changes")


def _address(live: Template, wanted: Template) -> Iterator[Removal]:
    """The address of the API is with its callers, and belongs to an HTTP API or to a function URL."""
    for kind in ("AWS::ApiGatewayV2::Api", "AWS::Lambda::Url"):
        if list(live.resources(kind)) and not list(wanted.resources(kind)):
            yield Removal("api", "the API's address, which callers know: there will be another one")


def _of(resource: Mapping[str, Any], name: str) -> Any:
    return resource.get("Properties", {}).get(name)


def _option_of(logical_id: str) -> str:
    plain = readable(logical_id)
    return next((name for begin, name in _BROUGHT if begin.match(plain)), plain)


def _admins(live: Template, wanted: Template) -> Iterator[Removal]:
    for gone in live.admins - wanted.admins:
        yield Removal(gone, "an admin, who creates clients and acts for all of them")
