"""Slots: what a rate cap lets start now. An item that finds no slot near enough waits in line, and comes back for one.

An environment remembers up to when a client has no slot free. That instant never goes back, so as long as no slot can
be within reach it asks for none: the returns of a long line cost no writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from clockwork.domain.clients import Client
from clockwork.domain.lifecycle.expiry import relevant_until
from clockwork.domain.limits.slots import Reach, Reserved, back_at, reach_of, urgency
from clockwork.domain.releases import Deliver
from clockwork.domain.waits import Line
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.inform import unexpired
from clockwork.flows.deliver.items import Item
from clockwork.flows.world import World

#: An item whose slot is this far away (ms) goes back to the queue, whose delays are whole seconds. To hold it would
#: occupy an environment.
FAR_SLOT_MS = 1_000
#: An environment that found no slot within reach asks again once the next one may be this much nearer (ms).
NEARER_MS = 1_000


def with_slots(batch: Batch, client: Client | None, items: list[Item], *, has_permits: bool = False) -> list[Item]:
    """The items whose slots under the client's rate cap are near. The others go back for their slots, or for one.

    Each item takes one slot only, however often it comes, unless it gives that up as it finds no permit. Then it asks
    for a permit first, and takes its next slot only once it has one (`has_permits`).
    """
    if client is None or client.max_rate_per_second is None:
        return items
    waiting = [item for item in items if _asks_first(item.release) and not has_permits]
    kept = {id(item) for item in waiting}
    rest = [item for item in items if id(item) not in kept]
    return [*waiting, *(_paced(batch, client.client_id, client.max_rate_per_second, rest) if rest else ())]


def _asks_first(release: Deliver) -> bool:
    """Whether a release asks for a permit before it takes a slot: it found none before, and gave its slot up."""
    return release.waits.permits > 0 and not release.waits.paced


def _paced(batch: Batch, client_id: str, rate: float, items: list[Item]) -> list[Item]:
    now, interval_ms = batch.world.clock.now(), 1000 / rate
    wanting = sorted((item for item in items if not item.release.waits.paced), key=lambda item: urgency(item.release))
    waiting = _take(batch.world, client_id, interval_ms, wanting, now) if wanting else []
    if waiting:
        _line_up(batch.world, client_id, interval_ms, waiting, now)
    # An item whose slot would lie beyond its relevancy window need not wait for it.
    in_line = {id(item) for item in waiting}
    going = unexpired(batch, [item for item in items if id(item) not in in_line])
    far_at = batch.world.clock.now() + FAR_SLOT_MS
    batch.send_back([*waiting, *(item for item in going if item.release.run_at >= far_at)])
    return [item for item in going if item.release.run_at < far_at]


def _take(world: World, client_id: str, interval_ms: float, wanting: list[Item], now: int) -> list[Item]:
    """Give each item a slot within its reach, as far as there are any; returns those that are to wait.

    One reservation is enough if there are enough slots. Otherwise there is at most one for each different reach. An
    item whose window ends before the next free slot gets an instant beyond its window, where it ends: that takes no
    slot.
    """
    known = world.environment.slots.get(client_id, Reserved(0, 0))
    able = _able(wanting, known, interval_ms, now)
    kept = {id(item) for item in able}
    unable = [item for item in wanting if id(item) not in kept]
    while able:
        reach = reduce(Reach.within, (reach_of(item.release, now) for item in able))
        given = world.regulation.reserve(client_id, len(able), interval_ms, now, reach)
        for index, item in enumerate(able[: given.count]):
            _pace(item, now, given.first_at + int(index * interval_ms), paced=True)
        known = Reserved(given.first_at + int(given.count * interval_ms), 0, given.line_until)
        # No slot is left up to there: who reaches no further has none.
        taken_until = reach.latest(known.line_until, now)
        left = able[given.count :]
        able = _able([item for item in left if _latest(item, known, now) > taken_until], known, interval_ms, now)
        kept = {id(item) for item in able}
        unable += [item for item in left if id(item) not in kept]
    world.environment.slots[client_id] = known
    return [item for item in unable if not _put_off_beyond(item, known.first_at, now)]


def _able(items: Sequence[Item], known: Reserved, interval_ms: float, now: int) -> list[Item]:
    """The items for which there may be slots within reach, if the next free one is no sooner than `known` says."""
    able: list[Item] = []
    for item in items:
        latest = _latest(item, known, now)
        nearer_ms = 0 if latest == relevant_until(item.release.occurrence) else NEARER_MS
        if max(now, known.first_at) + len(able) * interval_ms + nearer_ms <= latest:
            able.append(item)
    return able


def _latest(item: Item, known: Reserved, now: int) -> int:
    return reach_of(item.release, now).latest(known.line_until, now)


def _put_off_beyond(item: Item, first_at: int, now: int) -> bool:
    """Put an item off beyond its window if that ends before the next free slot; False if it does not."""
    until = relevant_until(item.release.occurrence)
    if until is None or first_at <= until:
        return False
    _pace(item, now, first_at, paced=False)
    return True


def _line_up(world: World, client_id: str, interval_ms: float, waiting: Sequence[Item], now: int) -> None:
    """Send each item back for when it is to look for a slot again. Those that have no place yet get places."""
    new = [item for item in waiting if (line := item.release.waits.line) is None or line.place is None]
    places: dict[int, int] = {}
    if new:
        first_at = world.regulation.line_up(client_id, len(new), interval_ms, now)
        places = {id(item): first_at + int(index * interval_ms) for index, item in enumerate(new)}
        known, line_until = world.environment.slots[client_id], first_at + int(len(new) * interval_ms)
        world.environment.slots[client_id] = Reserved(known.first_at, 0, line_until)
    fraction = world.random.fraction()
    for item in waiting:
        line = item.release.waits.line or Line(None, now)
        place = places[id(item)] if line.place is None else line.place
        at = back_at(item.release, place, line.since, now, fraction)
        item.release = item.release.put_off("cap", now, at, line=Line(place, line.since))


def _pace(item: Item, now: int, at: int, *, paced: bool) -> None:
    item.release = item.release.put_off("cap", now, at, paced=paced)
