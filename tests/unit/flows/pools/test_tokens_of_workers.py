"""A worker's token proves itself before any record is read, and what is read for one that is over has a pace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.lifecycle.tokens import Token, decode_token
from clockwork.domain.pools.pool import Pool
from clockwork.flows.pools.checkpoints import keep_checkpoint
from clockwork.flows.pools.reports import Beat, Ended, Taken, beat_all, report_all
from clockwork.flows.requests.reading import Reading
from clockwork.flows.requests.reporting import Reported
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.support.claimed import claimed_token
from tests.support.examples import ACME

POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)
KEY = "k" * 22
Tell = Callable[[MemoryClockwork, Pool, Sequence[str], Reading | None], Sequence[Taken]]


class Counted:
    """Executions that count the records that they are asked for."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.asked: list[str] = []

    def get(self, refs: Sequence[tuple[str, str]]) -> Any:
        self.asked += [execution_id for _, execution_id in refs]
        return self._inner.get(refs)

    def find(self, job_id: str, execution_id: str) -> Any:
        self.asked.append(execution_id)
        return self._inner.find(job_id, execution_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.fixture
def clockwork() -> MemoryClockwork:
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal", "gpu=normal"), stage="account"))
    made.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",)))
    made.ticket_keys.make(KEY)
    return made


@pytest.fixture
def counted(clockwork: MemoryClockwork) -> Counted:
    counting = Counted(clockwork.world.executions)
    msgspec.structs.force_setattr(clockwork.world, "executions", counting)
    return counting


@pytest.fixture
def token(clockwork: MemoryClockwork, counted: Counted) -> str:
    """The token of an attempt that a worker has just claimed."""
    made = claimed_token(clockwork, POOL)
    counted.asked.clear()
    return made


def beat(clockwork: MemoryClockwork, pool: Pool, tokens: Sequence[str], reading: Reading | None) -> Sequence[Taken]:
    return beat_all(clockwork.world, pool, [Beat(token) for token in tokens], reading)


def complete(clockwork: MemoryClockwork, pool: Pool, tokens: Sequence[str], reading: Reading | None) -> Sequence[Taken]:
    return report_all(clockwork.world, pool, [Ended(one, Reported(State.SUCCEEDED)) for one in tokens], reading)


def keep(clockwork: MemoryClockwork, pool: Pool, tokens: Sequence[str], reading: Reading | None) -> Sequence[Taken]:
    return [keep_checkpoint(clockwork.world, pool, token, 1, b"1", reading) for token in tokens]


every_way = pytest.mark.parametrize("tell", [beat, complete, keep])


def made_up(token: str) -> list[str]:
    """Tokens of the same execution that the deployment has not given to a worker of this pool."""
    real = decode_token(token)
    unchecked = msgspec.structs.replace(real, check="")
    return [
        str(unchecked),
        str(msgspec.structs.replace(real, secret="d" * 22)),
        str(msgspec.structs.replace(real, attempt=2)),
        str(msgspec.structs.replace(real, check="A" * 11)),
        str(unchecked.checked("another key", POOL.name)),
        # Of another pool, and of a receiver that may report unsigned.
        str(unchecked.checked(KEY, "gpu")),
        str(unchecked.checked(KEY)),
    ]


@every_way
def test_a_token_that_proves_nothing_reads_no_record(
    clockwork: MemoryClockwork, counted: Counted, token: str, tell: Tell
) -> None:
    texts = ["none", str(Token("none", 1, "d" * 22).checked(KEY, POOL.name)), *made_up(token)]
    taken = tell(clockwork, POOL, texts, None)
    assert [one.is_stale for one in taken] == [True] * len(texts)
    assert counted.asked == []
    (real,) = tell(clockwork, POOL, [token], None)
    assert not real.is_stale
    assert counted.asked == [decode_token(token).execution_id]


@every_way
def test_a_workers_token_reads_no_record_in_another_pool(
    clockwork: MemoryClockwork, counted: Counted, token: str, tell: Tell
) -> None:
    (taken,) = tell(clockwork, msgspec.structs.replace(POOL, name="gpu"), [token], None)
    assert taken.is_stale
    assert counted.asked == []


def test_a_pool_whose_name_is_that_of_another_use_makes_no_token_of_it() -> None:
    token = Token("e", 1, "s" * 22)
    assert not token.checked(KEY, "completion").is_checked([KEY])
    assert not token.checked(KEY).is_checked([KEY], "completion")


@every_way
def test_a_token_counts_under_each_key_that_is_left(
    clockwork: MemoryClockwork, counted: Counted, token: str, tell: Tell
) -> None:
    clockwork.ticket_keys.keys.insert(0, "n" * 44)
    (taken,) = tell(clockwork, POOL, [token], None)
    assert not taken.is_stale
    clockwork.ticket_keys.keys.pop()
    counted.asked.clear()
    (taken,) = tell(clockwork, POOL, [token], None)
    assert taken.is_stale and counted.asked == []


@every_way
def test_keys_that_give_no_answer_decide_nothing(
    clockwork: MemoryClockwork, token: str, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent() -> Sequence[str]:
        raise Unavailable("no answer")

    monkeypatch.setattr(clockwork.ticket_keys, "get", silent)
    with pytest.raises(Unavailable):
        tell(clockwork, POOL, [token], None)


def calls(clockwork: MemoryClockwork, reading: Reading, tell: Tell, token: str, count: int, units: int) -> list[Taken]:
    """`count` calls, each of which reads a record of `units`."""
    taken: list[Taken] = []
    for _ in range(count):
        reading.begin(clockwork.world)
        clockwork.world.environment.meter.read("executions", "job", units)
        taken += tell(clockwork, POOL, [token], reading)
        reading.settle(clockwork.world)
    return taken


@every_way
def test_a_token_whose_claim_is_over_is_read_for_at_a_pace(
    clockwork: MemoryClockwork, counted: Counted, token: str, tell: Tell
) -> None:
    assert not complete(clockwork, POOL, [token], None)[0].is_stale
    counted.asked.clear()
    reading = Reading()
    taken = calls(clockwork, reading, tell, token, count=50, units=10)
    read = len(counted.asked)
    assert 0 < read < 10
    assert [one.is_unavailable for one in taken] == [False] * read + [True] * (50 - read)
    # It may ask again in time.
    clockwork.clock.advance(60_000)
    assert not calls(clockwork, reading, tell, token, count=1, units=10)[0].is_unavailable


@pytest.mark.parametrize("tell", [beat, keep])
def test_a_token_whose_claim_stands_is_never_held_up(
    clockwork: MemoryClockwork, counted: Counted, token: str, tell: Tell
) -> None:
    taken = calls(clockwork, Reading(), tell, token, count=50, units=100)
    assert [one.is_unavailable for one in taken] == [False] * 50
    assert len(counted.asked) == 50


def test_one_token_that_is_over_holds_up_no_other_in_its_call(
    clockwork: MemoryClockwork, counted: Counted, token: str
) -> None:
    over = str(Token(decode_token(token).execution_id, 1, "o" * 22).checked(KEY, POOL.name))
    reading = Reading()
    calls(clockwork, reading, beat, over, count=50, units=100)
    stale, running = beat(clockwork, POOL, [over, token], reading)
    assert (stale.is_unavailable, running.is_unavailable, running.is_stale) == (True, False, False)
