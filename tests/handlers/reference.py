"""docs/reference.md, made of the API's description and of an example per route that is played while it is made.

`python -m tests.handlers.reference` writes it; tests/unit/test_docs.py holds the file to it.
"""

from __future__ import annotations

import json
import logging
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from clockwork.edge.description import openapi
from clockwork.routes import ROUTES, Route
from infra import ROOT
from tests.handlers.reference_examples import Played, play

PAGE = ROOT / "docs/reference.md"
EXAMPLES = "STEPS in tests/handlers/reference_examples.py"
#: Fields whose values mean something to Clockwork alone.
OPAQUE = ("jobId", "executionId", "backfillId", "nextToken", "owner")
#: As many items of a list are shown, and as many fields of an object.
_ITEMS, _FIELDS = 2, 40
_KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
_WIDTH = 120
_HEAD = """\
# API reference

Every route with its parameters, its answers and an example; then every shape. `make openapi` makes this page of
[openapi.json](openapi.json) and of requests that it sends, so it is not edited by hand. [The API](api.md) is the way
in, and [concepts](concepts.md) has the words.

In the examples `acme` is a client whose principal is the role `Billing`, and it is 1 May 2026, 09:00 UTC. Values such
as `<jobId>` are opaque texts, `...` stands for what is left out. All requests are signed, those to routes for admins by
an admin.
"""


class NoExample(Exception):
    """A route has no example, or one that is not shown."""


def written() -> str:
    """The page as it has to be. Raises NoExample."""
    with redirect_stdout(StringIO()):  # the api Lambda writes its metrics there
        examples = {one.route.key: one for one in play() if one.step.shown}
    described = openapi.describe()
    routes = [_route(route, described, _example_of(route, examples)) for route in ROUTES]
    schemas: Mapping[str, Any] = described["components"]["schemas"]
    shapes = [_shape(name, schema) for name, schema in schemas.items()]
    answers = [
        _wrapped(f"- {status}: {one['description']}", "  ")
        for status, one in described["components"]["responses"].items()
    ]
    parts = [_HEAD, "## Routes\n", *routes, "## Refusals\n", "\n".join(answers) + "\n", "## Shapes\n", *shapes]
    return "\n".join(parts)


def _example_of(route: Route, examples: Mapping[str, Played]) -> Played:
    if route.key not in examples:
        raise NoExample(f"{route.key} has no example: add a Step to {EXAMPLES}, then run `make openapi`")
    return examples[route.key]


def _route(route: Route, described: Mapping[str, Any], example: Played) -> str:
    operation: dict[str, Any] = described["paths"][route.path][route.method.lower()]
    notes = ["For admins alone."] * route.admin + ["Deprecated."] * bool(operation.get("deprecated"))
    lines = [f"### {route.key}\n", f"{operation['summary']}. {' '.join(notes)}".strip() + "\n"]
    if parameters := operation.get("parameters"):
        lines += ["| parameter | in | value | meaning |", "|---|---|---|---|"]
        lines += [
            _row(f"`{one['name']}`", one["in"], _type(one["schema"]), one.get("description")) for one in parameters
        ]
        lines.append("")
    return "\n".join([*lines, _bodies(operation) + "\n", _exchange(example)])


def _bodies(operation: Mapping[str, Any]) -> str:
    """The body that is sent and the answer, in a sentence each."""
    sent = []
    if "requestBody" in operation:
        sent.append(f"Body: {_type(operation['requestBody']['content']['application/json']['schema'])}.")
    responses: Mapping[str, Any] = operation["responses"]
    done = [status for status, one in responses.items() if "$ref" not in one]
    ((kind, content),) = responses[done[0]]["content"].items()
    told = "text" if kind == "text/plain" else _type(content["schema"])
    sent.append(f"Answer: {' or '.join(done)}, {told}.")
    refused = [status for status, one in responses.items() if "$ref" in one]
    return _wrapped(" ".join([*sent, f"[Refused](#refusals) with {', '.join(refused)}."]))


