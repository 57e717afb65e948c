"""Chains: the series of a named job's fires, where it goes on, and which fires are delivered, missed or skipped.

One function expands a chain for the poller and for the api Lambda. Keys are derived, so a chain that is expanded twice
does not fork.
"""

from __future__ import annotations

import msgspec

from clockwork.domain import keys
from clockwork.domain.executions import Skipped
from clockwork.domain.fires.counting import count_fires, last_base, nth_base
from clockwork.domain.fires.hints import hint_of
from clockwork.domain.fires.missed import is_in_window, is_missed, missed_to
from clockwork.domain.fires.timings import Timing
from clockwork.domain.ids import ONLY_RUN
from clockwork.domain.named_jobs import Backfill, NamedJob, Pointer, occurrence_of
from clockwork.domain.recurrence import Fire, Work, next_occurrence
from clockwork.domain.releases import Deliver, Of
from clockwork.domain.waits import NO_WAITS, Waited, Waits

#: The most missed fires that are computed one by one. The end of a longer stretch is found by halves, and its fires are
#: counted by the day: an interval of a second has millions of them in a month.
MOST_WALKED = 1_000


class Step(msgspec.Struct, frozen=True):
    """The result of expanding a chain: the releases, the stretch of fires to skip, and the pointer to the next fire.

    `following` is None when the schedule is over. `first`: the first fire of the stretch to skip. `is_cut`: the
    expansion stopped short of the horizon, so the next fire lies at or before the horizon and the chain has to be read
    again.
    """

    releases: tuple[Deliver, ...]
    following: Pointer | None
    skipped: Skipped | None = None
    first: Fire | None = None
    is_cut: bool = False


def first_pointer(job: NamedJob) -> Pointer | None:
    """The pointer to the first fire of the job's chain since its beginning; None if the chain has no fire left."""
    return pointer_to(job, fire_after(job, job.chain_after_at, job.chain_ordinal))


def pointer_to(job: NamedJob, fire: Fire | None) -> Pointer | None:
    """The pointer to a fire of the job, under the job's current series; None without a fire."""
    if fire is None:
        return None
    return Pointer(job.client_id, job.job_key, job.series, fire, sequence=job.definition.sequence)


def fire_after(job: NamedJob, after_at: int, ordinal: int, work: Work | None = None) -> Fire | None:
    """The job's first fire with a base instant after `after_at` (ms), behind `ordinal` others; None if none is left."""
    if job.definition.recurrence is not None:
        return next_occurrence(job.definition.recurrence, after_at, ordinal, job.job_id, work)
    at = job.definition.at
    return None if at is None or at <= after_at else Fire(at, at, 1)


def expand(job: NamedJob, start: Pointer, horizon: str, now: int, limit: int) -> Step:
    """Expand the chain from `start` up to the horizon (a key), to at most `limit` fires.

    The catch-up policy decides which missed fires are delivered. It does not apply to backfills. An old pointer of the
    series may name a fire before the chain's beginning: then the chain is expanded from there. The pointer's own fire
    is none any more if the rules of its time zone have changed: then the chain goes on with the one in its place.
    """
    if start.backfill is not None:
        return _expand_backfill(job, start, horizon, limit)
    first = first_pointer(job) if start.fire.base_at <= job.chain_after_at else as_ruled_now(job, start)
    if first is None or first.key > horizon:
        return Step((), first)
    kept, skipped, fire = _catch_up(job, first.fire, horizon, now)
    fires = [] if kept is None else [kept]
    pointer = pointer_to(job, fire)
    while pointer is not None and pointer.key <= horizon:
        if len(fires) >= limit or is_missed(job, pointer.fire, now):
            break
        fires.append(pointer.fire)
        pointer = pointer_to(job, fire_after(job, pointer.fire.base_at, pointer.fire.ordinal))
    if pointer is not None and pointer.key <= start.key:
        # The fire in place of the pointer's own lay behind it, and others follow: whoever reads on reads from there.
        pointer = msgspec.structs.replace(pointer, read_at=keys.instant_of(start.key) + 1)
    is_cut = pointer is not None and pointer.key <= horizon
    return Step(tuple(release_of(job, fire) for fire in fires), pointer, skipped, first.fire, is_cut)


def as_ruled_now(job: NamedJob, pointer: Pointer) -> Pointer | None:
    """The pointer to the fire that follows the same base instant by the zones' rules of now; None if none is left.

    It is the same pointer unless the rules of the job's time zone have changed since it was put. A pointer that does
    not tell the base instant before its fire is taken to follow its own.
    """
    recurrence, fire = job.definition.recurrence, pointer.fire
    if recurrence is None or not recurrence.follows_zone:
        return pointer
    after_at = fire.base_at - 1 if fire.after_at is None else fire.after_at
    after_at = after_at if pointer.backfill is not None else max(after_at, job.chain_after_at)
    again = fire_after(job, after_at, fire.ordinal - 1)
    if again is not None and (again.base_at, again.due_at) == (fire.base_at, fire.due_at):
        return pointer
    moved = fire_after(job, after_at, ordinal_at(job, after_at))
    return None if moved is None else msgspec.structs.replace(pointer, fire=moved, read_at=0)


