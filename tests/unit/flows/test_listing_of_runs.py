"""The saves of a hardened world bring what ends into the index of its client's runs, if the client has one."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec
import pytest

from clockwork.domain.clients import Client, ClientUnreadable
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import NOTHING_KEPT, End, Execution, Kept, State
from clockwork.domain.storage.retention import Retention
from clockwork.domain.storage.runs_index import is_ending
from clockwork.flows import hardening
from clockwork.flows.hardening import HardenedExecutions
from clockwork.flows.world import Environment
from clockwork.memory.clients import MemoryClients
from clockwork.memory.clock import MemoryClock
from clockwork.memory.executions import MemoryExecutions
from tests.contract.examples import DUE, attempt, execution, occurrence
from tests.support.examples import like


class Clients(MemoryClients):
    """Clients whose answers a test gives, and which count their calls."""

    def __init__(self, *listing: str, error: Exception | None = None) -> None:
        super().__init__()
        self.listing, self.error, self.asked = listing, error, list[str]()

    def get(self, client_id: str, *, fresh: bool = False) -> Client:
        self.asked.append(client_id)
        if self.error is not None:
            raise self.error
        return Client(client_id=client_id, runs_index=client_id in self.listing)


class Scene:
    """A hardened port of records over one in memory."""

    def __init__(self, clients: Clients) -> None:
        self.stored, self.environment = MemoryExecutions(), Environment()
        retention = Retention(1, 1, 1)
        self.port = HardenedExecutions(self.stored, self.environment, MemoryClock(DUE), retention, clients)

    def save(self, *changes: tuple[Execution | None, Execution]) -> Sequence[bool]:
        """Whether each record is in the index after its save."""
        saves = self.port.save(changes)
        assert all(one.ok for one in saves), saves
        return [one.actual is not None and one.actual.end.indexed for one in saves]


def running(due_at: int = DUE, client_id: str = "acme") -> Execution:
    return like(execution(due_at=due_at), client_id=client_id)


def ending(before: Execution, state: State = State.SUCCEEDED, **fields: object) -> Execution:
    tried = attempt(before.attempt, State.FAILED if state is State.DEAD else state)
    return before.changed(state=state, claim=None, attempts=(*before.attempts, tried), **fields)


def test_a_record_comes_in_with_its_end_and_no_client_is_asked_before() -> None:
    clients = Clients("acme")
    scene, before = Scene(clients), running()
    assert scene.save((None, before)) == [False]
    assert clients.asked == []
    assert scene.save((before, ending(before))) == [True]
    assert clients.asked == ["acme"]


def test_a_record_of_a_client_without_the_option_stays_as_it_is() -> None:
    scene, before = Scene(Clients("other")), running()
    scene.save((None, before))
    assert scene.save((before, ending(before))) == [False]


def test_a_record_that_is_in_it_stays_in_it_and_its_client_is_not_asked_again() -> None:
    clients = Clients("acme")
    scene, before = Scene(clients), running()
    dead = ending(before, State.DEAD, kept=Kept(occurrence()), reason="no", end=End(dead_at=DUE + 1))
    scene.save((None, before))
    scene.save((before, dead))
    (stored,) = scene.stored.all()
    clients.listing = ()
    assert scene.save((stored, stored.changed(kept=NOTHING_KEPT))) == [True]
    assert clients.asked == ["acme"]


def test_each_client_is_asked_once_for_all_that_ends_together_in_the_order_of_the_records() -> None:
    clients = Clients("acme")
    scene, names = Scene(clients), ("umbrella", "acme", "initech", "globex", "hooli")
    befores = [running(DUE + number, names[number % len(names)]) for number in range(2 * len(names))]
    scene.save(*((None, one) for one in befores))
    assert scene.save(*((one, ending(one)) for one in befores)) == [name == "acme" for name in names] * 2
    assert clients.asked == list(names)


def test_what_ends_is_saved_though_clients_cannot_be_read_and_waits_for_one_of_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Reads that fail slowly for many clients would outlive the claims whose outcomes are to be saved."""
    clients = Clients(error=Unavailable("throttled"))
    scene = Scene(clients)
    befores = [running(DUE + number, f"client-{number}") for number in range(5)]
    scene.save(*((None, one) for one in befores))
    with caplog.at_level(logging.WARNING):
        assert scene.save(*((one, ending(one)) for one in befores)) == [False] * 5
    assert len(clients.asked) == 1
    assert "runs that end now may be left unlisted" in caplog.text


