"""The protocol of completion by callback holds in every state that it can reach, and each of its rules is needed."""

from __future__ import annotations

import pytest

from tests.model.completion import Model, Protocol, is_settled
from tests.model.explore import explore

BREAKS = (
    "what was accepted is not watched",
    "a watch lets go of a live claim",
    "a watch lets go of what waits",
    "acknowledged before what follows",
    "an acceptance needs no claim",
    "any token counts",
    "a report counts after the end",
)


def test_every_execution_ends_once_and_no_attempt_is_delivered_twice() -> None:
    states, fault = explore(Model(), Protocol().steps, is_settled)
    assert fault is None
    assert states > 5_000


@pytest.mark.parametrize("broken", BREAKS)
def test_each_rule_is_needed(broken: str) -> None:
    _, fault = explore(Model(), Protocol(broken).steps, is_settled)
    assert fault is not None
