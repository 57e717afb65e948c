"""Single options that the CDK context gives (`-c name=value`): for one deployment, in place of the file's options.

A value is text as the command line has it, or JSON as in cdk.json. Text is read by the type that the schema gives to
the option: a list has commas between its entries or is JSON, an object is JSON. Empty text stands for the option's
default.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from typing import Any

from constructs import Node

from infra.deployment.document import InvalidDeployment
from infra.deployment.schema import OPTIONS, default_of, faults_of_options

#: Names in the context that are Clockwork's and no options of a deployment.
OTHERS = ("stage", "environment", "keep")
#: The likeness to an option's name from which a name counts as a misspelt option. Other names belong to the CDK.
_LIKENESS = 0.8


def overrides(node: Node) -> dict[str, Any]:
    """The options that the context gives. Raises InvalidDeployment for values and names that cannot be used."""
    given = {name: node.try_get_context(name) for name in OPTIONS}
    values = {name: _read(name, value) for name, value in given.items() if value is not None}
    faults = [f"-c {fault}" for fault in faults_of_options({n: v for n, v in values.items() if v is not None})]
    faults += _misspelt(dict(node.get_all_context()))
    if faults:
        raise InvalidDeployment(faults)
    return values


def _read(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.strip()
    return _READERS.get(OPTIONS[name].get("type", "integer"), str)(text) if text else default_of(name)


def _whole_number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _switch(text: str) -> bool | str:
    return {"true": True, "false": False}.get(text.lower(), text)


def _list(text: str) -> list[str] | object:
    if text.startswith("["):
        return _object(text)
    return [part.strip() for part in text.split(",") if part.strip()]


def _object(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


_READERS: Mapping[str, Callable[[str], Any]] = {
    "integer": _whole_number,
    "boolean": _switch,
    "array": _list,
    "object": _object,
}


def _misspelt(context: Mapping[str, Any]) -> list[str]:
    known = (*OPTIONS, *OTHERS)
    found = {name: difflib.get_close_matches(name, known, 1, _LIKENESS) for name in context if name not in known}
    return [f"-c {name}: no option has this name; {near[0]} has" for name, near in found.items() if near]