def test_a_client_whose_reads_are_throttled_keeps_none_that_is_known_from_its_list() -> None:
    """One client's flood throttles the reads of its own row. All that ends beside it would be missing for ever."""
    clients = Clients("acme", "globex")
    scene = Scene(clients)
    names = ("acme", "flood", "globex", "other")
    befores = [running(DUE + number, name) for number, name in enumerate(names * 2)]
    scene.save(*((None, one) for one in befores))
    assert scene.save(*((one, ending(one)) for one in befores[:4])) == [True, False, True, False]

    clients.error, clients.asked = Unavailable("throttled"), []
    assert scene.save(*((one, ending(one)) for one in befores[4:])) == [True, False, True, False]
    assert len(clients.asked) == 1


def test_what_is_known_of_a_client_is_what_it_told_last() -> None:
    clients = Clients("acme")
    scene, befores = Scene(clients), [running(DUE + number) for number in range(3)]
    scene.save(*((None, one) for one in befores))
    assert scene.save((befores[0], ending(befores[0]))) == [True]
    clients.listing = ()
    assert scene.save((befores[1], ending(befores[1]))) == [False]
    clients.error = Unavailable("throttled")
    assert scene.save((befores[2], ending(befores[2]))) == [False]


def test_a_client_that_cannot_be_read_keeps_no_other_from_its_list() -> None:
    class Some(Clients):
        def get(self, client_id: str, *, fresh: bool = False) -> Client:
            if client_id == "broken":
                raise ClientUnreadable("broken", "it is garbage", Client(client_id="broken"))
            return super().get(client_id, fresh=fresh)

    scene = Scene(Some("acme"))
    befores = [running(DUE + number, name) for number, name in enumerate(("broken", "acme"))]
    scene.save(*((None, one) for one in befores))
    assert scene.save(*((one, ending(one)) for one in befores)) == [False, True]


def test_a_piece_that_is_saved_again_saves_the_same_whatever_becomes_of_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first try was stored and its answer lost: a second one that differed would count as another writer's."""
    clients = Clients("acme")
    scene, before = Scene(clients), running()
    scene.save((None, before))
    inner, tries = scene.stored.save, list[Execution]()

    def losing(changes: Sequence[tuple[Execution | None, Execution]]) -> object:
        tries.extend(after for _, after in changes)
        inner(changes)
        if len(tries) == 1:
            clients.listing = ()
            raise ValueError("its answer was lost")
        return inner(changes)

    monkeypatch.setattr(scene.stored, "save", losing)
    other = running(DUE + 1)
    scene.port.save([(before, ending(before)), (None, other)])
    (stored,) = [one for one in scene.stored.all() if one.due_at == DUE]
    assert stored.end.indexed
    assert {one.end.indexed for one in tries if one.due_at == DUE} == {True}


def test_a_record_of_which_nobody_can_tell_whether_it_ends_is_saved_beside_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene, befores = Scene(Clients("acme")), [running(), running(DUE + 1, "globex")]
    scene.save(*((None, one) for one in befores))

    def odd(before: Execution | None, after: Execution) -> bool:
        if after.client_id == "globex":
            raise ValueError("a defect")
        return is_ending(before, after)

    monkeypatch.setattr(hardening, "is_ending", odd)
    assert scene.save(*((one, ending(one)) for one in befores)) == [True, False]


def test_nothing_of_the_option_is_stored_of_a_record_that_is_not_in_it() -> None:
    assert b"indexed" not in msgspec.msgpack.encode(ending(running()))
