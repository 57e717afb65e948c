"""Checks each answer of the api Lambda in any test against the API's description."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema_rs

from clockwork.edge.description.openapi import SERVED

DESCRIPTION: dict[str, Any] = json.loads(SERVED.read_text(encoding="utf-8"))


def check_answer(route_key: str, status: int, content_type: str, text: str) -> None:
    """Assert that the answer of a route is as described: its status, its media type and its body."""
    method, _, path = route_key.partition(" ")
    responses = DESCRIPTION["paths"][path][method.lower()]["responses"]
    assert str(status) in responses, f"{route_key} answers {status}, which it does not promise"
    content = _resolved(responses[str(status)])["content"]
    assert content_type in content, f"{route_key} answers {status} as {content_type}"
    body: Any = text if content_type == "text/plain" else json.loads(text)
    _validator(json.dumps(content[content_type]["schema"])).validate(body)
    if content_type == "application/problem+json":
        assert body["status"] == status


def _resolved(node: dict[str, Any]) -> Any:
    if "$ref" not in node:
        return node
    found: Any = DESCRIPTION
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


@cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    whole = {**json.loads(schema), "components": DESCRIPTION["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
