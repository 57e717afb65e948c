"""Redrives: a dead execution waits for delivery again, or is discarded permanently."""

from __future__ import annotations

import msgspec

from clockwork.domain import ids
from clockwork.domain.executions import End, Execution, Kept, Source, State
from clockwork.domain.fires.hints import hint_of
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Deliver, Of, Travels
from clockwork.domain.waits import Waiting
from clockwork.domain.workflows.definition import WorkflowTarget, nodes_of
from clockwork.domain.workflows.progress import MOST_GENERATIONS


class RedrivePlan(msgspec.Struct, frozen=True):
    """The plan of a redrive: save `execution` first, if given, then release `release`.

    If both are None, the execution cannot be redriven, for this `reason`.
    """

    reason: str
    execution: Execution | None = None
    release: Deliver | None = None


def is_redrivable(stored: Execution) -> bool:
    """Whether a redrive can deliver this record again: it is DEAD, and not discarded.

    A record that was redriven and not claimed since is not redrivable: it waits already.
    """
    return stored.state is State.DEAD and stored.kept.occurrence is not None


def nodes_again(stored: Execution) -> int:
    """How many nodes a redrive may start again, at the most: it counts them in the caps of the client."""
    occurrence = stored.kept.occurrence
    return nodes_of(occurrence.target) if occurrence is not None and is_redrivable(stored) else 0


def waits_redriven(stored: Execution) -> bool:
    """Whether it was redriven and no deliverer has claimed it since. `source` of the record tells how."""
    return stored.state is State.PENDING and stored.kept.occurrence is not None


def is_begun_run(stored: Execution) -> bool:
    """Whether it is the record of a workflow's run that had begun: it has the definition, and goes on by that alone."""
    return stored.kept.occurrence is not None and bool(names_of(stored))


def names_of(stored: Execution) -> tuple[str, ...]:
    """The names of the nodes of a run, by index; none for what is no run, or has not begun."""
    occurrence = stored.kept.occurrence
    if occurrence is not None and not occurrence.is_hint and isinstance(occurrence.target, WorkflowTarget):
        return tuple(occurrence.target.nodes)
    return stored.kept.nodes


def plan_redrive(
    stored: Execution,
    partition_id: str,
    now: int,
    revision: int | None = None,
    *,
    as_it_was: bool = False,
    again: tuple[str, ...] = (),
) -> RedrivePlan:
    """The plan by which a DEAD execution waits again, with a fresh budget of attempts under its old executionId.

    Its age and its relevancy window count from `now` (ms), and it is recorded at any record level. If it was redriven
    before and not claimed since, the plan has the same release again, since the first one may have been lost after the
    save. `revision`: the revision of its named job, whose definition it follows. `as_it_was`: it is delivered from the
    record, independent of the job. The record of a named job has the payload only if an attempt ended the execution: a
    release carries only a hint. A waiting execution is not redriven in the other way, since its first release may be on
    its way under the same key. `again`: the nodes of a run that start again although they have succeeded.
    """
    source: Source = "record" if as_it_was else "job"
    if stored.state is State.RUNNING and is_begun_run(stored):
        return RedrivePlan("it is RUNNING: a run is redriven once it has ended")
    if not (waits_redriven(stored) or stored.state is State.DEAD):
        return RedrivePlan(f"it is {stored.state}: only what is DEAD is redriven")
    if stored.kept.occurrence is None:
        return RedrivePlan("it was discarded, or nobody could ever read it: there is nothing to deliver")
    if as_it_was and stored.kept.occurrence.is_hint:
        return RedrivePlan(
            "no attempt's outcome ended it (its deliverer was lost, or it was given up), so it has no payload"
        )
    if waits_redriven(stored):
        if stored.kept.source != source:
            return RedrivePlan(_waits_so(stored))
        return RedrivePlan("it waits already", release=_release(stored, stored.kept.occurrence, partition_id, revision))
    if stored.attempt >= MOST_GENERATIONS and is_begun_run(stored):
        return RedrivePlan(f"it has had {MOST_GENERATIONS} attempts, the most that a run may have: run its job anew")
    occurrence = msgspec.structs.replace(stored.kept.occurrence, created_at=now, held_from=None, record="full")
    if isinstance(occurrence.target, WorkflowTarget) and not occurrence.is_hint:
        target = msgspec.structs.replace(occurrence.target, again=again)
        occurrence = msgspec.structs.replace(occurrence, target=target)
    waiting = stored.changed(
        state=State.PENDING,
        cancel_noted_at=None,
        reason="redriven",
        budget=stored.budget.after(stored.attempt),
        waits=Waiting(occurrence.due_since),
        end=End(report=stored.end.report),
        kept=Kept(occurrence, source=source),
    )
    return RedrivePlan("redriven", waiting, _release(waiting, occurrence, partition_id, revision))


def place_of(dead: Execution) -> tuple[int, int]:
    """The place of an execution among those that are redriven together: its due instant (ms), then its sequence."""
    return dead.due_at, 0 if dead.kept.occurrence is None else dead.kept.occurrence.sequence


def discarded(stored: Execution) -> Execution | None:
    """The dead execution as put away: DEAD, but without its occurrence and raw bytes.

    None if it is not DEAD, or was put away before.
    """
    if stored.state is not State.DEAD or not stored.needs_attention:
        return None
    return stored.changed(reason=f"discarded; {stored.reason}", kept=Kept(nodes=names_of(stored)))


def _waits_so(stored: Execution) -> str:
    """The reason why a waiting execution is not redriven in the other way, with advice."""
    stands, again = (
        ("as its record has it", "with asItWas")
        if stored.kept.source == "record"
        else ("by the definition of its job", "without asItWas")
    )
    return f"it was redriven and waits to be delivered {stands}: repeat that {again}, or wait until it has ended"


def _release(waiting: Execution, occurrence: Occurrence, partition_id: str, revision: int | None) -> Deliver:
    is_named = not isinstance(ids.decode_job(waiting.job_id), AnonymousJob)
    of = Of(waiting.job_id, ids.decode_execution(waiting.execution_id).run)
    if is_named:
        of = Of(of.job_id, of.run, partition_id, revision, waiting.kept.source)
    return Deliver(
        of,
        hint_of(occurrence) if is_named and waiting.kept.source == "job" else occurrence,
        run_at=waiting.waits.next_attempt_at or occurrence.due_since,
        attempt=waiting.attempt + 1,
        # It gets no row that lies still where it was parked before.
        travels=Travels(waiting.parking.number + 1),
    )
