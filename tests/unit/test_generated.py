"""The files that are made of the registry of targets are what `make openapi` would write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.deployment.schema import OPTIONS
from tests.support.generated import EXAMPLE, example, files

FILES = files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_is_as_it_would_be_written(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path]


def test_a_new_option_stands_in_the_example_as_by_default() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    completed = json.loads(example(text, {"days": 30, "shards": 99}))
    environments = json.loads(text)["environments"]
    assert list(environments)[-1] == "staging"
    assert completed["environments"] == {**environments, "staging": {**environments["staging"], "days": 30}}
    assert "days" not in OPTIONS
