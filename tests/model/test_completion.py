"""The protocol of completion by callback holds in every state that it can reach, and each of its rules is needed."""

from __future__ import annotations

import pytest

from tests.model.completion import Model, is_settled, steps_of
from tests.model.explore import explore

BREAKS = (
    "no watch",
    "watch starts",
    "watch lets go of a live claim",
    "watch lets go of what waits",
    "acknowledged before what follows",
    "lost claim absorbed",
    "acceptance without the claim",
    "any token counts",
    "a final record takes reports",
)


def test_every_execution_ends_once_and_no_attempt_is_delivered_twice() -> None:
    states, fault = explore(Model(), steps_of(frozenset()), is_settled)
    assert fault is None
    assert states > 1_000


@pytest.mark.parametrize("broken", BREAKS)
def test_each_rule_is_needed(broken: str) -> None:
    _, fault = explore(Model(), steps_of(frozenset({broken})), is_settled)
    assert fault is not None
