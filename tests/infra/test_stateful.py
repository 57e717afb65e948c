"""No change of the code makes CloudFormation replace what holds state, whatever the options are and become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rollout.template import STATEFUL
from tests.infra.option_sets import OPTION_SETS, template_of
from tests.infra.stateful import GOLDEN, fixed_properties, stateful

Golden = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def golden() -> Golden:
    """The file, by set of options."""
    found: Golden = json.loads(GOLDEN.read_text())
    return found


@pytest.mark.parametrize("name", OPTION_SETS)
def test_what_holds_state_is_as_the_last_release_had_it(name: str, golden: Golden) -> None:
    assert len(golden[name]) >= 16
    # Where this fails: `python -m tests.infra.stateful`, and a line in the changelog of what an account loses.
    assert stateful(template_of(name)) == golden[name]


def test_other_options_replace_nothing(golden: Golden) -> None:
    """The parts that two sets of options have in common are alike: a stack may go from one set to the other."""
    seen: dict[str, dict[str, Any]] = {}
    # Sets of another name are other stacks, in which names differ.
    for name in (one for one in OPTION_SETS if "name" not in OPTION_SETS[one]):
        for logical_id, properties in golden[name].items():
            assert seen.setdefault(logical_id, properties) == properties


@pytest.mark.parametrize("kind", STATEFUL)
def test_a_deployment_knows_every_property_that_cannot_be_changed(kind: str) -> None:
    assert set(STATEFUL[kind]) == set(fixed_properties(kind.removeprefix("AWS::")))