def _exchange(example: Played) -> str:
    query = "&".join(f"{name}={value}" for name, value in example.step.query.items())
    path = example.route.path.replace("{clientId}", "acme").replace("{", "<").replace("}", ">")
    lines = [f"{example.route.method} {path}{'?' * bool(query)}{query}"]
    lines += [f"{name}: {value}" for name, value in example.step.headers.items()]
    if example.step.body is not None:
        lines += ["", _json(example.step.body)]
    is_text = example.answer.content_type == "text/plain"
    answer = example.answer.text if is_text else _json(_shortened(example.answer.body))
    return "\n".join(["```http", *lines, "```", "", "```http", str(example.answer.status), "", answer, "```", ""])


def _shortened(value: Any, name: str = "") -> Any:
    """An answer without opaque texts, long lists, and what of an object comes after many fields or deep down."""
    if name in OPAQUE:
        return f"<{name}>"
    if isinstance(value, list):
        return [_shortened(one) for one in value[:_ITEMS]] + ["..."] * (len(value) > _ITEMS)
    if isinstance(value, dict):
        if "openapi" in value:
            return {"openapi": value["openapi"], "...": "..."}
        return {name: _shortened(one, name) for name, one in list(value.items())[:_FIELDS]}
    return value


def _json(value: Any) -> str:
    """JSON, with what is short enough in one line."""
    return "\n".join(_json_lines(value, ""))


def _json_lines(value: Any, indent: str) -> Iterator[str]:
    whole = json.dumps(value, ensure_ascii=False)
    if len(indent + whole) <= 100 or not isinstance(value, dict | list) or not value:
        yield whole
        return
    is_object = isinstance(value, dict)
    yield "{" if is_object else "["
    inner = f"{indent}  "
    items: Iterable[tuple[str, Any]] = value.items() if isinstance(value, dict) else (("", one) for one in value)
    for position, (name, one) in enumerate(items, 1):
        first, *rest = _json_lines(one, inner)
        lines = [f"{inner}{json.dumps(name)}: {first}" if is_object else inner + first, *rest]
        lines[-1] += "," * (position < len(value))
        yield from lines
    yield indent + ("}" if is_object else "]")


def _shape(name: str, schema: Mapping[str, Any]) -> str:
    lines = [f"### {name}\n"]
    if description := schema.get("description"):
        lines.append(_wrapped(description) + "\n")
    if properties := schema.get("properties"):
        required = schema.get("required", ())
        lines += ["| field | value | meaning |", "|---|---|---|"]
        lines += [
            _row(f"`{field}`{'' if field in required else ' (optional)'}", _type(one), one.get("description"))
            for field, one in properties.items()
        ]
        lines.append("")
    else:
        lines.append(_wrapped(f"{_type(schema)}.") + "\n")
    return "\n".join(lines)


def _type(schema: Mapping[str, Any]) -> str:
    """The values of a schema, in words, with their bounds and default."""
    for kind in ("oneOf", "anyOf"):
        if kind in schema and "properties" not in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[kind]))
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema or "enum" in schema:
        told = [" or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))]
    else:
        told = [_kind(schema), *_bounds(schema)]
    if "default" in schema and schema["default"] not in ({}, [], None):
        told.append(f"`{schema['default']}` unless given")
    return ", ".join(told)


def _bounds(schema: Mapping[str, Any]) -> Iterator[str]:
    for key, unit in (("imum", ""), ("Length", " characters"), ("Items", " items"), ("Properties", " fields")):
        for word, bound in (("at least", f"min{key}"), ("at most", f"max{key}")):
            if bound in schema:
                value = schema[bound]
                yield f"{word} {int(value) if value == int(value) else value:,}{unit}"


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of ({_type(values)})" if isinstance(values, dict) else "object"
    if schema.get("format") == "date-time":
        return "instant"
    return _KINDS.get(kind, "any JSON")


def _row(*cells: str | None) -> str:
    return f"| {' | '.join(' '.join((cell or '').split()).replace('|', chr(92) + '|') for cell in cells)} |"


def _wrapped(text: str, indent: str = "") -> str:
    lines = textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def main() -> None:
    """Write the page."""
    logging.getLogger("clockwork").setLevel(logging.ERROR)
    PAGE.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main()
