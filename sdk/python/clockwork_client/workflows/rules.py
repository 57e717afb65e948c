"""The rules between the fields of a node, which the schema of the API does not tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from clockwork_client.errors import Fault
from clockwork_client.targets import ENVELOPED, TELL_ENDS

#: The API's values of a completion, unless given (s).
_HEARTBEAT, _TIMEOUT = 300, 86_400
#: Numbers of conditions are kept in 64 bits.
_LEAST, _MOST = -(2**63), 2**64
_GONE = 410


def faults_between_fields(nodes: Mapping[str, Any], known: Collection[Fault]) -> list[Fault]:
    """The faults of nodes whose fields have none alone. Fields with `known` faults are passed over."""
    wrong = {one.pointer for one in known}
    found = [
        fault
        for name, node in nodes.items()
        if isinstance(node, dict)
        for fault in _faults_of(f"/target/nodes/{name}", node)
        if not any(f"{pointer}/".startswith(f"{fault.pointer}/") for pointer in wrong)
    ]
    return [one for one in found if not any(one.pointer.startswith(f"{pointer}/") for pointer in wrong)]


def _faults_of(at: str, node: Mapping[str, Any]) -> Iterator[Fault]:
    conditions = node.get("if")
    for place, condition in enumerate(conditions if isinstance(conditions, list) else ()):
        if isinstance(condition, dict):
            yield from _of_condition(f"{at}/if/{place}", condition)
    policy = node.get("retryPolicy")
    if isinstance(policy, dict) and isinstance(codes := policy.get("retryStatusCodes"), list) and _GONE in codes:
        yield Fault(f"{at}/retryPolicy/retryStatusCodes", "holds 410, which says that the target is gone permanently")
    if isinstance(completion := node.get("completion"), dict):
        yield from _of_completion(f"{at}/completion", completion, node.get("target"))


def _of_condition(at: str, condition: Mapping[str, Any]) -> Iterator[Fault]:
    given = {name: condition[name] for name in ("is", "isNot") if condition.get(name) is not None}
    if len(given) != 1:
        yield Fault(at, "must have just one of is and isNot")
    for name, values in given.items():
        for value in values if isinstance(values, list) else ():
            if isinstance(value, list | dict):
                yield Fault(f"{at}/{name}", "must hold texts, numbers, true, false and null alone")
                break
            if isinstance(value, int) and not _LEAST <= value < _MOST:
                yield Fault(f"{at}/{name}", "holds a whole number of more than 64 bits")
                break


def _of_completion(at: str, completion: Mapping[str, Any], target: object) -> Iterator[Fault]:
    is_end, kind = completion.get("mode") == "end", target.get("type") if isinstance(target, dict) else None
    heartbeat = completion.get("heartbeatSeconds", _HEARTBEAT)
    timeout = completion.get("timeoutSeconds", _TIMEOUT)
    if is_end and "heartbeatSeconds" in completion:
        yield Fault(at, "heartbeatSeconds is for the mode callback: AWS sends no heartbeats")
    elif not is_end and all(isinstance(one, int | float) for one in (heartbeat, timeout)) and heartbeat > timeout:
        yield Fault(at, "heartbeatSeconds must be at most timeoutSeconds")
    elif not is_end and kind in ENVELOPED and isinstance(target, dict) and target.get("envelope") is False:
        yield Fault(at, "cannot have the mode callback without an envelope, which has the token: leave envelope out")
    elif kind == "pool":
        yield Fault(at, "is not for pools: a worker always tells how its attempt ended")
    elif is_end and kind is not None and kind not in TELL_ENDS:
        why = f"cannot have the mode end with {kind}, whose end AWS does not say: use callback, or leave it out"
        yield Fault(at, why)
