"""Damage: parked rows and clients that nobody can read, and records that are gone, as after a restore of a table."""

from __future__ import annotations

from functools import partial

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.executions import State
from clockwork.domain.ids import is_named
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import FORMAT, encode_row
from clockwork.domain.timeline import NEVER, Row
from clockwork.edge.requests.clients import ClientBody
from clockwork.flows.requests.clients import change_client
from clockwork.flows.world import World
from clockwork.ports import Timeline
from tests.simulation.cloud import ApiEnvironment, Cloud
from tests.simulation.faults import Adversary, Fault
from tests.simulation.requests import CLIENTS, EVERYBODY, REGULATED
from tests.simulation.rows import UNDAMAGED, elements_of, every_row
from tests.simulation.stores import Stores


def damage_parked_rows(stores: Stores, adversary: Adversary, now: int) -> None:
    """Puts parked rows that nobody can read. They stay where they are, and all others must be unparked."""
    if adversary.strikes(Fault.GARBAGE_PARKED, 1.0):
        stores.regulation.note_parked(REGULATED.client_id, now)
        for number, blob in enumerate((bytes([FORMAT]) + b"\xff", encode_row([]))):
            stores.timeline.put([Row(parking_of(REGULATED.client_id), row_key(now, f"strange{number}"), blob, NEVER)])


def lose_parked_record(stores: Stores, adversary: Adversary) -> None:
    """Deletes the record of something that is parked: whether it was cancelled, nobody can tell any more.

    Of what workers pull it is left alone: an old ticket that a liar shows again would start afresh.
    """
    for client in EVERYBODY:
        for row in every_row(stores.timeline, parking_of(client.client_id)):
            for element in elements_of(row).values():
                if not isinstance(element, Release) or is_named(element.job_id) or element.occurrence.is_reported:
                    continue
                record = stores.executions.find(element.job_id, element.execution_id)
                if record is not None and record.state is State.PARKED and adversary.strikes(Fault.RECORD_LOST, 0.5):
                    stores.executions.lose(record)
                    return


#: An admin tries to repair a client after so long (ms), and again until that is done.
REPAIRED_AFTER_MS, TRIED_EVERY_MS = (20_000, 400_000), 10_000


def damage_client(cloud: Cloud, adversary: Adversary) -> None:
    """Lets nobody read the row of a client until an admin has replaced it."""
    client = adversary.rng.choice((*CLIENTS, REGULATED, REGULATED))
    if adversary.strikes(Fault.DAMAGED_CLIENT, 1.0):
        cloud.stores.clients.damage(client.client_id)
        cloud.scheduler.after(adversary.rng.randrange(*REPAIRED_AFTER_MS), partial(_repair, cloud, client))


def _repair(cloud: Cloud, client: Client) -> None:
    def replaced(left: Client) -> Client:
        asked = {name: getattr(client, name) for name in ClientBody.model_fields}
        return msgspec.structs.replace(left, **asked)

    def work(world: World, _: ApiEnvironment) -> Client:
        return change_client(world, client.client_id, None, replaced, repairs=True)

    if cloud.stores.clients.is_damaged(client.client_id):
        cloud.call_api("api<repair", work)
        cloud.scheduler.after(TRIED_EVERY_MS, partial(_repair, cloud, client))


def damage(timeline: Timeline, row: Row, blob: bytes) -> None:
    """Change the bytes of a stored row, and nothing else of it."""
    if blob != row.blob:
        UNDAMAGED[blob] = row.blob
    (stored,) = timeline.find([(row.partition_id, row.key)])
    if stored is not None:
        timeline.put([msgspec.structs.replace(stored, blob=blob)])
