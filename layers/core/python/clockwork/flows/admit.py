"""One client among many: before anything is claimed, park what may not go, pace what is capped, count what runs.

An uncapped, unpaused client whose targets answer costs no write here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec

from clockwork.domain.circuits import Passage, host_of, plan_passage
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.permits import BUSY_AFTER, WINDOW_MS, Blocks, blocks_of, cap_of
from clockwork.flows.batch import LONGEST_HOLD_MS, Batch, Item
from clockwork.flows.environment import Block
from clockwork.flows.expire import unexpired
from clockwork.flows.park import park
from clockwork.flows.world import World

#: What finds no permit comes back after a time between this and twice as long (ms).
NO_PERMIT_MS = 1_000
#: Blocks tried before an environment takes the cap to be reached.
BLOCKS_TRIED = 4


def admit(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """Those that may go now. The others are parked, or go back to the queue for later."""
    admitted: list[Item] = []
    for client_id, group in groupby(sorted(items, key=_client_of), key=_client_of):
        items_of_client = list(group)
        try:
            admitted += _admit_client(batch, client_id, items_of_client)
        except Unavailable as error:
            # Those parked or sent back before come a second time: a duplicate, which is absorbed.
            for item in items_of_client:
                batch.fail(item, str(error))
    return admitted


def _admit_client(batch: Batch, client_id: str, items: list[Item]) -> list[Item]:
    client = batch.world.clients.get(client_id)
    for step in (_unparked, _paced, _permitted):
        items = step(batch, client_id, client, items) if items else items
    return items


def _client_of(item: Item) -> str:
    return item.release.occurrence.client_id


def _unparked(batch: Batch, client_id: str, client: Client | None, items: list[Item]) -> list[Item]:
    """Those that neither the client's pause nor an open circuit holds back."""
    if client is not None and client.paused:
        park(batch, items, f"its client is paused: {client.pause_reason or 'no reason given'}")
        return []
    hosts = {host for item in items if (host := host_of(item.release.occurrence.target)) is not None}
    circuits = batch.world.regulation.circuits(client_id) if hosts else {}
    if not hosts & circuits.keys():
        return items
    going: list[Item] = []
    held: list[Item] = []
    for item in items:
        host = host_of(item.release.occurrence.target)
        passage, probing = plan_passage(circuits.get(host or ""), batch.world.clock.now())
        if probing is not None and batch.world.regulation.save_circuit(circuits[probing.host], probing):
            # Everybody else is held back by the later probe; ours is this one.
            circuits = {**circuits, probing.host: probing}
            item.probes = True
            going.append(item)
        else:
            (going if passage is Passage.FREE else held).append(item)
    park(batch, held, "the circuit of its target is open")
    return going


def _paced(batch: Batch, client_id: str, client: Client | None, items: list[Item]) -> list[Item]:
    """Under a rate cap each takes a slot once; one that is too far away to hold for goes back for its slot."""
    if client is None or client.max_rate_per_second is None:
        return items
    world = batch.world
    waiting = sorted((item for item in items if not item.release.paced), key=lambda item: item.release.run_at)
    if waiting:
        now = world.clock.now()
        interval_ms = 1000 / client.max_rate_per_second
        first_at = world.regulation.reserve(client_id, len(waiting), interval_ms, now)
        for place, item in enumerate(waiting):
            slot_at = max(item.release.run_at, first_at + int(place * interval_ms))
            item.release = msgspec.structs.replace(item.release, run_at=slot_at, paced=True)
    # A slot beyond the relevancy window is no use waiting for.
    items = unexpired(batch, items)
    far_at = world.clock.now() + LONGEST_HOLD_MS
    batch.send_back([item for item in items if item.release.run_at >= far_at])
    return [item for item in items if item.release.run_at < far_at]


def _permitted(batch: Batch, client_id: str, client: Client | None, items: list[Item]) -> list[Item]:
    """As many as the client's permits let run at once; the others come back in a second or two."""
    world = batch.world
    now = world.clock.now()
    busy = world.environment.note_started(client_id, len(items), now) > BUSY_AFTER
    if not busy and (client is None or client.max_concurrency is None):
        return items
    blocks = blocks_of(cap_of(client, world.settings.deliverer_concurrency))
    count = len(items) if _holds_block(world, client_id, blocks, now) else 0
    going = items[: min(count, blocks.size)]
    later = items[len(going) :]
    for item in later:
        back_at = now + int(NO_PERMIT_MS * (1 + world.chance.fraction()))
        item.release = msgspec.structs.replace(item.release, run_at=max(item.release.run_at, back_at))
    batch.send_back(later)
    return going


def _holds_block(world: World, client_id: str, blocks: Blocks, now: int) -> bool:
    """Whether this environment has a block of the client's permits, leasing one if need be."""
    held = world.environment.blocks.get(client_id)
    if held is not None and held.number is not None and now < held.until:
        return True
    # A lease outlives the deliveries that were started under it.
    lease_ms = WINDOW_MS + world.settings.target_timeout_seconds * 1000
    holder = world.environment.name
    first = held.number if held is not None and held.number is not None else world.chance.below(blocks.count)
    for step in range(min(blocks.count, BLOCKS_TRIED)):
        number = (first + step) % blocks.count
        if world.regulation.lease(client_id, number, holder, now, now + lease_ms):
            world.environment.blocks[client_id] = Block(number, now + WINDOW_MS)
            return True
    world.environment.blocks.pop(client_id, None)
    return False
