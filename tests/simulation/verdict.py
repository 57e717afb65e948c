"""The verdict at the end of a run, when faults have stopped and everything has drained: every promise must be kept."""

from __future__ import annotations

from collections import Counter

from clockwork.domain.executions import State
from clockwork.domain.releases import Delivery
from clockwork.domain.workflows.definition import WorkflowTarget
from tests.simulation import flowing, operating
from tests.simulation.callbacks import uncalled
from tests.simulation.cloud import Cloud
from tests.simulation.requests import CAPPED, DEPARTING, HALTED, PACED
from tests.simulation.stores import NEVER_SENDABLE
from tests.simulation.watcher import Promise, Watcher, place_of

#: No schedule of a run goes on after this instant (ms, true time).
ALL_DUE_AT = 1_700_000_000_000 + 2_200_000
#: Without faults, each first attempt starts within this time (ms) after the job was due or acknowledged, whichever came
#: last.
CALM_LATENESS_MS = 3_000
#: Their work may wait for more than its due instant: for a slot, a permit, a resume of its client.
WAITING_IDS = frozenset(client.client_id for client in (*CAPPED, DEPARTING, HALTED))


def where_it_stands(watcher: Watcher, promise: Promise) -> str:
    """The one state of an acknowledged job: succeeded, dead, cancelled, expired, skipped, or pending."""
    record = watcher.executions.find(promise.job_id, promise.execution_id)
    if record is not None and record.is_final:
        return str(record.state).lower()
    if record is not None and promise.occurrence.payload.body.startswith(NEVER_SENDABLE) and record.reason:
        return "dead"  # It cannot be sent, and its redrive was refused.
    if record is None and promise.occurrence.record == "none" and watcher.seen[promise.job_id].accepted:
        return "succeeded"
    if promise.cancelled_at is not None or (promise.cancel_asked and record is None and _is_marked(watcher, promise)):
        return "cancelled"
    return "pending"


def _is_marked(watcher: Watcher, promise: Promise) -> bool:
    """Whether the row is marked as cancelled, or gone: a cancel that got no answer may have got so far."""
    place = place_of(promise.job_id)
    row = watcher.timeline.find([(place.partition_id, place.key)])[0]
    return row is None or place.element in row.cancelled


def is_drained(cloud: Cloud, watcher: Watcher, garbage: set[str], all_due_at: int = ALL_DUE_AT) -> bool:
    """Whether no work is left: no readable message or dead letter, no open callback, and no pending job."""
    if _left(cloud, garbage) or list(uncalled(watcher, watcher.apart)) or cloud.stores.operations.open():
        return False
    recurs = bool(watcher.named.lives) and cloud.scheduler.now < all_due_at
    if recurs or next(watcher.named.unsettled(watcher.apart), None) is not None:
        return False
    return all(where_it_stands(watcher, promise) != "pending" for promise in watcher.promises.values())


def _left(cloud: Cloud, garbage: set[str]) -> set[str]:
    """The ids of readable messages and dead letters of both queues."""
    queues = (cloud.stores.queue, cloud.stores.ordered_queue, *cloud.stores.pool_queues.all())
    return {message_id for queue in queues for message_id in (*queue.messages, *queue.dead)} - garbage


def check_end(cloud: Cloud, watcher: Watcher, garbage: set[str]) -> None:
    """Checks L1, I1, I4, I5 and I12 over the whole run."""
    left = _left(cloud, garbage)
    watcher.require(not left, "L1", f"{len(left)} messages or dead letters are left: {sorted(left)[:3]}")
    for execution_id in watcher.named.unsettled(watcher.apart):
        watcher.violated("I1", f"promised, and neither delivered nor ended: {execution_id}", execution_id.split(".")[0])
    for objection in watcher.named.overlap_objections():
        watcher.violated("I1", objection, objection.split(".")[0])
    for promise in watcher.promises.values():
        _check_promise(watcher, promise)
    for rule, told, client_id in operating.objections(cloud.stores, watcher):
        watcher.violated(rule, told, client_id)
    for rule, told, job_id in flowing.objections(cloud.stores, watcher):
        watcher.violated(rule, told, job_id)
    for job_id in uncalled(watcher, watcher.apart):
        watcher.violated("I1", "it is dead, and its callback was neither delivered nor ended", job_id)
    stands = Counter(where_it_stands(watcher, promise) for promise in watcher.promises.values())
    watcher.require(stands["pending"] == 0, "L1", f"{stands['pending']} jobs are pending for ever")
    ended = sum(stands[end] for end in ("succeeded", "dead", "cancelled", "expired", "skipped", "pending"))
    watcher.require(len(watcher.promises) == ended, "I12", f"{len(watcher.promises)} accepted, and {dict(stands)}")


