"""Checks of what became of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.chaos.promises import Key, Promise
from tests.smoke.evidence import Evidence
from tests.smoke.plan import Kind
from tests.smoke.scale import Bounds

#: Of many that are wrong so many are named.
_NAMED = 3


def lost(seen: Evidence) -> Iterator[str]:
    """Every occurrence that was promised arrives, or ends in a state that says why not."""
    yield from _each(seen.audit.lost, "were promised, were never accepted, and ended in no state")
    yield from _each(seen.audit.ended_wrongly, "were given up although their target would have accepted them")


def early(seen: Evidence, bounds: Bounds) -> Iterator[str]:
    """No attempt begins before its due instant, by the deliverer's clock, and by the target's as clocks differ."""
    if own := seen.told.metrics.get("Early", 0):
        yield f"{own:.0f} attempts were early by the deliverers' own clocks"
    found = [arrival.key for arrival in seen.arrivals if arrival.at < arrival.key.due_at - bounds.clocks_ms]
    yield from _each(found, f"came more than {bounds.clocks_ms} ms before they were due")


def duplicates(seen: Evidence) -> Iterator[str]:
    """At record level full nothing is accepted twice as long as nobody dies; at none SQS's own repeats may be."""
    yield from _each(seen.audit.duplicates["full"], "were accepted twice at record level full")
    yield from _each(seen.audit.unexpected, "arrived though nobody was promised them")
    yield from (f"nobody understands {one}" for one in seen.strange[:_NAMED])


def lateness(seen: Evidence, bounds: Bounds) -> Iterator[str]:
    """Jobs that are not due while the version changes come in time."""
    calm = [p for p in seen.promises if not p.cancel and not p.ordering_key and not seen.upgrade.meets(p.key.due_at)]
    found = seen.audit_of(calm)
    if not found.delivered:
        yield "nothing was delivered while the version did not change"
    for share, bound in ((0.5, bounds.late_p50_ms), (0.99, bounds.late_p99_ms)):
        if (late := found.late_ms(share)) > bound:
            yield f"p{share * 100:.0f} of lateness is {late} ms, more than {bound}"


def order(seen: Evidence) -> Iterator[str]:
    """No job of an ordering key begins before the one ahead is accepted, though each key's first fails at first."""
    yield from _each(seen.audit.disordered, "overtook the one ahead of them")
    heads: dict[str, Promise] = {}
    for promise in sorted(seen.of(Kind.ORDERED), key=lambda promise: promise.key.due_at):
        heads.setdefault(promise.ordering_key, promise)
    if not heads:
        yield "there were no ordered jobs"
    yield from _each(
        [p.key for p in heads.values() if _first_attempt(seen, p.key) < 2], "were to fail once, and did not"
    )


def retries(seen: Evidence) -> Iterator[str]:
    """A job that fails once is accepted at its second attempt."""
    promises = seen.of(Kind.RETRIED)
    if not promises:
        yield "nothing was to be retried"
    yield from _each([p.key for p in promises if _first_attempt(seen, p.key) != 2], "were not accepted at attempt 2")


def cancels(seen: Evidence) -> Iterator[str]:
    """A job that the API calls cancelled never arrives."""
    promises = seen.of(Kind.CANCELLED)
    if not any(promise.cancel == "cancelled" for promise in promises):
        yield "no cancel was in time"
    yield from _each(seen.audit.uncancelled, "were delivered although they were cancelled")


def cron(seen: Evidence) -> Iterator[str]:
    """Each fire of a cron job arrives once, and nothing else of the job does."""
    promises = seen.of(Kind.CRON)
    if not promises:
        yield "no cron job fired"
    yield from _each(
        [p.key for p in promises if p.sure and len(seen.accepted.get(p.key, ())) != 1], "did not fire once"
    )


def herd(seen: Evidence) -> Iterator[str]:
    """All jobs of one instant arrive."""
    promises = seen.of(Kind.HERD)
    if not promises:
        yield "there was no herd"
    yield from _each([p.key for p in promises if p.key not in seen.accepted], "of the herd never came")


def target(seen: Evidence, kind: Kind | None) -> Iterator[str]:
    """Each job for a type of target arrives at that target; None: a webhook."""
    origin = kind or "http"
    promises = seen.of(kind or Kind.LONE)
    at = {one.arrival.key for one in seen.heard if one.origin == origin and one.arrival.accepted}
    if not promises:
        yield "nothing was sent there"
    yield from _each([p.key for p in promises if p.key not in at], "never came")


def _first_attempt(seen: Evidence, key: Key) -> int:
    """The number of the attempt that was accepted first; 0 if none was."""
    return min((arrival.attempt for arrival in seen.accepted.get(key, ())), default=0)


def _each(keys: Sequence[Key], what: str) -> Iterator[str]:
    if keys:
        named = ", ".join(f"{key.job_id} due {key.due_at}" for key in keys[:_NAMED])
        yield f"{len(keys)} {what}: {named}{', ...' if len(keys) > _NAMED else ''}"
