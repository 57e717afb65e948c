"""Mutants of named jobs: each cuts the tie of a fire to its definition, or of a chain to its next fire."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_ADVANCED = "released=advance_past_horizon(world, job, first_pointer(job)))"
_OWN = "own = (job.state, job.series, job.partition_id)"
_CLOSED = (
    "    closings = with_closing(after.closings, closing)\n    return msgspec.structs.replace(after, closings=closings,"
)
_HOLE = "            closings = with_closing(closings, closing)\n"
_ANEW = "        return with_series(msgspec.structs.replace(again, partition_id=home(job.definition)))\n"
_BEGINS = "return after.state is JobState.ACTIVE and after.series != before.series\n"
_OR_RESUMED = _BEGINS.replace("after.series", "(after.series").replace(
    "before.series\n", "before.series or before.state is JobState.PAUSED)\n"
)
_SETTLED = """        advance_past_horizon(world, job, first_pointer(job))
        if begins_chain(stored, job)
"""
_CATCHES_UP = "caught_up = catch_up(world, stored, boundary_at) if catches_up(stored, job) else ()"
_MOVED = "    if first is None or first.key > horizon:\n        return Step((), first)\n"
_WINNER = "        winner = get_by_key(world, request.client.client_id, request.job_key)\n"

_LOOK = "from clockwork.flows.deliver.start import hold_and_check\n"
_LOOKED = (
    _LOOK
    + """from clockwork.domain.ids import NamedJobId, decode_job
from clockwork.flows.apart import jobs_apart
from clockwork.flows.deliver import start

EARLIER: dict[int, dict] = {}
_seen = lambda world: EARLIER.get(id(world), {})
start.jobs_apart = lambda world, refs: {ref: _seen(world).get(ref) or jobs_apart(world, [ref])[ref] for ref in refs}
"""
)
_CLAIM = "    ready, started = claim(batch, admit(batch, turns.open)), list[Item]()\n"
_LOOKS = (
    """    asked = [decode_job(one.release.job_id) for one in (*turns.open, *turns.limited)]
    named = [ref for ref in asked if isinstance(ref, NamedJobId)]
    EARLIER[id(batch.world)] = jobs_apart(batch.world, ((ref.client_id, ref.job_key) for ref in named)) if named else {}
