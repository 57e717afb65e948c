"""Poison: jobs, stored bytes and defects of one client, each a kind that must hurt nobody else.

A kind acts on the World's own adapters, in memory or on AWS, so that everything above them is the shipped code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import msgspec

from bench.isolating.reader import hot_reader
from clockwork.aws.stores.table import written
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle import attempts
from clockwork.domain.lifecycle.attempts import Plan
from clockwork.domain.named_jobs import Pointer
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Deliver, Delivery
from clockwork.domain.storage.codec import FORMAT
from clockwork.domain.storage.rows import row_of
from clockwork.domain.timeline import NEVER, Row
from clockwork.flows.deliver import claim
from clockwork.flows.world import World
from clockwork.memory.clients import MemoryClients
from clockwork.ports import Saved, Targets

#: The client whose work is poison.
ODD = "odd"
URL = "https://example.com/hook"
#: The host has a character that one parser of URLs takes for a dot or a colon, and another for a letter.
ODD_URL = "https://a\ufe16b.example.com/x"
#: Bytes under the mark of today's format, and a body, that nothing wrote.
GARBAGE_ROW, GARBAGE_MESSAGE = bytes([FORMAT]) + b"\xff\xff", "garbage!"
#: DynamoDB takes no larger item.
LARGEST_RECORD = 400 * 1024
#: It is not tried again, so that its first attempt ends DEAD, beside those of others.
LONG_FAILURE = {
    "state": State.FAILED,
    "permanent": True,
    "status_code": 400,
    "error": "x" * (LARGEST_RECORD + 100_000),
}


@contextmanager
def nothing(_: World) -> Iterator[None]:
    """No defect besides what the odd client's jobs and bytes are."""
    yield


@contextmanager
def raising_decision(_: World) -> Iterator[None]:
    """The decision about each claim raises for the odd client."""
    plan = attempts.plan_claim

    def raising(release: Deliver, *more: Any) -> Plan:
        if release.occurrence.client_id == ODD:
            raise ValueError("a defect that nobody expected")
        return plan(release, *more)

    with mock.patch.object(claim, "plan_claim", raising):
        yield


@contextmanager
def raising_port(world: World) -> Iterator[None]:
    """Each save that holds a record of the odd client raises, so that the records beside it are not saved either."""

    def objection(records: Sequence[Execution]) -> str | None:
        return "a defect of the port" if any(one.client_id == ODD for one in records) else None

    with _saves(world, objection):
        yield


@contextmanager
def damaged_client(world: World) -> Iterator[None]:
    """The odd client's row cannot be decoded."""
    world.clients.put(Client(client_id=ODD))
    store: Any = getattr(world.clients, "_inner", world.clients)
    if isinstance(store, MemoryClients):
        store.damage(ODD)
    else:
        store._table.store(written(clientId=ODD, item="client", definition=GARBAGE_ROW))
    yield


@contextmanager
def limited_records(world: World) -> Iterator[None]:
    """A record that is larger than DynamoDB takes is refused by an exception, as by the table."""

    def objection(records: Sequence[Execution]) -> str | None:
        too_large = any(len(msgspec.msgpack.encode(one)) > LARGEST_RECORD for one in records)
        return "Item size has exceeded the maximum allowed size" if too_large else None

    with _saves(world, objection):
        yield


@contextmanager
def throttled_jobs(world: World) -> Iterator[None]:
    """Each read that asks for a named job of the odd client gets no answer: DynamoDB throttles by partition."""
    store: Any = getattr(world.jobs, "_inner", world.jobs)
    get = store.get

    def asked(refs: Sequence[tuple[str, str]]) -> Any:
        if any(client_id == ODD for client_id, _ in refs):
            raise Unavailable("its partition is throttled")
        return get(refs)

    with mock.patch.object(store, "get", asked):
        yield


@contextmanager
def _saves(world: World, objection: Callable[[Sequence[Execution]], str | None]) -> Iterator[None]:
    """Saves to the store itself raise if there is an objection to the records."""
    store: Any = getattr(world.executions, "_inner", world.executions)
    save = store.save

    def saved(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        why_not = objection([after for _, after in changes])
        if why_not is not None:
            raise ValueError(why_not)
        answers: Sequence[Saved] = save(changes)
        return answers

    with mock.patch.object(store, "save", saved):
        yield


class LongAnswers:
    """`ports.Targets` whose answers to the odd client are failures with more text than a record can hold."""

    def __init__(self, inner: Targets) -> None:
        self._inner = inner
        self._odd: set[int] = set()

    def forget(self) -> None:
        """Pass on."""
        self._odd.clear()
        self._inner.forget()

    def begin(self, slot: int, delivery: Delivery) -> None:
        """Pass on, and note whose it is."""
        if delivery.occurrence.client_id == ODD:
            self._odd.add(slot)
        else:
            self._odd.discard(slot)
        self._inner.begin(slot, delivery)

    def collect(self) -> Sequence[tuple[int, Outcome]]:
        """The attempts that have ended; those of the odd client as failures that say very much."""
        return [
            (slot, msgspec.structs.replace(ended, **LONG_FAILURE) if slot in self._odd else ended)
            for slot, ended in self._inner.collect()
        ]


@dataclass(frozen=True, kw_only=True)
class Poison:
    """One kind. `url`: the odd client's target. `garbage`: bytes that no version wrote lie among rows and messages.

    `rows`: rows of a shard besides, so many, due at an instant (ms).
    """

    says: str
    url: str = URL
    garbage: bool = False
    rows: Callable[[str, int, int], list[Row]] = lambda *_: []
    acting: Callable[[World], Any] = nothing
    targets: Callable[[Targets], Targets] = lambda targets: targets


def pointer_rows(partition_id: str, due_at: int, count: int) -> list[Row]:
    """Rows of named jobs of the odd client."""
    fire = Fire(due_at, due_at, 1)
    pointers = [Pointer(ODD, f"job-{due_at}-{number}", "series", fire) for number in range(count)]
    return [row_of(partition_id, pointer.key, [pointer], NEVER) for pointer in pointers]


def newer_rows(partition_id: str, due_at: int, count: int) -> list[Row]:
    """Rows whose first byte says that a newer version wrote them."""
    blob = bytes([255]) + GARBAGE_ROW
    return [Row(partition_id, row_key(due_at, f"newer{n}".ljust(22, "x")), blob, NEVER) for n in range(count)]


POISONS = {
    "oddUrl": Poison(says="a URL that two parsers read differently", url=ODD_URL),
    "undecodableRow": Poison(says="rows and messages that cannot be decoded", garbage=True),
    "decision": Poison(says="an exception in a decision", acting=raising_decision),
    "port": Poison(says="an exception in a port", acting=raising_port),
    "damaged_client": Poison(says="a client whose row cannot be decoded", acting=damaged_client),
    "hotReader": Poison(
        says="a client that reads its job of 256 KB as fast as it can",
        acting=lambda world: hot_reader(world, ODD, URL),
    ),
    "throttledClient": Poison(says="named jobs that give no answer", rows=pointer_rows, acting=throttled_jobs),
    "newerByte": Poison(says="rows with the byte of a newer format", rows=newer_rows),
    "oversizedRecord": Poison(says="a record larger than the table takes", acting=limited_records, targets=LongAnswers),
}


def garbage_rows(partition_id: str, due_at: int, count: int) -> list[Row]:
    """Rows of a shard that cannot be decoded, due at `due_at` (ms)."""
    return [Row(partition_id, row_key(due_at, f"garbage{n}".ljust(22, "x")), GARBAGE_ROW, NEVER) for n in range(count)]
