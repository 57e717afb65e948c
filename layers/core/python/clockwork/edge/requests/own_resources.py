"""Clockwork's own resources: no client may list one, and no job may target one.

A message in the queue of ingestion acts for every client, and a message in a release queue forges a delivery. A
deployment owns everything in its account, in any region, whose name begins with the stack's name and a hyphen, as
CloudFormation names resources. It also owns the queues and the function that the settings name.
"""

from __future__ import annotations

import re

from clockwork.edge.http.checks import Checks
from clockwork.settings import Settings
from clockwork.targets.registry import LISTED

OWN = "is Clockwork's own, which no job may target"
#: The text before the name in the last part of an ARN, for roles and for all that types of targets name.
_KINDS = frozenset(
    {"role/"}
    | {kind[0] for target in LISTED if (kind := re.match("[A-Za-z-]+[:/]", target.service.resource))}
    | {target.end_events.kind for target in LISTED if target.end_events}
)


def is_own(name: str, settings: Settings) -> bool:
    """Whether an ARN, or a pattern of ARNs that ends in `*`, names nothing but resources of this deployment.

    The topic of ingestion is one of them. No other name is of a resource.
    """
    if name == settings.ingestion_topic:
        return name != ""
    parts = name.split(":", 5)
    # Before a deployment has its queues, it owns nothing; so it is in tests of the edge alone.
    account = _path(settings.release_queue_url)[0]
    if len(parts) < 6 or not account or parts[4] != account:
        return False
    resource = _name_in(parts[5])
    return resource.startswith(f"{settings.stack_name}-") or resource in _named(settings)


def not_own(name: str, checks: Checks) -> str:
    """The ARN, pattern, topic or other name, unless it is this deployment's own. Raises ValueError."""
    if is_own(name, checks.settings):
        raise ValueError(OWN)
    return name


def _named(settings: Settings) -> set[str]:
    """The names of the queues and of the functions that the settings name; there are more of each."""
    urls = [getattr(settings, one) for one in Settings.__struct_fields__ if one.endswith("_queue_url")]
    functions = {name.partition(":")[0] for name in (settings.poller_function, settings.sweeper_function)}
    return ({_path(url)[1] for url in urls} | functions) - {""}


def _name_in(resource: str) -> str:
    """The name in the last part of an ARN, without a function's version, a role's path, and the `*` of a pattern."""
    kind = next((kind for kind in _KINDS if resource.startswith(kind)), "")
    name = resource.removeprefix(kind).removesuffix("*")
    return name.rpartition("/")[2] if kind == "role/" else name.partition(":")[0]


def _path(queue_url: str) -> tuple[str, str]:
    """The account and the name in a queue's URL."""
    rest, _, name = queue_url.rpartition("/")
    return rest.rpartition("/")[2], name
