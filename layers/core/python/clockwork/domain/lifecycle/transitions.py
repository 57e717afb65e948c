"""Transitions: the table of all changes that the record of an execution may make, by event.

The planners decide which event happens, and make the changed record. The table judges that change before it is saved. A
change that no row of the table allows is a defect of its planner: it is refused, and ends with its item
(`flows/hardening.py: HardenedExecutions`). `python -m tests.support.states` writes docs/architecture/states.md from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from clockwork.domain.executions import NO_END, WAITING, Execution, Kept, State
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS, ends_at
from clockwork.domain.waits import Waiting

#: A record that is not there yet, as guards see it.
_NOTHING = Execution(job_id="", execution_id="", client_id="", due_at=0, state=State.PENDING, revision=0, expires_at=0)


def _until(record: Execution) -> int:
    return 0 if record.claim is None else record.claim.until


class Guard(msgspec.Struct, frozen=True):
    """A condition of a change: as a text, and as a predicate over the record before and after.

    Before its first save a record counts as one of revision 0 without attempts.
    """

    says: str
    holds: Callable[[Execution, Execution], bool]


class Arrow(msgspec.Struct, frozen=True):
    """A change from one of the states `before` to one of `after`, if all guards hold; None: there is no record yet."""

    before: Collection[State | None]
    after: Collection[State]
    guards: tuple[Guard, ...]

    def leads(self, before: State | None, after: State) -> bool:
        """Whether it may lead from the one state to the other."""
        return before in self.before and after in self.after


class Transition(msgspec.Struct, frozen=True):
    """An event with its arrows. `purpose` is one sentence."""

    event: str
    purpose: str
    arrows: tuple[Arrow, ...]


IS_NEXT = Guard("its attempt is the next one", lambda before, after: after.attempt == before.attempt + 1)
IS_SAME = Guard("the number of its attempt stays", lambda before, after: after.attempt == before.attempt)
IS_UNCOUNTED = Guard("the attempt does not count", lambda before, after: after.attempt == before.attempt - 1)
IS_UNCOUNTED_IF_OPEN = Guard(
    "the attempt does not count if a later revision may go on from the record, else it stays",
    lambda before, after: after.attempt == before.attempt - (after.end.ended_by is not None),
)
ENDS_ATTEMPT = Guard(
    "the list of attempts ends with this one, for the first time",
    lambda before, after: (
        after.attempts != ()
        and after.attempts[-1].number == after.attempt
        and (before.attempts == () or before.attempts[-1].number < after.attempt)
    ),
)
ENDS_NO_ATTEMPT = Guard("the list of attempts stays", lambda before, after: after.attempts == before.attempts)
HAS_CLAIM = Guard("it has a claim", lambda _, after: after.claim is not None)
HAS_NO_CLAIM = Guard("no claim is left", lambda _, after: after.claim is None)
HAS_NO_PLAN = Guard(
    "it waits for nothing any more",
    lambda _, after: after.waits == Waiting(waited=after.waits.waited, order=after.waits.order),
)
HAS_NO_RELEASE = Guard(
    "no release can be made of it, unless it is DEAD or was handed back",
    lambda _, after: after.kept == Kept(nodes=after.kept.nodes) or after.state in (State.DEAD, State.HANDED_BACK),
)
HAS_NO_END = Guard("nothing of an earlier end is left", lambda _, after: after.end == NO_END)
IS_SAME_CLAIMANT = Guard("the claimant stays", lambda before, after: after.claimant == before.claimant)
IS_CLAIM_KEPT = Guard("the claim stays as it is", lambda before, after: after.claim == before.claim)
IS_LEASE_LONGER = Guard(
    "the claim of a receiver at work ends later, at its deadline at the latest, or as before",
    lambda before, after: (
        not before.is_accepted
        or _until(after) == _until(before)
        or _until(before) <= _until(after) <= (after.awaited.deadline_at if after.awaited else 0)
    ),
)
IS_NEWS_KEPT = Guard(
    "a noted cancel or report stays",
    lambda before, after: (
        before.cancel_noted_at in (None, after.cancel_noted_at) and before.end.report in (None, after.end.report)
    ),
)
IS_NO_NEWS = Guard(
    "no cancel and no report is noted with it",
    lambda before, after: (after.cancel_noted_at, after.end) == (before.cancel_noted_at, before.end),
)
IS_NOT_EARLY = Guard(
    "the attempt starts at its planned instant or later",
    lambda before, after: after.claim is None or after.claim.started_at >= (before.waits.next_attempt_at or 0),
)
IS_PLANNED = Guard("the next attempt has an instant", lambda _, after: after.waits.next_attempt_at is not None)
IS_NOT_CANCELLED = Guard("no cancel was noted", lambda before, _: before.cancel_noted_at is None)
IS_CANCELLED = Guard("a cancel is noted", lambda _, after: after.cancel_noted_at is not None)
IS_OPEN = Guard("it had ended for earlier revisions alone", lambda before, _: before.end.ended_by is not None)
IS_CLOSED = Guard("it ends for all revisions of its job", lambda _, after: after.end.ended_by is None)
HAS_REASON = Guard("it has a reason", lambda _, after: bool(after.reason))
IS_UNCLAIMED = Guard("its record level is `none`", lambda _, after: after.budget.unclaimed)
IS_REDRIVABLE = Guard("it has its occurrence still", lambda before, _: before.kept.occurrence is not None)
IS_BUDGET_NEW = Guard(
    "earlier attempts do not count any more",
    lambda before, after: after.budget == before.budget.after(after.attempt),
)
IS_CLAIM_OVER = Guard(
    "the claim and its grace are over",
    lambda before, after: (after.end.dead_at or 0) >= ends_at(before) + CLAIM_GRACE_MS,
)
IS_PUT_AWAY = Guard("what it kept goes", lambda before, after: before.needs_attention and not after.needs_attention)
IS_ALL_KEPT = Guard(
    "all but revision and lifetime stays, the state as well",
    lambda before, after: (
        msgspec.structs.replace(after, revision=before.revision, expires_at=before.expires_at) == before
    ),
)
IS_LONGER = Guard("it lives longer than before", lambda before, after: after.expires_at > before.expires_at)

_NEW: tuple[None] = (None,)
_RUNNING = (State.RUNNING,)
_FAILED = (State.FAILED, State.TIMED_OUT, State.HANDED_BACK, State.WORKER_LOST)
_UNWANTED = (State.SKIPPED, State.CANCELLED)
_CLAIMED = (HAS_CLAIM, HAS_NO_PLAN, HAS_NO_END, ENDS_NO_ATTEMPT)
_FINAL = (HAS_NO_CLAIM, HAS_NO_PLAN, HAS_NO_RELEASE)
_UNTRIED = (ENDS_NO_ATTEMPT, HAS_NO_CLAIM, HAS_REASON)
_UNSTARTED = (ENDS_NO_ATTEMPT, *_FINAL, HAS_REASON)
_TRIED = (IS_SAME, ENDS_ATTEMPT)
_AT_WORK = (IS_SAME, ENDS_NO_ATTEMPT)

TRANSITIONS = (
    Transition(
        "claim",
        "A deliverer or a worker claims the first attempt, or the attempt for which the execution waits.",
        (
            Arrow(_NEW, _RUNNING, _CLAIMED),
            Arrow(WAITING, _RUNNING, (IS_NEXT, IS_NOT_EARLY, *_CLAIMED)),
        ),
    ),
    Transition(
        "reopen",
        "A release of a later revision of the job claims an execution that a pause or a change had ended.",
        (Arrow(_UNWANTED, _RUNNING, (IS_OPEN, IS_NEXT, *_CLAIMED)),),
    ),
    Transition(
        "renew",
        "The receiver accepts or is alive, its worker asks again, or a repeated cancel has sent its watch again.",
        (Arrow(_RUNNING, _RUNNING, (*_AT_WORK, IS_SAME_CLAIMANT, IS_LEASE_LONGER, IS_NO_NEWS)),),
    ),
    Transition(
        "note",
        "A cancel or a failure is noted on the running attempt, for its watch to act on.",
        (Arrow(_RUNNING, _RUNNING, (*_AT_WORK, IS_CLAIM_KEPT, IS_NEWS_KEPT)),),
    ),
    Transition(
        "succeed",
        "The target accepts, or the receiver reports a success.",
        (Arrow(_RUNNING, (State.SUCCEEDED,), (*_TRIED, *_FINAL)),),
    ),
    Transition(
        "retry",
        "The attempt fails, and another one follows.",
        (Arrow(_RUNNING, _FAILED, (*_TRIED, HAS_NO_CLAIM, HAS_NO_RELEASE, IS_NOT_CANCELLED, IS_PLANNED)),),
    ),
    Transition(
        "give up",
        "The attempt fails, and no retry is left or would be in time.",
        (Arrow(_RUNNING, (State.DEAD, State.EXPIRED), (*_TRIED, *_FINAL, IS_NOT_CANCELLED, HAS_REASON)),),
    ),
    Transition(
        "stop",
        "The attempt fails or its receiver stops, after a cancel was noted.",
        (Arrow(_RUNNING, (State.CANCELLED,), (*_TRIED, *_FINAL, IS_CANCELLED)),),
    ),
    Transition(
        "fail unclaimed",
        "The first attempt at record level `none`, which had no claim, fails.",
        (
            Arrow(_NEW, _FAILED, (IS_UNCLAIMED, ENDS_ATTEMPT, HAS_NO_CLAIM, HAS_NO_RELEASE, IS_PLANNED)),
            Arrow(_NEW, (State.DEAD, State.EXPIRED), (IS_UNCLAIMED, ENDS_ATTEMPT, *_FINAL)),
        ),
    ),
    Transition(
        "postpone",
        "A claimed attempt does not start: nothing is free for it, others of its job run, or its target changed.",
        (Arrow(_RUNNING, (State.PENDING,), (IS_UNCOUNTED, IS_PLANNED, HAS_NO_RELEASE, *_UNTRIED)),),
    ),
    Transition(
        "drop",
        "Its job, its client or an admin does not want the execution, or it stands for missed fires.",
        (
            Arrow(_NEW, _UNWANTED, _UNSTARTED),
            Arrow(WAITING, _UNWANTED, (IS_SAME, *_UNSTARTED)),
            Arrow(_RUNNING, _UNWANTED, (IS_UNCOUNTED_IF_OPEN, *_UNSTARTED)),
        ),
    ),
    Transition(
        "expire",
        "The next attempt would be too late, and does not start.",
        (
            Arrow(_NEW, (State.EXPIRED,), (*_UNSTARTED, IS_CLOSED)),
            Arrow(WAITING, (State.EXPIRED,), (IS_SAME, *_UNSTARTED, IS_CLOSED)),
            Arrow(_RUNNING, (State.EXPIRED,), (IS_SAME, *_UNSTARTED, IS_CLOSED)),
            Arrow(_UNWANTED, (State.EXPIRED,), (IS_OPEN, IS_SAME, *_UNSTARTED, IS_CLOSED)),
        ),
    ),
    Transition(
        "bury",
        "The poller, the deliverer or the sweeper gives up an execution that nothing can deliver.",
        (
            Arrow(_NEW, (State.DEAD,), (*_UNSTARTED, IS_CLOSED)),
            Arrow(WAITING, (State.DEAD,), (IS_SAME, *_UNSTARTED, IS_CLOSED)),
            Arrow(_RUNNING, (State.DEAD,), (IS_CLAIM_OVER, IS_SAME, *_UNSTARTED, IS_CLOSED)),
            Arrow(_UNWANTED, (State.DEAD,), (IS_OPEN, IS_SAME, *_UNSTARTED, IS_CLOSED)),
        ),
    ),
    Transition(
        "park",
        "The client is paused, or the circuit of the target is open.",
        (
            Arrow(_NEW, (State.PARKED,), _UNTRIED),
            Arrow(WAITING, (State.PARKED,), (IS_SAME, *_UNTRIED)),
            Arrow(_UNWANTED, (State.PARKED,), (IS_OPEN, IS_CLOSED, IS_SAME, *_UNTRIED)),
        ),
    ),
    Transition(
        "place",
        "An ordered head notes its slot or its place in the line, or a watch fences a first claim of a worker.",
        (
            Arrow(_NEW, (State.PENDING,), (ENDS_NO_ATTEMPT, HAS_NO_CLAIM, IS_PLANNED)),
            Arrow(WAITING, (State.PENDING,), (IS_SAME, ENDS_NO_ATTEMPT, HAS_NO_CLAIM, IS_PLANNED)),
        ),
    ),
    Transition(
        "fence",
        "A watch fences a claim of a worker, or the record has to outlive a message or a run that goes on.",
        (
            Arrow(WAITING, WAITING, (IS_ALL_KEPT,)),
            Arrow(_UNWANTED, _UNWANTED, (IS_OPEN, IS_ALL_KEPT)),
            Arrow((State.SUCCEEDED,), (State.SUCCEEDED,), (IS_ALL_KEPT, IS_LONGER)),
        ),
    ),
    Transition(
        "cancel",
        "Its client cancels an execution that does not run.",
        (
            Arrow((*_NEW, *WAITING), (State.CANCELLED,), (IS_CANCELLED, IS_CLOSED, IS_SAME, *_UNSTARTED)),
            Arrow(_UNWANTED, (State.CANCELLED,), (IS_OPEN, IS_CANCELLED, IS_CLOSED, IS_SAME, *_UNSTARTED)),
        ),
    ),
    Transition(
        "discard",
        "Its client puts a dead execution away.",
        (Arrow((State.DEAD,), (State.DEAD,), (IS_PUT_AWAY, IS_SAME, *_UNSTARTED)),),
    ),
    Transition(
        "redrive",
        "Its client has a dead execution delivered again.",
        (Arrow((State.DEAD,), (State.PENDING,), (IS_REDRIVABLE, IS_BUDGET_NEW, IS_SAME, IS_PLANNED, *_UNTRIED)),),
    ),
)


def leading(before: State | None, after: State) -> tuple[tuple[str, Arrow], ...]:
    """The arrows that may lead from the one state to the other, each with its event."""
    return tuple((one.event, arrow) for one in TRANSITIONS for arrow in one.arrows if arrow.leads(before, after))


_LEADING = {(before, after): leading(before, after) for before in (None, *State) for after in State}


def refused(before: Execution | None, after: Execution) -> str | None:
    """Why the table refuses the change of a record; None if it allows the change. `before`: None without a record."""
    was = before or _NOTHING
    if after.revision != was.revision + 1:
        return f"revision {after.revision} does not follow revision {was.revision}"
    if before and (after.execution_id != before.execution_id or after.client_id != before.client_id):
        return "it would become the record of another execution"
    missed = []
    for event, arrow in _LEADING[before and before.state, after.state]:
        for guard in arrow.guards:
            if not guard.holds(was, after):
                missed.append(f"{event} asks that {guard.says}")
                break
        else:
            return None
    return f"{'no record' if before is None else before.state} -> {after.state}: {'; '.join(missed) or 'no such event'}"
