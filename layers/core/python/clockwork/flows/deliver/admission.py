"""Admission: before anything is claimed, decide which items of each client may start now.

The gate of each client is read first: what may hold its items back. Then the jobs are asked once whether they want the
items that may be held back, that have waited, or that are late. Only then is anything parked or taken.

Items of a paused client or an open circuit are parked, and so are those of a client that cannot be read. A rate cap
paces a client's items. A concurrency cap counts its deliveries under way. A client without one shares the deliverers
with the others that an environment meets. An uncapped, unpaused client that is alone costs no write here.

How it fails. The calls about one client take seconds: those whose gates take no such call start before it, and an
environment lets a slow client wait behind all others for a minute. A call that is slow for the first time delays those
that are asked about after it, once. Once the gates of a batch have taken ASKED_FOR_MS, what is left comes back soon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby

import msgspec

from clockwork.domain.clients import DELETED, Client, ClientUnreadable, disowns
from clockwork.domain.errors import ClockworkError
from clockwork.domain.executions import State
from clockwork.domain.lifecycle.parking import BEHIND_CIRCUIT
from clockwork.domain.limits.circuits import Circuit, Passage, has_turn, host_of, plan_passage
from clockwork.domain.limits.concurrency import Blocks
from clockwork.domain.named.look import Objection
from clockwork.domain.workflows.definition import WorkflowTarget
from clockwork.flows.containment import why
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.claim import later, read_records
from clockwork.flows.deliver.concurrency import blocks_of, note_company, within_concurrency
from clockwork.flows.deliver.inform import informed, needs_look, unended, unexpired
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.park import park
from clockwork.flows.deliver.slots import with_slots

#: The gate of a client is slow from this time on (ms), and counts as slow for so long (ms).
SLOW_GATE_MS, SLOW_GATE_FOR_MS = 500, 60_000


class Gate(msgspec.Struct, frozen=True):
    """The gate of a client has all that may hold its items back, as read for this batch.

    `fault`: why the client cannot be read, so that all of its items are parked.
    `circuits`: the client's, if one of them is that of an item. `blocks`: of permits, if the client needs any.
    """

    client: Client | None
    fault: str | None = None
    circuits: Mapping[str, Circuit] = {}
    blocks: Blocks | None = None

    def holds_back(self) -> bool:
        """Whether an item may be parked, or may wait for a slot or a permit."""
        client = self.client
        is_limited = client is not None and (client.paused or client.max_rate_per_second is not None)
        return is_limited or self.blocks is not None or bool(self.circuits)

    def takes(self, item: Item) -> bool:
        """Whether the item takes a slot, or a permit behind its slot. If it was cancelled, it shall take neither."""
        if item.release.waits.paced:
            return self.blocks is not None
        return self.client is not None and self.client.max_rate_per_second is not None


class Turns(msgspec.Struct, frozen=True):
    """The items of a batch by what the gates of their clients may take.

    `open`: no limit holds them back. `limited`: it takes calls to tell. `slow`: such calls took long lately.
    """

    open: list[Item]
    limited: list[Item]
    slow: list[Item]


def in_turns(batch: Batch, items: Sequence[Item]) -> Turns:
    """The items of a deliverer's batch in the order in which they are to be admitted, and whose messages they are."""
    note_company(batch.world, items)
    slow_until, turns = batch.world.environment.slow_gate_until, Turns([], [], [])
    now, found = batch.world.clock.now(), list(_by_client(items))
    for client_id, some in found:
        if now < slow_until.get(client_id, 0):
            turns.slow.extend(some)
        elif len(found) == 1:
            turns.open.extend(some)
        else:
            with batch.failing(*some):
                (turns.limited if _may_be_limited(batch, client_id) else turns.open).extend(some)
    return turns


def _may_be_limited(batch: Batch, client_id: str) -> bool:
    with _timed(batch, client_id):
        try:
            client = batch.world.clients.get(client_id)
        except ClientUnreadable:
            return True
        blocks = blocks_of(batch.world, client_id, client)
        return client is not None and (client.max_rate_per_second is not None or blocks is not None)


