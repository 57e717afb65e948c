"""Many named jobs changed by one call: those that are meant, as many as time and the client's caps allow."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.errors import RevisionConflict
from clockwork.domain.named.changes import Change, paused
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.requests.trail import unnoted
from clockwork.flows.named import write
from clockwork.flows.requests.bulk import Handled, Which, change_jobs
from tests.support.named import Named, jobs_of

KEYS = ("a1", "a2", "a3", "b1")


class Several(Named):
    """A client with five jobs; the one that every `Named` has is `tick`."""

    def __init__(self) -> None:
        super().__init__()
        for key in KEYS:
            self.create(key, key)
        self.admitted: list[int] = []
        self.admit = self.admitted.append

    def pause(self, prefix: str | None = None, after: str | None = None, limit: int = 10, for_ms: int = 1) -> Handled:
        def change_of(job: NamedJob) -> Change | None:
            return None if job.state is JobState.PAUSED else paused("all of them")

        which = Which(prefix, lambda job: job.is_alive, limit)
        until = self.clockwork.clock.at + for_ms
        admit, note = self.admit, unnoted
        return change_jobs(self.clockwork.world, "acme", which, after, change_of, until, admit=admit, note=note)

    @property
    def paused(self) -> list[str]:
        jobs = jobs_of(self.clockwork, "acme")
        return [job.job_key for job in jobs if job.state is JobState.PAUSED]


def test_those_that_are_meant_are_changed_and_counted_and_asked_for_before() -> None:
    several = Several()
    handled = several.pause("a", limit=2)
    assert (handled.matched, handled.changed, handled.passed, handled.next_after) == (2, 2, [], "a2")
    assert (several.paused, several.admitted) == (["a1", "a2"], [2])
    rest = several.pause("a", handled.next_after, limit=2)
    assert (rest.matched, rest.changed, rest.next_after) == (1, 1, None)
    assert several.paused == ["a1", "a2", "a3"]


def test_those_that_are_as_asked_for_are_matched_and_not_changed_nor_admitted_again() -> None:
    several = Several()
    several.pause("a", limit=2)
    handled = several.pause("a")
    assert (handled.matched, handled.changed) == (3, 1)
    assert several.admitted == [2, 1]


def test_a_client_that_may_not_have_so_many_has_none_of_them_changed() -> None:
    several = Several()

    def refuse(count: int) -> None:
        raise ValueError(f"{count} are too many")

    several.admit = refuse
    with pytest.raises(ValueError, match="3 are too many"):
        several.pause("a")
    assert several.paused == []


@pytest.mark.parametrize(("for_ms", "matched"), [(-1, 1), (0, 1), (1_000, 1), (1_001, 2), (2_000, 2), (9_000, 3)])
def test_a_call_goes_on_until_its_time_is_over_and_does_one_job_at_least(
    for_ms: int, matched: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = Several()
    save = several.clockwork.jobs.save

    def slow(*jobs: Any) -> bool:
        several.clockwork.clock.advance(1_000)
        return save(*jobs)

    monkeypatch.setattr(several.clockwork.jobs, "save", slow)
    handled = several.pause("a", for_ms=for_ms)
    assert (handled.matched, handled.changed, len(several.paused)) == (matched, matched, matched)
    assert handled.next_after == (None if matched == 3 else several.paused[-1])


def test_a_job_that_somebody_else_changes_just_now_is_passed_by_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    several = Several()
    change = write.change

    def lost(world: Any, job: NamedJob, *rest: Any) -> Any:
        if job.job_key == "a2":
            raise RevisionConflict("the job was changed meanwhile")
        return change(world, job, *rest)

    monkeypatch.setattr(write, "change", lost)
    handled = several.pause("a")
    assert (handled.matched, handled.changed, several.paused) == (3, 2, ["a1", "a3"])
    assert [(one.job.job_key, one.reason) for one in handled.passed] == [("a2", "the job was changed meanwhile")]
