"""The JSON Schema of `deployment.json`: the one list of options, their types and their bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jsonschema_rs

from infra import ROOT

SCHEMA: dict[str, Any] = json.loads((ROOT / "deployment.schema.json").read_text(encoding="utf-8"))
#: The schema of every option, by its name.
OPTIONS: dict[str, Any] = SCHEMA["$defs"]["options"]["properties"]
_DOCUMENT = jsonschema_rs.validator_for(SCHEMA)
_OPTIONS = jsonschema_rs.validator_for({**SCHEMA["$defs"]["options"], "$defs": SCHEMA["$defs"]})


def faults_of_document(document: object) -> list[str]:
    """Every fault of a whole document, each with its place: `environments.staging.shards: 0 is less than ...`."""
    return [_told(error, SCHEMA) for error in _DOCUMENT.iter_errors(document)]


def faults_of_options(options: Mapping[str, object]) -> list[str]:
    """Every fault of the options of one deployment, each with its place."""
    return [_told(error, SCHEMA["$defs"]["options"]) for error in _OPTIONS.iter_errors(options)]


def default_of(option: str) -> Any:
    """The value of an option that nobody gives; None if there is none."""
    return OPTIONS[option].get("default")


def _told(error: Any, schema: Mapping[str, Any]) -> str:
    place = ".".join(map(str, error.instance_path)) or "the document"
    meaning = list(_meanings(schema, error.schema_path))
    return f"{place}: {error.message}" + (f" ({meaning[-1]})" if meaning else "")


def _meanings(schema: Any, path: Sequence[str | int]) -> Iterator[str]:
    """The descriptions that stand on the way to the part of the schema that is not kept, without the schema's own."""
    found = schema
    for index, step in enumerate(path):
        if isinstance(found, Mapping) and "$ref" in found:
            found = SCHEMA["$defs"][found["$ref"].rpartition("/")[2]]
        # The path of an error in a referenced schema begins anew at its root.
        found = SCHEMA["$defs"] if index == 0 and step == "$defs" else found[step]
        if isinstance(found, Mapping) and isinstance(found.get("description"), str):
            yield found["description"]
