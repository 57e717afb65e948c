"""Values against a schema of the API's description (JSON Schema), with the faults in the API's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clockwork_client.errors import Fault
from clockwork_client.workflows.references import escaped

Schema = Mapping[str, Any]
_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "object": (dict, "must be a JSON object"),
    "array": (list, "must be a list"),
    "string": (str, "must be a string"),
    "integer": (int, "must be a whole number"),
    "number": ((int, float), "must be a number"),
    "boolean": (bool, "must be true or false"),
    "null": (type(None), "must be null"),
}


def faults_in(value: Any, schema: Schema, schemas: Schema, at: str) -> Iterator[Fault]:
    """The faults of a value by its schema; `schemas` are those that it refers to by their names."""
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if "oneOf" in schema:
        yield from _of_choice(value, schema, schemas, at)
    elif not _is(value, schema.get("type")):
        yield Fault(at, _TYPES[schema["type"]][1])
    elif isinstance(value, dict):
        yield from _of_object(value, schema, schemas, at)
    elif isinstance(value, list):
        yield from _of_length(value, schema, at)
        for place, one in enumerate(value):
            yield from faults_in(one, schema.get("items", {}), schemas, f"{at}/{place}")
    else:
        yield from _of_scalar(value, schema, at)


def _is(value: Any, kind: str | None) -> bool:
    if kind is None:
        return True
    return isinstance(value, _TYPES[kind][0]) and (kind == "boolean" or not isinstance(value, bool))


def _of_choice(value: Any, schema: Schema, schemas: Schema, at: str) -> Iterator[Fault]:
    """The choices are objects that their types tell apart."""
    choices = [schemas[one["$ref"].rpartition("/")[2]] for one in schema["oneOf"]]
    kinds = {one["properties"]["type"]["const"]: one for one in choices}
    if not isinstance(value, dict):
        yield Fault(at, _TYPES["object"][1])
    elif "type" not in value:
        yield Fault(f"{at}/type", "is required")
    elif value["type"] == "workflow":
        yield Fault(at, "must not be a workflow: write its nodes here")
    elif isinstance(value["type"], str) and value["type"] in kinds:
        yield from faults_in(value, kinds[value["type"]], schemas, at)
    else:
        yield Fault(f"{at}/type", f"must be one of {', '.join(map(repr, kinds))}")


def _of_object(value: dict[str, Any], schema: Schema, schemas: Schema, at: str) -> Iterator[Fault]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield Fault(f"{at}/{name}", "is required")
    for name, one in value.items():
        here = f"{at}/{escaped(name)}"
        if name in known:
            # Null is the same as left out, unless the field has a default other than null.
            if one is not None or "default" in known[name] or name in schema.get("required", ()):
                yield from faults_in(one, known[name], schemas, here)
        elif others is False:
            yield Fault(here, "is not a known field")
        elif isinstance(others, dict):
            yield from _of_scalar(name, schema.get("propertyNames", {}), here)
            yield from faults_in(one, others, schemas, here)


def _of_length(value: list[Any], schema: Schema, at: str) -> Iterator[Fault]:
    if len(value) > schema.get("maxItems", len(value)):
        yield Fault(at, f"must have at most {schema['maxItems']} entries")
    if len(value) < schema.get("minItems", 0):
        yield Fault(at, f"must have at least {schema['minItems']} entry")


def _of_scalar(value: Any, schema: Schema, at: str) -> Iterator[Fault]:
    if "enum" in schema and value not in schema["enum"]:
        *first, last = map(repr, schema["enum"])
        yield Fault(at, f"must be one of {', '.join(first)} or {last}" if first else f"must be one of {last}")
    elif "const" in schema and value != schema["const"]:
        yield Fault(at, f"must be one of {schema['const']!r}")
    elif isinstance(value, str):
        if len(value) > schema.get("maxLength", len(value)):
            yield Fault(at, f"must have at most {schema['maxLength']} characters")
        elif len(value) < schema.get("minLength", 0):
            yield Fault(at, f"must have at least {schema['minLength']} character(s)")
        elif "pattern" in schema and re.search(schema["pattern"], value) is None:
            yield Fault(at, f"must match {schema['pattern']}")
    elif isinstance(value, int | float):
        as_shown = float if schema.get("type") == "number" else int
        if value < schema.get("minimum", value):
            yield Fault(at, f"must be at least {as_shown(schema['minimum'])}")
        elif value > schema.get("maximum", value):
            yield Fault(at, f"must be at most {as_shown(schema['maximum'])}")
