"""Admission: before anything is claimed, decide which items of each client may start now.

Items of a paused client or an open circuit are parked, and so are those of a client that cannot be read. A rate cap
paces a client's items. A concurrency cap counts its deliveries under way. A client without one shares the deliverers
with the others that an environment meets. An uncapped, unpaused client that is alone costs no write here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from clockwork.domain.clients import DELETED, Client, ClientUnreadable, disowns
from clockwork.domain.errors import ClockworkError
from clockwork.domain.executions import State
from clockwork.domain.lifecycle.parking import BEHIND_CIRCUIT
from clockwork.domain.limits.circuits import Passage, has_turn, host_of, plan_passage
from clockwork.domain.named.look import Objection
from clockwork.flows.containment import why
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.concurrency import note_company, within_concurrency
from clockwork.flows.deliver.inform import informed
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.park import park
from clockwork.flows.deliver.slots import with_slots
from clockwork.flows.world import World


def admit(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items that may start now. The others are parked, or go back to the queue for later."""
    admitted: list[Item] = []
    if batch.worker is None:
        note_company(batch.world, items)
    for client_id, group in groupby(sorted(items, key=_client_of), key=_client_of):
        admitted += _admitted(batch, client_id, list(group))
    return admitted


def is_held(world: World, client_id: str) -> bool:
    """Whether all of the client stays parked: it is paused, or cannot be read."""
    try:
        client = world.clients.get(client_id)
    except ClientUnreadable:
        return True
    return client is not None and client.paused


def still_allowed(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items whose claim stands, marked where their client was deleted or may not send there: these end.

    Nothing else holds them back, since they were admitted before.
    """
    judged: list[Item] = []
    for client_id, group in groupby(sorted(items, key=_client_of), key=_client_of):
        some = list(group)
        with batch.failing(*some):
            client = batch.world.clients.get(client_id)
            disowned, owned = _disowned(batch, client, some)
            refused, allowed = _refused(batch, client, owned)
            judged += [*disowned, *refused, *allowed]
    return judged


def _admitted(batch: Batch, client_id: str, items: list[Item]) -> list[Item]:
    """The items of one client that may start now.

    Permits are leased once for all of them: a second lease would give the same block away a second time.
    """
    with batch.failing(*items):
        try:
            client = batch.world.clients.get(client_id)
        except ClientUnreadable as fault:
            park(batch, items, "pause", str(fault))
            return []
        disowned, items = _disowned(batch, client, items)
        if client is not None and _holds_back(client):
            items = informed(batch, items)
        # A paused client's items are parked, whatever their targets.
        refused, items = ([], items) if client is not None and client.paused else _refused(batch, client, items)
        return [*disowned, *refused, *_permitted(batch, client, _unheld(batch, client_id, client, items))]
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


def _holds_back(client: Client) -> bool:
    """Whether the client may hold items back: then their jobs are asked first, so that nothing unwanted waits."""
    return client.paused or client.max_rate_per_second is not None or client.max_concurrency is not None


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


def _permitted(batch: Batch, client: Client | None, items: list[Item]) -> list[Item]:
    """The items that permits let run at once. A fault of the lease fails these items alone."""
    for item in items:
        item.has_cap = client is not None and client.max_concurrency is not None
    if items:
        with batch.failing(*items):
            return list(within_concurrency(batch, client, items))
    return []


def _unheld(batch: Batch, client_id: str, client: Client | None, items: list[Item]) -> list[Item]:
    """The items that nothing but a concurrency cap may hold back.

    A port's fault fails them all, a defect the one alone that has it.
    """
    try:
        going = items
        for step in (_unparked, with_slots):
            going = step(batch, client_id, client, going) if going else going
        return going
    except Exception as error:  # noqa: BLE001 - whatever one item raises, the others go on
        # Items that were parked or sent back, ended or failed before are done with, and do not come a second time.
        left = [item for item in items if not item.left]
        if isinstance(error, ClockworkError) or len(left) < 2:
            why_not = why(batch.world.environment.faults, error, client_id)
            for item in left:
                batch.fail(item, why_not)
            return []
    return [going for item in left for going in _unheld(batch, client_id, client, [item])]


def _client_of(item: Item) -> str:
    return item.release.occurrence.client_id


def _unparked(batch: Batch, client_id: str, client: Client | None, items: list[Item]) -> list[Item]:
    """The items that neither the client's pause nor an open circuit holds back; the others are parked."""
    if client is not None and client.paused:
        batch.world.environment.company.note_paused(client_id, batch.world.clock.now())
        park(batch, items, "pause", f"its client is paused: {client.pause_reason or 'no reason given'}")
        return []
    hosts = {host for item in items if (host := host_of(item.release.occurrence.target)) is not None}
    circuits = batch.world.regulation.circuits(client_id) if hosts else {}
    if not hosts & circuits.keys():
        return items
    items = informed(batch, items)
    going: list[Item] = []
    held: list[Item] = []
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