def release_of(job: NamedJob, fire: Fire) -> Deliver:
    """The release of one fire of the schedule."""
    return release_at(job, fire.due_at)


def release_at(job: NamedJob, due_at: int) -> Deliver:
    """The release of the fire of the schedule that is due at `due_at` (ms). It tells the pause that held it back."""
    held_from = job.held_from(due_at)
    waited = None if held_from is None else Waited(pause=job.asked_at - held_from)
    occurrence = hint_of(occurrence_of(job, due_at))
    return Deliver(_of(job), occurrence, due_at, waits=NO_WAITS if waited is None else Waits(waited))


def run_of(job: NamedJob, due_at: int, run_at: int, run: str) -> Deliver:
    """The release of an execution that a client asked for by hand, at once or in a backfill.

    Neither a pause nor a change of the job stops it; a delete does.
    """
    return Deliver(_of(job, run), hint_of(occurrence_of(job, due_at, run_at)), run_at)


def _of(job: NamedJob, run: str = ONLY_RUN) -> Of:
    return Of(job.job_id, run, job.partition_id, job.revision)


def has_fire_at(job: NamedJob, due_at: int) -> bool:
    """Whether the chain as it stands delivers a fire that is due at this very instant (ms)."""
    recurrence = job.definition.recurrence
    if recurrence is None:
        return job.definition.at == due_at and due_at > job.chain_after_at
    fire = first_due_after(job, due_at - 1)
    return fire is not None and fire.due_at == due_at >= job.skips_until


def first_due_after(job: NamedJob, at: int, work: Work | None = None) -> Fire | None:
    """The first fire of the chain that is due, jitter included, after `at` (ms); None if there is none.

    A fire is due before the base instant of the next one. The wanted fire is therefore the last base instant by `at`,
    or the one behind it. At most three fires are computed, however many lie within the jitter. Raises TooMuchWork,
    given `work`.
    """
    recurrence = job.definition.recurrence
    jitter_ms = 0 if recurrence is None else recurrence.jitter_seconds * 1000
    after_at = max(job.chain_after_at, at - jitter_ms)
    fire = fire_after(job, after_at, ordinal_at(job, after_at, work), work)
    if recurrence is None or fire is None or fire.due_at > at:
        return fire
    base_at = last_base(recurrence, fire.base_at, at) or fire.base_at
    last = fire_after(job, base_at - 1, ordinal_at(job, base_at - 1, work), work)
    return last if last is None or last.due_at > at else fire_after(job, base_at, last.ordinal, work)


def last_fire(job: NamedJob, at: int, work: Work | None = None) -> Fire | None:
    """The last fire of the chain that is due, jitter included, at or before `at` (ms); None if there is none.

    A fire is due before the base instant of the next one. The wanted fire is therefore the last base instant by `at`,
    or the one before it. No instant behind `at` is looked at; with `maxFires` the fires are counted once from the
    chain's beginning. Raises TooMuchWork, given `work`.
    """
    recurrence = job.definition.recurrence
    if recurrence is None:
        fire = fire_after(job, job.chain_after_at, job.chain_ordinal)
        return fire if fire is not None and fire.due_at <= at else None
    base_at = last_base(recurrence, job.chain_after_at, at)
    left = None if recurrence.max_fires is None else recurrence.max_fires - job.chain_ordinal
    count = 0 if left is None or base_at is None else count_fires(recurrence, job.chain_after_at, base_at, work)
    if left is not None and count > left:
        base_at, count = nth_base(recurrence, job.chain_after_at, left) if left > 0 else None, left
    for before in (1, 2):
        if base_at is None:
            return None
        fire = fire_after(job, base_at - 1, 0 if left is None else job.chain_ordinal + count - before)
        if fire is not None and fire.due_at <= at:
            return fire
        base_at = last_base(recurrence, job.chain_after_at, base_at - 1)
    return None


def fires_by(job: NamedJob, at: int, work: Work | None = None) -> int:
    """The number of fires whose base instant is at or before `at` (ms); at most `maxFires`.

    The function counts on or back from the chain's position, so before the first fire the number is 0 or less. A job
    that fires once has none. Raises TooMuchWork, given `work`.
    """
    recurrence = job.definition.recurrence
    if recurrence is None:
        return 0
    after_at, ordinal = job.chain_after_at, job.chain_ordinal
    if at < after_at:
        return ordinal - count_fires(recurrence, at, after_at, work)
    count = ordinal + count_fires(recurrence, after_at, at, work)
    return count if recurrence.max_fires is None else min(count, max(ordinal, recurrence.max_fires))


