"""Clients that pause, resume or cancel many of their named jobs by one call, and the judge of what the call did."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clockwork.domain.named import changes
from clockwork.domain.named.changes import Change
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.requests.quotas import creates_of
from clockwork.domain.requests.trail import Note
from clockwork.flows.requests.bulk import Handled, Which, change_jobs
from clockwork.flows.world import World
from tests.simulation.clients import Visit
from tests.simulation.departing import control, require_noted
from tests.simulation.named_clients import create
from tests.simulation.requests import METERED

#: The states that the jobs of each kind of call are to have.
WANTED = {"pause many": JobState.PAUSED, "resume many": JobState.ACTIVE, "cancel many": JobState.CANCELLED}


def _change_of(wanted: JobState, job: NamedJob) -> Change | None:
    if job.state is wanted:
        return None
    if wanted is JobState.PAUSED:
        return changes.paused("a pause of many")
    return changes.resumed(None) if wanted is JobState.ACTIVE else changes.cancelled(None)


def change_many(visit: Visit) -> None:
    """Changes all jobs of the client under a prefix, page by page, and sometimes with hardly any time."""
    if visit.rng.random() < 0.2:
        # This one may create so many a second: changes of many cost it as much.
        visit.client = METERED
        create(visit)
    wanted, client_id = WANTED[visit.step.operation], visit.client.client_id
    prefix, limit = visit.rng.choice(("job-", "job-1")), visit.rng.choice((1, 3, 100))
    until_ms = visit.rng.choice((0, 150, 14_500, 14_500))
    nonce = f"many {visit.rng.getrandbits(64):x}"
    lives = visit.watcher.named.lives
    before = {key: len(life.truths) for (owner, key), life in lives.items() if owner == client_id and life.truths}
    passed: set[str] = set()
    after: str | None = None
    while True:

        def work(after: str | None, world: World, note: Note) -> Handled:
            client = visit.acting_for(world, client_id)
            which = Which(prefix, lambda job: job.is_alive, limit)
            until = world.clock.now() + until_ms
            change_of = partial(_change_of, wanted)
            admit = partial(visit.intake.admit_work, world, client)
            handled = change_jobs(world, client_id, which, after, change_of, until, admit=admit, note=note)
            if not handled.changed:
                visit.intake.owe_work(world, client, 1 + creates_of(handled.read, handled.matched))
            return handled

        handled = control(visit, "changeJobs", nonce, partial(work, after), principal=visit.client.principals[0])
        passed.update(one.job.job_key for one in handled.passed)
        _check(visit, handled, limit)
        if handled.changed:
            require_noted(visit, client_id, nonce)
        after = handled.next_after
        if after is None:
            break
    for key in before.keys() - passed:
        life = lives[client_id, key]
        is_left = key.startswith(prefix) and life.truths[-1].is_alive and life.truths[-1].state is not wanted
        # Whatever somebody else has changed meanwhile may be so again.
        is_wrong = is_left and len(life.truths) == before[key]
        visit.watcher.require(not is_wrong, "I1", f"{visit.step.operation} has left out {key}", life.truths[-1].job_id)


def _check(visit: Visit, handled: Handled, limit: int) -> None:
    counts = handled.matched, handled.changed, len(handled.passed)
    is_sound = handled.changed + len(handled.passed) <= handled.matched <= limit
    visit.watcher.require(is_sound, "I12", f"of {counts[0]} jobs {counts[1]} are changed and {counts[2]} passed")


MANY_OPERATIONS: dict[str, Callable[[Visit], None]] = dict.fromkeys(WANTED, change_many)
MANY_WEIGHTS = {"pause many": 3, "resume many": 5, "cancel many": 1}