def _check_promise(watcher: Watcher, promise: Promise) -> None:
    job_id, stands = promise.job_id, where_it_stands(watcher, promise)
    accepted = watcher.seen[job_id].accepted
    if stands == "pending":
        record = watcher.executions.find(job_id, promise.execution_id)
        watcher.violated("I1", f"acknowledged, and neither delivered nor ended: {record and record.state}", job_id)
    if stands == "succeeded" and not isinstance(promise.occurrence.target, WorkflowTarget):
        watcher.require(accepted > 0, "I1", "it succeeded, and its target never accepted it", job_id)
    if stands == "cancelled":
        asked = promise.cancel_asked or promise.occurrence.client_id in watcher.discarded
        watcher.require(asked, "I1", "it is cancelled, and nobody asked for that", job_id)
    if stands == "skipped":
        watcher.violated("I1", "it is skipped, and has no schedule", job_id)
    if stands == "expired":
        has_window = promise.occurrence.relevancy_window_seconds is not None
        watcher.require(has_window, "I1", "it is expired, and may come at any time", job_id)
    if promise.cancelled_at is not None and promise.occurrence.record == "full":
        watcher.require(stands == State.CANCELLED.lower(), "I5", f"cancelled was answered, and it is {stands}", job_id)


def check_calm(watcher: Watcher) -> None:
    """Checks I3, I4 and the rate caps (I8) for a run in which nothing went wrong but at the work that `is_held_up`.

    Of all other work no attempt may have been started a second time, and each first attempt must be in time.
    """
    objection = watcher.caps.rate_objection(watcher.apart)
    watcher.require(objection is None, "I8", str(objection))
    objection = watcher.progress.calm_objection(watcher.is_held_up)
    watcher.require(objection is None, "W7", str(objection))
    for execution_id, (started_at, delivery) in watcher.first_starts.items():
        occurrence, job_id = delivery.occurrence, delivery.job_id
        is_ordered = occurrence.ordering_key is not None or watcher.named.was_ordered(job_id)
        if watcher.is_held_up(occurrence) or occurrence.client_id in WAITING_IDS or is_ordered:
            continue  # It may wait for a slot, a permit, a resume of its client, or the jobs ahead of it.
        wanted_at = _wanted_at(watcher, execution_id, delivery)
        if wanted_at is not None:
            late = started_at - wanted_at
            watcher.require(late <= CALM_LATENESS_MS, "I3", f"{late} ms late without a fault of its own", job_id)
        starts = watcher.attempts[execution_id, delivery.attempt]
        # Where nothing is recorded, a repeat of the request releases again what is due.
        may_repeat = occurrence.record == "none" and execution_id in watcher.asked
        watcher.require(starts == 1 or may_repeat, "I4", f"started {starts} times without a fault of its own", job_id)


def check_lines(watcher: Watcher) -> None:
    """Checks that lines under rate caps (I8) keep their places, and that none of them sleeps while slots pass unused.

    For runs in which nothing went wrong at all. Only the client that has no other cap and no pause is judged by starts.
    """
    objection = watcher.lines.place_objection()
    watcher.require(objection is None, "I8", str(objection))
    for execution_id, (started_at, delivery) in watcher.first_starts.items():
        wanted_at = _wanted_at(watcher, execution_id, delivery)
        if delivery.occurrence.client_id == PACED.client_id and wanted_at is not None:
            objection = watcher.lines.start_objection(PACED.client_id, wanted_at, started_at)
            watcher.require(objection is None, "I8", str(objection), delivery.job_id)


def _wanted_at(watcher: Watcher, execution_id: str, delivery: Delivery) -> int | None:
    """The instant (ms) at which a first attempt should have started; None if no client was told one."""
    if execution_id in watcher.named.redriven:
        return None
    promise = watcher.promises.get(delivery.job_id)
    if promise is not None:
        return max(promise.occurrence.due_at, promise.acknowledged_at)
    changed_at = watcher.named.changed_at(execution_id)
    return None if changed_at is None else max(delivery.occurrence.due_at, changed_at)