"""
    + _CLAIM
)

NAMING = (
    Mutant(
        "what a pause of its job held back is late from the resume on",
        "domain/releases.py",
        (
            (
                "        return started_at - self.occurrence.late_since\n",
                "        return started_at - self.occurrence.due_since\n",
            ),
        ),
        "I3",
        scene="held_back",
    ),
    Mutant(
        "the wait for a pause of its job is not told",
        "domain/fires/chains.py",
        (("waits=NO_WAITS if waited is None else Waits(waited)", "waits=NO_WAITS"),),
        "I3",
        tests="tests/unit/flows/named/test_lateness_of_fires.py",
    ),
    Mutant(
        "a redrive is late from the pause on that held its first fire back",
        "domain/lifecycle/redrives.py",
        (("created_at=now, held_from=None, record", "created_at=now, record"),),
        "I3",
        tests="tests/unit/flows/named/test_lateness_of_fires.py",
    ),
    Mutant(
        "a change of bounds in a pause makes what the pause holds back begin anew",
        "domain/named/changes.py",
        (
            (
                "        is_held_on = kind not in (Retiming.MOVE, Retiming.BEAT) and job.paused_at is not None\n",
                "        is_held_on = False\n",
            ),
        ),
        "I3",
        tests="tests/unit/flows/named/test_lateness_of_fires.py",
    ),
    Mutant(
        "the deliverer looks first and claims then",
        "flows/deliver/deliver.py",
        ((_LOOK, _LOOKED), (_CLAIM, _LOOKS)),
        "I7",
    ),
    Mutant(
        "a changed job is not looked at before it starts",
        "flows/deliver/start.py",
        (("            if is_named(claimed[slot].release.job_id):\n", "            if False:\n"),),
        "I7",
    ),
    Mutant(
        "an execution's id holds its revision",
        "domain/fires/chains.py",
        (("return Deliver(_of(job), ", 'return Deliver(_of(job, f"v{job.revision}"), '),),
        "I4",
    ),
    Mutant(
        "nothing is caught up with before the row is written",
        "flows/named/write.py",
        ((_CATCHES_UP, "caught_up = ()"),),
        "I1",
    ),
    Mutant(
        "what is due by the boundary is caught up with from the horizon, not the cursor",
        "flows/named/repair.py",
        (
            (
                "    pointer = _pointer_from(job, keys.instant_of(shard.cursor), work)\n",
                "    pointer = _pointer_from(job, keys.instant_of(shard.horizon), work)\n",
            ),
        ),
        "I1",
        scene="retimed",
    ),
    Mutant(
        "a claim of before a resume tells of the fire, though its deliverer may have read the pause",
        "flows/named/repair.py",
        (("    if record.claim is not None and not record.is_accepted:\n", "    if False:\n"),),
        "I1",
        tests="tests/unit/flows/named/test_what_happens_when.py",
    ),
    Mutant(
        "catching up trusts the cursor, though a series may have its first pointer alone",
        "flows/named/repair.py",
        (("    if others and (_put(", "    if others or (_put("),),
        "I1",
        scene="retimed",
    ),
    Mutant(
        "a change of timing closes nothing",
        "domain/named/changes.py",
        ((_CLOSED, _CLOSED.replace("closings = with_closing(after.closings, closing)", "closings = after.closings")),),
        "I7",
    ),
    Mutant(
        "only the latest closing is kept",
        "domain/closings.py",
        (("        return (*closings, closing)\n", "        return (closing,)\n"),),
        "I7",
    ),
    Mutant(
        "a resume closes nothing of what it skips",
        "domain/named/changes.py",
        ((_HOLE, ""),),
        "I7",
        scene="missed",
    ),
    Mutant(
        "a resume keeps the series of before the pause",
        "domain/named/changes.py",
        ((_ANEW, _ANEW.replace("with_series(", "(")), (_BEGINS, _OR_RESUMED)),
        "I1",
        scene="held_back",
    ),
    Mutant(
        "what a pause ended stays ended",
        "domain/lifecycle/awaited.py",
        (("    return release.revision >= ended_by\n", "    return False\n"),),
        "I1",
    ),
    Mutant(
        "a paused job starts what is due in its pause",
        "domain/named/look.py",
        (("due_at > job.paused_at and not is_started", "due_at > job.paused_at + 10**9 and not is_started"),),
        "I7",
    ),
    Mutant(
        "a lost deliverer counts as a start",
        "domain/named/look.py",
        (("any(attempt.state is not State.WORKER_LOST for attempt in stored.attempts)", "bool(stored.attempts)"),),
        "I7",
    ),
    Mutant(
        "an occurrence is delivered as its release has it",
        "flows/deliver/inform.py",
        (("    item.release = msgspec.structs.replace(item.release, occurrence=whole)\n", ""),),
        "I7",
    ),
    Mutant(
        "a pointer counts under whatever series",
        "domain/named_jobs.py",
        ((_OWN, "own = (job.state, self.series, job.partition_id)"),),
        "I7",
    ),
    Mutant(
        "a change does not look for what is under way",
        "flows/named/write.py",
        (("    under_way = apply_to_older(world, job)\n    if host_of", "    under_way = UnderWay()\n    if host_of"),),
        "I7",
    ),
    Mutant(
        "who lost the condition is told that the job is made",
        "flows/named/write.py",
        (
            (
                "    if not _write(world, stored, job):\n" + _WINNER,
                "    if not _write(world, stored, job) and False:\n" + _WINNER,
            ),
        ),
        "I7",
    ),
    Mutant(
        "a chain that begins is not settled after its row is written",
        "flows/named/write.py",
        ((_SETTLED, _SETTLED.replace("advance_past_horizon(world, job, first_pointer(job))", "()")),),
        "I1",
    ),
    Mutant(
        "the chain is not settled after the row is written",
        "flows/named/write.py",
        ((_ADVANCED, "released=())"),),
        "I1",
    ),
    Mutant(
        "the API stops before its pointer is beyond the horizon",
        "flows/named/advance.py",
        (("        pointer = step.following\n", "        pointer = None\n"),),
        "I1",
    ),
    Mutant(
        "a poller puts no next pointer",
        "flows/poll/release.py",
        (
            (
                "        refused = put_each(world.timeline, world.environment.faults, [row for _, row in following])\n",
                "        refused: dict[int, str] = {}\n",
            ),
        ),
        "I1",
    ),
    Mutant(
        "a chain that goes on within the range is not read again",
        "flows/poll/release.py",
        (('return "goes_on" if goes_on else None', "return None"),),
        "I1",
    ),
    Mutant(
        "what of a schedule is skipped leaves no record",
        "flows/poll/expand.py",
        (("    if step.skipped is not None and step.first is not None:\n", "    if False:\n"),),
        "I12",
    ),
    Mutant(
        "a pointer is trusted though the rules of its zone have changed",
        "domain/fires/chains.py",
        (("job.chain_after_at else as_ruled_now(job, start)", "job.chain_after_at else start"),),
        "I7",
    ),
    Mutant(
        "a pointer that moves fires where it was, too",
        "domain/fires/chains.py",
        ((_MOVED, _MOVED.replace("Step(()", "Step((release_of(job, start.fire),) if start.key <= horizon else ()")),),
        "I7",
    ),
    Mutant(
        "catchUp counts for nothing that a pause of the client held back",
        "domain/named/look.py",
        (
            (
                "    pause = None if objection is not None or is_started else pause_over(pauses, due_at)\n",
                "    pause = None\n",
            ),
        ),
        "I7",
    ),
    Mutant(
        "nothing that a pause of the client held back is delivered",
        "domain/named/held_back.py",
        (("    return due_at < skipped_until(job, pause.began_at, pause.ended_at)\n", "    return True\n"),),
        "I1",
    ),
)
