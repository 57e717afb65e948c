"""docs/reference.md: an example of each route is played, and a route without one is told where to add it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from clockwork.routes import ROUTES
from tests.handlers import reference, reference_examples


def test_two_plays_are_alike_and_show_every_route_once() -> None:
    first, second = ([(one.path, one.answer) for one in reference_examples.play()] for _ in range(2))
    assert first == second
    shown = [step.route for step in reference_examples.STEPS if step.shown]
    assert sorted(shown) == sorted(route.key for route in ROUTES)


def test_a_route_without_an_example_is_told_where_to_add_it(monkeypatch: pytest.MonkeyPatch) -> None:
    without = [step for step in reference_examples.STEPS if step.route != "GET /v1/shards"]
    monkeypatch.setattr(reference_examples, "STEPS", without)
    with pytest.raises(reference.NoExample) as raised:
        reference.written()
    assert str(raised.value) == (
        "GET /v1/shards has no example: add a Step to STEPS in tests/handlers/reference_examples.py, "
        "then run `make openapi`"
    )


def test_an_example_that_is_refused_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = reference_examples.STEPS
    monkeypatch.setattr(reference_examples, "STEPS", [replace(first, body={"principals": ["*"]}), *others])
    with pytest.raises(AssertionError, match="must match"):
        list(reference_examples.play())


def test_every_link_of_the_page_leads_to_a_title_of_it() -> None:
    page = reference.PAGE.read_text(encoding="utf-8")
    titles = {re.sub(r"[^\w -]", "", title).lower() for title in re.findall(r"^#+ (.+)$", page, re.MULTILINE)}
    linked = set(re.findall(r"\]\(#([\w-]+)\)", page))
    assert len(linked) > 50
    assert linked <= titles


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "string", "minLength": 1, "maxLength": 255}, "text, at least 1 characters, at most 255 characters"),
        ({"type": "integer", "minimum": 0, "maximum": 9007199254740991}, "at most 9,007,199,254,740,991"),
        ({"type": "number", "minimum": 0.001}, "number, at least 0.001"),
        ({"enum": ["none", "full"], "type": "string", "default": "full"}, "`none` or `full`, `full` unless given"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Job"}}, "list of [Job](#job)"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "object of (text)"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "text or whole number"),
        ({}, "any JSON"),
    ],
)
def test_a_value_is_told_with_its_bounds(schema: dict[str, Any], told: str) -> None:
    assert reference._type(schema).endswith(told)


def test_json_breaks_where_it_is_long_and_is_the_same_json() -> None:
    value = {"short": {"a": [1, 2]}, "long": [{"name": "x" * 60}, {"name": "y" * 60}], "empty": {}, "ü": None}
    written = reference._json(value)
    assert max(map(len, written.splitlines())) <= 100
    assert '"short": {"a": [1, 2]}' in written
    assert json.loads(written) == value
