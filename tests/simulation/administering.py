"""Corner scenes of what admins and clients ask for: pools that several write, and changes of many jobs in no time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from clockwork.domain.errors import NotAllowed, PoolNotFound, RevisionConflict
from clockwork.domain.named import changes
from clockwork.domain.named_jobs import JobState
from clockwork.domain.pools.pool import Pool
from clockwork.domain.requests.trail import unnoted
from clockwork.flows import access
from clockwork.flows.requests import pools
from clockwork.flows.requests.bulk import Handled, Which, change_jobs
from clockwork.flows.world import World
from tests.simulation.clients import Visit
from tests.simulation.requests import ADMIN
from tests.simulation.scenes import Steps, create_key
from tests.simulation.stage import BEGAN_AT

#: The pool that the deployment has, as the setting has it, and one that it has not.
SPEC, NAME, OTHER = "etl=normal", "etl", "nowhere"
#: A call for many jobs has so little time (ms) that it ends behind the first one or two.
HURRY_MS = 90


def pools_written() -> Steps:
    """Admins write one pool at the same moment; then its workers see it, and nobody else does."""
    writes = [(1_000 + 15 * number, partial(_let_work, number)) for number in range(4)]
    return [*writes, (90_000, _write_late), (91_000, _see)]


def hurried() -> Steps:
    """Three jobs are paused by calls that have no time: each goes on where the one before came to."""
    jobs = [(1_000 + 100 * n, create_key(f"hurried {n}", at=BEGAN_AT + 400_000)) for n in range(3)]
    return [*jobs, (90_000, _pause_all)]


def _worker(number: int) -> str:
    return f"arn:aws:iam::123456789012:role/worker-{number}"


def _write(visit: Visit, name: str, revision: int | None, principal: str) -> Pool:
    def changed(pool: Pool) -> Pool:
        others = [one for one in pool.principals if one != principal]
        return msgspec.structs.replace(pool, principals=tuple(sorted((*others, principal))))

    def flow(world: World, _: Sequence[str]) -> Pool:
        access.require_admin(access.identify(world, ADMIN))
        return pools.change_pool(world, name, revision, changed)

    return visit.call_until_answered(flow)


def _let_work(number: int, visit: Visit) -> None:
    """Lets one more principal work. No other admin's write is undone by it, nor undoes it."""
    _write(visit, NAME, None, _worker(number))
    stored = visit.desk.cloud.stores.port("pools").get(NAME, fresh=True)  # type: ignore[attr-defined]
    is_kept = stored is not None and stored.lets_work(_worker(number))
    visit.watcher.require(is_kept, "I12", f"the pool is {stored}, and {_worker(number)} was let in")


def _write_late(visit: Visit) -> None:
    """Writes what is not at that revision, and what is not there: both are refused, and nothing is written."""
    before = visit.desk.cloud.stores.port("pools").get(NAME, fresh=True)  # type: ignore[attr-defined]
    for name, error in ((NAME, RevisionConflict), (OTHER, PoolNotFound)):
        try:
            _write(visit, name, 99, _worker(99))
            visit.watcher.violated("I12", f"{name} is written at a revision that it is not at")
        except error:
            pass
    after = visit.desk.cloud.stores.port("pools").get(NAME, fresh=True)  # type: ignore[attr-defined]
    visit.watcher.require(after == before, "I12", f"a refused write made {after} of {before}")


def _see(visit: Visit) -> None:
    """An admin and each worker see the pool; a client does not, and nobody sees one that is not there."""
    stored = visit.desk.cloud.stores.port("pools").get(NAME, fresh=True)  # type: ignore[attr-defined]
    if stored is None:
        return  # No write was answered.
    asked: list[tuple[str, str, type[Exception] | None]] = [(ADMIN, NAME, None), (ADMIN, OTHER, PoolNotFound)]
    asked += [(principal, NAME, None) for principal in stored.principals]
    asked += [(visit.client.principals[0], name, NotAllowed) for name in (NAME, OTHER)]
    for principal, name, error in asked:

        def flow(world: World, _: Sequence[str], principal: str = principal, name: str = name) -> Pool:
            return pools.pool_for(world, access.identify(world, principal), name)

        try:
            seen = visit.call_until_answered(flow)
            visit.watcher.require(error is None and seen == stored, "I9", f"{principal} sees {name} as {seen}")
        except (NotAllowed, PoolNotFound) as refused:
            visit.watcher.require(type(refused) is error, "I9", f"{principal} is refused {name}: {refused!r}")


def _pause_all(visit: Visit) -> None:
    which = Which("hurried ", lambda job: job.is_alive, 100)
    change = changes.paused("all of them")
    after: str | None = None
    matched, calls = 0, 0
    while after is not None or not calls:

        def flow(world: World, _: Sequence[str], after: str | None = after) -> Handled:
            client = visit.acting_for(world, visit.client.client_id)
            until = world.clock.now() + HURRY_MS
            return change_jobs(
                world, client.client_id, which, after, lambda _: change, until, admit=lambda _: None, note=unnoted
            )

        handled = visit.call_until_answered(flow)
        matched, calls, after = matched + handled.matched, calls + 1, handled.next_after
    jobs = visit.desk.cloud.stores.jobs.list(visit.client.client_id, "hurried ", None, 100).jobs
    is_told = matched == len(jobs)
    visit.watcher.require(is_told, "I12", f"calls for many jobs matched {matched} of {len(jobs)}")
    for key, job in jobs:
        is_paused = getattr(job, "state", None) is JobState.PAUSED
        visit.watcher.require(is_paused, "I1", f"calls for many jobs have left out {key}")
