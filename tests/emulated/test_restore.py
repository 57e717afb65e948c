"""A restore drill: from copies of all five tables, as a point-in-time restore makes them, to a scheduler at work."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bench.billing.event_source import EventSource
from bench.billing.meter import Meter
from bench.billing.scheduler import CLIENT, Scheduler, forgetful_session, scheduler
from clockwork.aws.session import Aws
from clockwork.domain.instants import to_text
from clockwork.memory.targets import MemoryTargets
from local.emulator import REGION, Credentials, Emulator
from rollout.__main__ import main
from tests.contract.schema import KEYS, create_table

MINUTE_MS = 60_000
SHARDS = 2


class Drill:
    """A scheduler whose tables are copied at one instant, and its successor, which finds the copies alone."""

    def __init__(self, running: Emulator, account: Credentials, monkeypatch: pytest.MonkeyPatch) -> None:
        self._running, self._account = running, account
        self._dynamodb = running.client("dynamodb", account)
        self.tables = {kind: f"{kind}-copy" for kind in KEYS}
        self.copied_at = 0
        for name, value in {
            "AWS_ENDPOINT_URL": running.endpoint_url,
            "AWS_ACCESS_KEY_ID": account.access_key,
            "AWS_SECRET_ACCESS_KEY": account.secret_key,
            "AWS_REGION": REGION,
        }.items():
            monkeypatch.setenv(name, value)

    def copy(self, at: int) -> None:
        """Copy every table as a point-in-time restore does: rows and index, and nothing else."""
        self.copied_at = at
        for kind, name in self.tables.items():
            create_table(self._dynamodb, kind, name)
            for item in self._dynamodb.scan(TableName=kind)["Items"]:
                self._dynamodb.put_item(TableName=name, Item=item)

    def restore(self, *arguments: str, at: int | None = None) -> int:
        """Runs the command on the copies."""
        adopt = json.dumps({"tables": self.tables})
        instant = to_text(at or self.copied_at)
        return main(["restore", "-c", f"adopt={adopt}", "--at", instant, *arguments])

    def cursors(self) -> dict[str, str]:
        rows = self._dynamodb.scan(TableName=self.tables["shards"])["Items"]
        return {row["partitionId"]["S"]: row["cursor"]["S"] for row in rows if row["partitionId"]["S"].startswith("p")}

    @contextmanager
    def successor(self, former: Scheduler) -> Iterator[Scheduler]:
        """A scheduler on the copies, with a clock that goes on, and queues of its own."""
        sqs = self._running.client("sqs", self._account)
        named = {f"{kind}_table": name for kind, name in self.tables.items()}
        queues = ("release", "release_dead_letter", "ordered_release", "ordered_release_dead_letter")
        urls = {f"{one}_queue_url": sqs.create_queue(QueueName=f"{one}-new")["QueueUrl"] for one in queues}
        settings = former._settings.with_(**named, **urls)
        session = forgetful_session(self._account)
        meter = Meter(session)
        aws = Aws(session, endpoint_url=self._running.endpoint_url, meter=meter.capacity)
        try:
            targets = MemoryTargets(former.clock, None)
            source = EventSource(aws, settings.release_queue_url)
            yield Scheduler(aws, settings, meter, former.clock, targets, source)
        finally:
            aws.close()


def created(at_work: Scheduler, due_at: int, record: str) -> str:
    target = {"type": "http", "url": "https://example.com/hook"}
    job = {"schedule": {"at": to_text(due_at)}, "target": target, "payload": {}, "record": record}
    answer: dict[str, Any] = at_work.request("POST", "/v1/jobs", {"clientId": CLIENT, **job})
    return str(answer["jobId"])


def run(at_work: Scheduler, minutes: int) -> None:
    for _ in range(minutes):
        begun = at_work.clock.at
        at_work.tick()
        at_work.deliver(until=begun + MINUTE_MS)
        at_work.clock.hold_until(begun + MINUTE_MS)


def jobs_of(at_work: Scheduler) -> Counter[str]:
    return Counter(delivery.job_id for delivery in at_work.delivered)


@pytest.fixture
def drill(emulator: Emulator, account: Credentials, monkeypatch: pytest.MonkeyPatch) -> Drill:
    """A drill in an account of its own."""
    return Drill(emulator, account, monkeypatch)


def test_nothing_is_lost_and_what_has_a_record_does_not_come_twice(
    drill: Drill, emulator: Emulator, account: Credentials, capsys: pytest.CaptureFixture[str]
) -> None:
    with scheduler(emulator, account, shards=SHARDS) as (former, _):
        begun = former.clock.at
        ids = {
            (name, record): created(former, begun + minutes * MINUTE_MS, record)
            # The tables are copied after five minutes. By then pollers have released four minutes more.
            for name, minutes in {"done": 3, "released": 7, "waiting": 30}.items()
            for record in ("full", "none")
        }
        run(former, 5)
        assert jobs_of(former) == Counter({ids["done", record]: 1 for record in ("full", "none")})
        drill.copy(former.clock.at)
        lost = created(former, former.clock.at + 3 * MINUTE_MS, "full")
        run(former, 5)
        assert jobs_of(former)[ids["released", "full"]] == jobs_of(former)[lost] == 1

        cursors = drill.cursors()
        assert drill.restore("--check") == 0
        assert drill.cursors() == cursors
        told = capsys.readouterr().out
        # Done and released, each once with a record and once without.
        assert f"{SHARDS} go back, 4 occurrences come once more, 2 of them without a record" in told
        assert drill.restore() == 0
        assert all(drill.cursors()[shard] < cursor for shard, cursor in cursors.items())
        assert drill.restore() == 0
        assert "0 cursors went back" in capsys.readouterr().out

        with drill.successor(former) as successor:
            run(successor, 30)
            came = jobs_of(successor)
    assert came == Counter(
        {
            # No record told that it had been delivered.
            ids["done", "none"]: 1,
            # In the queue that is gone; after the instant it had been delivered, which the copies do not know.
            **{ids["released", record]: 1 for record in ("full", "none")},
            **{ids["waiting", record]: 1 for record in ("full", "none")},
        }
    )


def test_without_it_what_lay_in_the_queue_is_lost(drill: Drill, emulator: Emulator, account: Credentials) -> None:
    """Why cursors have to go back: the test above would show nothing if they did not."""
    with scheduler(emulator, account, shards=SHARDS) as (former, _):
        released = created(former, former.clock.at + 7 * MINUTE_MS, "full")
        run(former, 5)
        drill.copy(former.clock.at)
        with drill.successor(former) as successor:
            run(successor, 10)
            assert released not in jobs_of(successor)


def test_tables_that_have_been_at_work_are_left_alone(
    drill: Drill, emulator: Emulator, account: Credentials, capsys: pytest.CaptureFixture[str]
) -> None:
    with scheduler(emulator, account, shards=SHARDS) as (former, _):
        run(former, 2)
        drill.copy(former.clock.at)
        cursors = drill.cursors()
        assert drill.restore(at=former.clock.at - 60 * MINUTE_MS) == 1
        assert drill.cursors() == cursors
    assert "these tables have been at work since" in capsys.readouterr().out
