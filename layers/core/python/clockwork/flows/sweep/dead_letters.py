"""Dead letters: take releases out of the dead-letter queue, and bring each to a visible end."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.awaited import has_ended_for
from clockwork.domain.lifecycle.awaiting import is_claimed, release_of, watch_of
from clockwork.domain.messages.tickets import InvalidTicket, is_ticket, opened
from clockwork.domain.releases import Release
from clockwork.domain.runs.beginning import WINDS_DOWN_MS, deadline_of, is_run
from clockwork.domain.storage.codec import decode_message
from clockwork.flows.containment import why
from clockwork.flows.deaths import bury
from clockwork.flows.deliver.inbox import send_alone
from clockwork.flows.outages import tolerated
from clockwork.flows.records import renew
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.workflows import late
from clockwork.flows.workflows.follow import follow_ends
from clockwork.flows.world import World
from clockwork.ports import DeadLetter

log = logging.getLogger(__name__)

#: The sweeper sends a release from the dead-letter queue back to the release queue this often; then it is DEAD.
MOST_SWEEPS = 3
#: The letters of one receive may take this long at the most (ms).
STOP_MARGIN_MS = 10_000


class SweepReport(msgspec.Struct):
    """Counts of the releases in the dead-letter queue; all should read 0. `left`: letters that stay, in any queue."""

    released: int = 0
    absorbed: int = 0
    dead: int = 0
    left: int = 0


def sweep_dead_letters(world: World, deadline_at: int) -> SweepReport:
    """Empty the dead-letter queue, as far as time allows before `deadline_at` (ms).

    A letter that cannot be handled now stays there. The messages of ingestion that nobody could handle are counted with
    those that stay.
    """
    report = SweepReport()
    with tolerated(world, log, "dead letters of ingestion not counted: %s", {"action": "letters_not_counted"}):
        report.left = world.dead_letters.beside()
    while world.clock.now() < deadline_at - STOP_MARGIN_MS:
        letters = world.dead_letters.receive()
        if not letters:
            break
        for letter in letters:
            if not _sweep(world, letter, report):
                report.left += 1
    return report


def _sweep(world: World, letter: DeadLetter, report: SweepReport) -> bool:
    """Handle one letter, and delete it once it is done; True if so. A faulty letter does not stop the others."""
    try:
        if is_done := _sweep_all(world, _releases_in(world, letter.body), report):
            world.dead_letters.delete(letter.receipt)
        return is_done
    except (Unreadable, InvalidTicket) as error:
        log.error("undecodable dead letter, or record of it: %s", error, extra={"action": "undecodable_dead_letter"})
    except Exception as error:  # noqa: BLE001 - whatever one letter raises, the others are swept
        fault = why(world.environment.faults, error, "a dead letter")
        log.warning("a dead letter stays: %s", fault, extra={"action": "dead_letter_left"})
    return False


def _releases_in(world: World, body: str) -> Sequence[Release]:
    """The releases in a dead letter, of a release queue or of a pool. Raises Unreadable, InvalidTicket, Unavailable."""
    if not is_ticket(body):
        return decode_message(body)
    ticket = opened(body, world.ticket_keys.get(), world.clock.now())
    return decode_message(ticket.release)


def _sweep_all(world: World, releases: Sequence[Release], report: SweepReport) -> bool:
    if len(releases) > 1:
        left = send_alone(world, releases)
        report.released += len(releases) - len(left)
        return not left
    return _sweep_one(world, releases[0], report)


def _sweep_one(world: World, release: Release, report: SweepReport) -> bool:
    stored = world.executions.find(release.job_id, release.execution_id)
    if stored is not None and has_ended_for(release, stored):
        report.absorbed += 1
        return _follow(world, release, stored)
    # The letter of a run may be the only one that begins with its nodes: it goes back as it is.
    begins = is_run(stored) and release.sweeps < MOST_SWEEPS
    if stored is not None and not begins and is_claimed(stored, world.clock.now()):
        return stored.is_accepted and _send_watch(world, release, stored, report)
    if release.sweeps < MOST_SWEEPS:
        renew(world, stored)
        again = msgspec.structs.replace(release, sweeps=release.sweeps + 1)
        refused = world.releases.send([again], world.clock.now())
        report.released += not refused
        return not refused
    return _bury(world, release, stored, report)


def _send_watch(world: World, release: Release, stored: Execution, report: SweepReport) -> bool:
    """Send the letter's release again as the watch of the claim of a receiver, which may stand for days."""
    is_sent = not send_retries(world, [watch_of(release, stored)])
    report.released += is_sent
    return is_sent


def _bury(world: World, release: Release, stored: Execution | None, report: SweepReport) -> bool:
    if stored is not None and is_run(stored):
        # A run ends behind all of its nodes: the letter stays while one of them runs, but for a day at the most.
        if late.stop(world, [stored]) and world.clock.now() < deadline_of(stored) + WINDS_DOWN_MS:
            return False
        # The letter has no definition, which a redrive needs.
        release = release_of(stored)
    dead = bury(world, release, stored, f"it came back from the dead-letter queue {MOST_SWEEPS} times without an end")
    report.dead += dead is not None
    return dead is not None and _follow(world, release, dead)


def _follow(world: World, release: Release, stored: Execution) -> bool:
    """Do what follows from an end; True if the letter may be deleted.

    Otherwise it stays, and the next sweep finds the record.
    """
    refused = follow_ends(world, [(release, stored)])
    for one in refused:
        extra = {"action": "callback_not_placed", "executionId": release.execution_id}
        log.warning("what follows from an end is left: %s", one.reason, extra=extra)
    return not refused
