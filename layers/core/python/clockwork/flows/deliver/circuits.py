"""Circuit breakers: open the circuit of a target that keeps failing, and close it when a probe is answered well."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from clockwork.domain.executions import Outcome, State
from clockwork.domain.limits.circuits import Circuit, Ratio, host_of, in_excess, unprobed
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS
from clockwork.flows.deliver.items import Item
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: An environment remembers the outcomes of so many hosts at the most, about a kilobyte each. A client may have as many
#: hosts as a wildcard names, and an environment lives for hours.
MOST_RATIOS = 2_000


def update_circuits(world: World, ended: Sequence[tuple[Item, Outcome]]) -> None:
    """Count the outcomes of attempts, and open or close circuits by them.

    A circuit that cannot be written is left to the next outcome: nothing depends on it.
    """
    for item, outcome in ended:
        with tolerated(world, log, "circuit not written: %s", {"action": "circuit_not_written"}):
            if (host := host_of(item.release.occurrence.target)) is not None:
                _note(world, item, outcome, host)


def give_probes_back(world: World, items: Sequence[Item]) -> None:
    """Give back the turns of items that were to probe a circuit and are not started, so that others can probe.

    Such an item has ended, or is not wanted. An item that waits for a slot or a permit stays the probe, for the instant
    of its own: until then others would take slots for nothing. Only an item that has its slot already may go before it,
    since that instant may lie at the end of a long backlog.
    """
    for item in items:
        if item.probes is None or item.is_started:
            continue
        probe_at = max(world.clock.now(), item.release.run_at - LONGEST_HOLD_MS)
        # If it is not given back, the next probe comes when the cooldown ends.
        with tolerated(world, log, "probe not given back: %s", {"action": "probe_not_given_back"}):
            world.regulation.save_circuit(item.probes, unprobed(item.probes, probe_at))


def _note(world: World, item: Item, outcome: Outcome, host: str) -> None:
    client_id = item.release.occurrence.client_id
    ratio = _ratio_of(world.environment.ratios, (client_id, host))
    if item.probes is not None:
        # A target that answers by refusing one faulty payload has recovered, too.
        if outcome.state is State.SUCCEEDED or (outcome.permanent and outcome.status_code is not None):
            ratio.forget()
            world.regulation.close_circuit(client_id, host)
        return
    if item.release.attempt > 1 and outcome.state is not State.SUCCEEDED:
        # A failed retry says nothing new. If it counted, one payload that its target does not take, tried ten times,
        # would shut out all others.
        return
    ratio.note(outcome)
    if ratio.is_failing(world.settings.circuit_least_outcomes):
        ratio.forget()
        _open(world, client_id, host)


def _open(world: World, client_id: str, host: str) -> None:
    """Open a circuit, if the client may have one more. If this dies in between, the client has fewer."""
    now, circuits = world.clock.now(), world.regulation.circuits(client_id)
    going = () if host in circuits else in_excess(circuits.values(), now)
    if going is not None:
        for one in going:
            world.regulation.close_circuit(client_id, one.host)
        cooldown_ms = world.settings.circuit_cooldown_seconds * 1000
        world.regulation.save_circuit(None, Circuit(client_id, host, now, now + cooldown_ms, cooldown_ms))


def _ratio_of(ratios: dict[tuple[str, str], Ratio], of: tuple[str, str]) -> Ratio:
    """The outcomes of a client's host, which becomes the latest one; the one that was met longest ago makes room."""
    ratios[of] = ratio = ratios.pop(of, None) or Ratio()
    if len(ratios) > MOST_RATIOS:
        del ratios[next(iter(ratios))]
    return ratio