def ordinal_at(job: NamedJob, at: int, work: Work | None = None) -> int:
    """The ordinal with which the chain goes on behind `at` (ms); 0 without `maxFires`, where nobody needs the count.

    Raises TooMuchWork, given `work`.
    """
    recurrence = job.definition.recurrence
    return 0 if recurrence is None or recurrence.max_fires is None else fires_by(job, at, work)


def anchored_back(job: NamedJob, at: int) -> NamedJob:
    """The job with an interval that counts back, too: its period has fires from `at` (ms) on, before its anchor too.

    A backfill of a time before the job was made asks for these. A `startAt` still has none before it.
    """
    recurrence = job.definition.recurrence
    if recurrence is None or recurrence.every is None or at >= recurrence.every.anchor_at:
        return job
    every = recurrence.every
    # Not after `at`, and a whole number of intervals before the anchor.
    anchor_at = every.anchor_at - -(-(every.anchor_at - at) // every.every_ms) * every.every_ms
    moved = msgspec.structs.replace(recurrence, every=msgspec.structs.replace(every, anchor_at=anchor_at))
    return msgspec.structs.replace(job, definition=msgspec.structs.replace(job.definition, recurrence=moved))


def _expand_backfill(job: NamedJob, start: Pointer, horizon: str, limit: int) -> Step:
    assert start.backfill is not None
    if start.backfill.timing != Timing.of(job.definition).digest:
        return _rest_of_backfill(start.fire, start.backfill, "the timing of its job was changed")
    job = anchored_back(job, start.fire.base_at)
    pointer = as_ruled_now(job, start)
    if pointer is None or pointer.fire.base_at > start.backfill.to_at:
        return _rest_of_backfill(start.fire, start.backfill, "the rules of its job's time zone were changed")
    releases: list[Deliver] = []
    while pointer is not None and pointer.key <= horizon and len(releases) < limit:
        backfill = pointer.backfill
        assert backfill is not None
        # With jitter, a fire of the range may be due a little after the range's end, which may be now.
        run_at = max(backfill.run_at, pointer.fire.due_at)
        releases.append(run_of(job, pointer.fire.due_at, run_at, backfill.backfill_id))
        fire = fire_after(job, pointer.fire.base_at, pointer.fire.ordinal)
        following = msgspec.structs.replace(backfill, index=backfill.index + 1)
        is_over = fire is None or fire.base_at > backfill.to_at
        pointer = None if is_over else msgspec.structs.replace(pointer, fire=fire, backfill=following)
    return Step(tuple(releases), pointer, is_cut=pointer is not None and pointer.key <= horizon)


def _rest_of_backfill(fire: Fire, backfill: Backfill, why: str) -> Step:
    """The step that records the rest of a backfill as skipped, from this fire on."""
    left = max(1, backfill.count - backfill.index)
    reason = f"{why} before this part of the backfill"
    return Step((), None, Skipped(fire.due_at, max(fire.due_at, backfill.to_at), left, reason), fire)


def _catch_up(job: NamedJob, start: Fire, horizon: str, now: int) -> tuple[Fire | None, Skipped | None, Fire | None]:
    """The one missed fire to deliver after all, the stretch of fires to skip, and the fire after both.

    Fires behind the horizon are left to their own reader, even if they were missed.
    """
    fire: Fire | None = start
    before_last, last = start, None
    count = 0
    while fire is not None and is_missed(job, fire, now) and keys.edge_key(fire.due_at) <= horizon:
        before_last, last, count = last or start, fire, count + 1
        if count > MOST_WALKED:
            last = last_fire(job, min(missed_to(job, fire, now), keys.instant_of(horizon))) or fire
            before_last = last_fire(job, last.due_at - 1) or start
            count += fires_by(job, last.base_at) - fires_by(job, fire.base_at)
        fire = fire_after(job, last.base_at, last.ordinal)
    if last is None:
        return None, None, fire
    kept = None
    is_last = fire is None or not is_missed(job, fire, now)
    is_of_pause = last.due_at < job.skips_until
    if job.definition.catch_up == "latest" and is_last and not is_of_pause and is_in_window(job, last, now):
        kept, last, count = last, before_last, count - 1
    if count == 0:
        return kept, None, fire
    missed = "missed in a pause" if start.due_at < job.skips_until else "missed"
    reason = f"{missed}: catchUp is {job.definition.catch_up} within {job.definition.catch_up_window_seconds:g} s"
    return kept, Skipped(start.due_at, last.due_at, count, reason), fire