def admit(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items that may start now. The others end, are parked, or go back to the queue for later."""
    gates = {client_id: _gate(batch, client_id, some) for client_id, some in _in_time(batch, _by_client(items))}
    wanted = _wanted(batch, gates, [item for item in items if not item.left])
    clients = _in_time(batch, _by_client(wanted))
    return [item for client_id, some in clients for item in _admitted(batch, gates, client_id, some)]


def _in_time(batch: Batch, clients: Iterable[tuple[str, list[Item]]]) -> Iterator[tuple[str, list[Item]]]:
    """Yield the clients with their items while the batch's time for gates lasts. The others' items come back soon.

    Of a worker's claim the calls about permits have a bounded time themselves (`concurrency.py`).
    """
    for client_id, some in clients:
        if batch.gates_ms > 0 or batch.worker is not None:
            with _timed(batch, client_id):
                yield client_id, some
        else:
            for item in some:
                item.release = later(batch, item)
            batch.send_back(some)


@contextmanager
def _timed(batch: Batch, client_id: str) -> Iterator[None]:
    """Note how long calls about a client take. A client about which they take long is asked about last for a while."""
    began_at = batch.world.clock.now()
    try:
        yield
    finally:
        now = batch.world.clock.now()
        batch.gates_ms -= now - began_at
        if now - began_at >= SLOW_GATE_MS:
            batch.world.environment.slow_gate_until[client_id] = now + SLOW_GATE_FOR_MS


def _gate(batch: Batch, client_id: str, items: Sequence[Item]) -> Gate:
    """The gate of one client. Its items fail if it gives no answer."""
    with batch.failing(*items):
        try:
            client = batch.world.clients.get(client_id)
        except ClientUnreadable as fault:
            return Gate(None, fault=str(fault))
        if client is not None and client.paused:
            return Gate(client)
        hosts = {host for item in items if (host := host_of(item.release.occurrence.target)) is not None}
        circuits = batch.world.regulation.circuits(client_id) if hosts else {}
        blocks = blocks_of(batch.world, client_id, client) if batch.worker is None else None
        return Gate(client, None, circuits if hosts & circuits.keys() else {}, blocks)
    return Gate(None)


def _wanted(batch: Batch, gates: Mapping[str, Gate], items: Sequence[Item]) -> list[Item]:
    """The items that are wanted and in time. The others end, or fail."""
    asked = {id(item): item for item in items if needs_look(item) or gates[_client_of(item)].holds_back()}
    if asked:
        read_records(batch, [item for item in asked.values() if gates[_client_of(item)].takes(item)])
        going = {id(item) for item in informed(batch, unended(batch, list(asked.values())))}
        items = [item for item in items if id(item) in going or id(item) not in asked]
    return unexpired(batch, items)


def still_allowed(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items whose claim stands, marked where their client was deleted or may not send there: these end.

    Nothing else holds them back, since they were admitted before.
    """
    judged: list[Item] = []
    for client_id, some in _by_client(items):
        with batch.failing(*some):
            client = batch.world.clients.get(client_id)
            disowned, owned = _disowned(batch, client, some)
            refused, allowed = _refused(batch, client, owned)
            judged += [*disowned, *refused, *allowed]
    return judged


def _admitted(batch: Batch, gates: Mapping[str, Gate], client_id: str, items: list[Item]) -> list[Item]:
    """The items of one client that may start now. One lease is for all: a second would give its block away again."""
    with batch.failing(*items):
        gate = gates[client_id]
        if gate.fault is not None:
            park(batch, items, "pause", gate.fault)
            return []
        client = gate.client
        disowned, items = _disowned(batch, client, items)
        # A paused client's items are parked, whatever their targets.
        refused, items = ([], items) if client is not None and client.paused else _refused(batch, client, items)
        # No cap holds the run of a workflow back: its nodes call.
        runs = [item for item in items if isinstance(item.release.occurrence.target, WorkflowTarget)]
        free = _unparked(batch, gate, runs) if runs else []
        items = [item for item in items if item not in runs] if runs else items
        return [*disowned, *refused, *free, *_permitted(batch, gate, _unheld(batch, gate, items))]
    return []


def _disowned(batch: Batch, client: Client | None, items: list[Item]) -> tuple[list[Item], list[Item]]:
    """The items that end undelivered since their client was deleted, and the others.

    A cached client may be older than one that has the id anew: so it is asked of the client as it is now.
    """
    suspects = [item for item in items if disowns(client, item.release.occurrence.created_at)]
    if not suspects:
        return [], items
    ending: list[Item] = []
    with batch.failing(*suspects):
        now = batch.world.clients.get(_client_of(suspects[0]), fresh=True)
        for item in suspects:
            if disowns(now, item.release.occurrence.created_at):
                item.objection = Objection(State.CANCELLED, DELETED)
                ending.append(item)
    return ending, [item for item in items if item.objection is None and not item.left]


def _refused(batch: Batch, client: Client | None, items: list[Item]) -> tuple[list[Item], list[Item]]:
    """The items whose client may not send to their targets any more, and those whose client may.

    A refusal is permanent, and a cached client may be older than the job: so it is asked of the client as it is now.
    """
    judged = batch.each(items, lambda item: item.release.occurrence.target.against(client))
    allowed = [item for item, reason in judged if reason is None]
    suspects = [item for item, reason in judged if reason is not None]
    refused: list[Item] = []
    if suspects:
        with batch.failing(*suspects):
            now = batch.world.clients.get(_client_of(suspects[0]), fresh=True)
            for item, reason in [(item, item.release.occurrence.target.against(now)) for item in suspects]:
                item.refusal = reason
                (allowed if reason is None else refused).append(item)
    return refused, allowed


def _permitted(batch: Batch, gate: Gate, items: list[Item]) -> list[Item]:
    """The items that permits let run at once. A fault of the lease fails these items alone."""
    for item in items:
        item.has_cap = gate.client is not None and gate.client.max_concurrency is not None
    if items:
        with batch.failing(*items):
            return list(within_concurrency(batch, gate.client, gate.blocks, items))
    return []


def _unheld(batch: Batch, gate: Gate, items: list[Item]) -> list[Item]:
    """The items that nothing but a concurrency cap may hold back.

    A port's fault fails them all, a defect the one alone that has it.
    """
    try:
        going = _unparked(batch, gate, items) if items else []
        return with_slots(batch, gate.client, going) if going else []
    except Exception as error:  # noqa: BLE001 - whatever one item raises, the others go on
        # Items that were parked or sent back, ended or failed before are done with, and do not come a second time.
        left = [item for item in items if not item.left]
        if isinstance(error, ClockworkError) or len(left) < 2:
            why_not = why(batch.world.environment.faults, error, _client_of(items[0]))
            for item in left:
                batch.fail(item, why_not)
            return []
    return [going for item in left for going in _unheld(batch, gate, [item])]


def _client_of(item: Item) -> str:
    return item.release.occurrence.client_id


def _by_client(items: Sequence[Item]) -> Iterator[tuple[str, list[Item]]]:
    for client_id, some in groupby(sorted(items, key=_client_of), key=_client_of):
        yield client_id, list(some)


def _unparked(batch: Batch, gate: Gate, items: list[Item]) -> list[Item]:
    """The items that neither the client's pause nor an open circuit holds back; the others are parked."""
    client, circuits = gate.client, gate.circuits
    if client is not None and client.paused:
        batch.world.environment.company.note_paused(client.client_id, batch.world.clock.now())
        park(batch, items, "pause", f"its client is paused: {client.pause_reason or 'no reason given'}")
        return []
    if not circuits:
        return items
    going, held = list[Item](), list[Item]()
    for item in items:
        host = host_of(item.release.occurrence.target)
        now, has_slot, may_probe = batch.world.clock.now(), item.release.waits.paced, has_turn(item.release)
        passage, probing = plan_passage(circuits.get(host or ""), now, has_slot=has_slot, may_probe=may_probe)
        if probing is not None and batch.world.regulation.save_circuit(circuits[probing.host], probing):
            # This item is the probe. All others are held back until the later probe that is saved now.
            circuits = {**circuits, probing.host: probing}
            item.probes = probing
            going.append(item)
        else:
            (going if passage is Passage.FREE else held).append(item)
    park(batch, held, "circuit", BEHIND_CIRCUIT)
    return going
