"""A short round of `make chaos` on the stack that all these tests share."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.faults import Fault, kill_deliverers, kill_target
from tests.chaos.rounds import play
from tests.chaos.scene import Scene
from tests.chaos.sender import Sender
from tests.chaos.target import target
from tests.e2e.deployment import Deployment
from tests.e2e.tenant import Tenant

pytestmark = pytest.mark.nightly


def kill_deliverers_then_target(scene: Scene, sender: Sender) -> int:
    """Kills deliverers, then the target; returns 0 if either fault struck nothing.

    The target is back before a circuit opens, since an open circuit would take a minute.
    """
    return kill_deliverers(scene, sender, kills=1) * kill_target(scene, sender, seconds=2)


def test_nothing_is_lost_or_early_though_deliverers_are_killed_and_the_target_is_away(
    deployment: Deployment, acme: Tenant, tmp_path: Path
) -> None:
    fault = Fault("both", "deliverers are killed, then the target", kill_deliverers_then_target, may_repeat=True)
    with target(tmp_path) as to:
        outcome = play(Scene(deployment, to, "chaos"), fault, random.Random(11), seconds=7)
    assert not outcome.wrong
    assert outcome.audit.attempts > outcome.audit.delivered > 20
