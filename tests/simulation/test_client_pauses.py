"""The judge of what a pause of a client held back: it holds each fire to `catchUp`, as it stood when it was decided."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from clockwork.domain.clients import Client, with_pause, without_pause
from clockwork.domain.named_jobs import CatchUp, NamedJob
from clockwork.domain.recurrence import Every, Recurrence
from tests.simulation.client_pauses import ClientPauses
from tests.simulation.named_history import Event, events_of
from tests.support.named import Named

BEAT = Recurrence(every=Every(60_000, 1_700_000_000_000))
FIRST_AT = 1_700_000_060_000
INVOCATION_MS = 30_000
#: The client is paused over the second, third and fourth fire.
PAUSED_AT, RESUMED_AT = FIRST_AT + 30_000, FIRST_AT + 3 * 60_000 + 30_000
HELD = [FIRST_AT + number * 60_000 for number in (1, 2, 3)]
AROUND = [FIRST_AT, FIRST_AT + 4 * 60_000]
LATER = RESUMED_AT + 2 * INVOCATION_MS


def _job(catch_up: CatchUp, window_seconds: float = 86_400, recurrence: Recurrence | None = BEAT) -> NamedJob:
    job = Named(recurrence=recurrence, at=None if recurrence else HELD[0], catch_up=catch_up).job
    definition = msgspec.structs.replace(job.definition, catch_up_window_seconds=window_seconds)
    return msgspec.structs.replace(job, definition=definition, created_at=FIRST_AT - 1, chain_after_at=FIRST_AT - 1)


def _events(job: NamedJob) -> Sequence[Event]:
    return events_of([job])


@pytest.fixture
def client() -> Client:
    return Client(client_id="acme")


@pytest.fixture
def pauses(client: Client) -> ClientPauses:
    """A client that was paused once, and resumed."""
    judge = ClientPauses(INVOCATION_MS)
    paused = with_pause(client, None, PAUSED_AT)
    for at, row in ((0, client), (PAUSED_AT, paused), (RESUMED_AT, without_pause(paused, RESUMED_AT))):
        judge.changed(row, at)
    return judge


@pytest.mark.parametrize(
    ("job", "wanted"),
    [
        (_job("all"), HELD),
        (_job("latest"), HELD[-1:]),
        (_job("none"), []),
        (_job("all", window_seconds=60), HELD[-1:]),
        (_job("latest", window_seconds=10), []),
        (_job("none", recurrence=None), HELD[:1]),
    ],
)
def test_a_fire_that_a_pause_held_back_starts_if_catch_up_wants_it_and_is_skipped_if_not(
    pauses: ClientPauses, job: NamedJob, wanted: list[int]
) -> None:
    held = HELD if job.definition.recurrence is not None else HELD[:1]
    for due_at in held:
        starts = pauses.start_objection("acme", due_at, _events(job), LATER) is None
        is_skipped = pauses.skip_objection("acme", due_at, _events(job)) is None
        assert (starts, is_skipped) == (due_at in wanted, due_at not in wanted)


def test_what_was_due_before_or_after_the_pause_starts_and_is_never_missed_in_it(pauses: ClientPauses) -> None:
    events = _events(_job("none"))
    for due_at in AROUND:
        assert pauses.start_objection("acme", due_at, events, LATER) is None
        assert pauses.skip_objection("acme", due_at, events) is not None


def test_who_began_before_the_resume_may_start_what_it_took_for_due_in_no_pause(pauses: ClientPauses) -> None:
    events = _events(_job("none"))
    assert pauses.start_objection("acme", HELD[0], events, RESUMED_AT + INVOCATION_MS) is None
    assert pauses.start_objection("acme", HELD[0], events, RESUMED_AT + INVOCATION_MS + 1) is not None


def test_any_row_of_the_job_in_force_meanwhile_may_have_decided(pauses: ClientPauses) -> None:
    both = [*_events(_job("none")), *_events(_job("all"))]
    assert pauses.start_objection("acme", HELD[0], both, LATER) is None
    assert pauses.skip_objection("acme", HELD[0], both) is None


def test_a_pause_that_the_client_s_row_has_forgotten_holds_nothing_back(pauses: ClientPauses, client: Client) -> None:
    pauses.changed(client, LATER)
    events = _events(_job("none"))
    assert pauses.start_objection("acme", HELD[0], events, LATER + 2 * INVOCATION_MS) is None
    assert pauses.ended_at("acme", HELD[0]) == RESUMED_AT
