"""Watch how targets answer: open a circuit where they keep failing, close it when a probe is answered as it should."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Outcome, State
from clockwork.domain.limits.circuits import Circuit, host_of, unprobed
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS
from clockwork.flows.deliver.items import Item
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def update_circuits(world: World, ended: Sequence[tuple[Item, Outcome]]) -> None:
    """Note the outcomes of attempts. What cannot be written is left to the next outcome: nothing depends on it."""
    for item, outcome in ended:
        host = host_of(item.release.occurrence.target)
        if host is None:
            continue
        try:
            _note(world, item, outcome, host)
        except Unavailable as error:
            log.warning("circuit not written: %s", error, extra={"action": "circuit_not_written"})


def give_probes_back(world: World, items: Sequence[Item]) -> None:
    """Let others probe in place of items that are not started: they have ended, or are not wanted.

    One that waits for its slot or a permit is the probe of then: others would take slots for nothing meanwhile. Only
    who has a slot already goes before it, which may lie at the end of a long backlog.
    """
    for item in items:
        if item.probes is None or item.is_started:
            continue
        probe_at = max(world.clock.now(), item.release.run_at - LONGEST_HOLD_MS)
        try:
            world.regulation.save_circuit(item.probes, unprobed(item.probes, probe_at))
        except Unavailable as error:
            # The next probe comes when its cooldown ends.
            log.warning("probe not given back: %s", error, extra={"action": "probe_not_given_back"})


def _note(world: World, item: Item, outcome: Outcome, host: str) -> None:
    client_id = item.release.occurrence.client_id
    ratio = world.environment.ratios[client_id, host]
    if item.probes is not None:
        # A target that refuses what is wrong with one payload has recovered, too.
        if outcome.state is State.SUCCEEDED or (outcome.permanent and outcome.status_code is not None):
            ratio.forget()
            world.regulation.close_circuit(client_id, host)
        return
    if item.release.attempt > 1 and outcome.state is not State.SUCCEEDED:
        # It says nothing new: one payload that its target does not take, tried ten times, would shut out all others.
        return
    ratio.note(outcome)
    if ratio.is_failing(world.settings.circuit_least_outcomes):
        ratio.forget()
        now = world.clock.now()
        cooldown_ms = world.settings.circuit_cooldown_seconds * 1000
        world.regulation.save_circuit(None, Circuit(client_id, host, now, now + cooldown_ms, cooldown_ms))
