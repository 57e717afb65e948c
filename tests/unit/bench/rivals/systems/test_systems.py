"""The systems themselves: each has a name of its own and says its settings; Clockwork in memory runs as a process."""

from __future__ import annotations

import time
from pathlib import Path

from bench.rivals.__main__ import SYSTEMS
from bench.rivals.judging.load import Job
from bench.rivals.running.receiver import RunReceiver
from bench.rivals.running.usage import tree
from bench.rivals.systems.clockwork_local import ClockworkInMemory


def test_each_has_a_name_of_its_own_and_says_its_settings() -> None:
    assert len({kind.name for kind in SYSTEMS}) == len(SYSTEMS) == 6
    assert all(len(kind.said) > 100 for kind in SYSTEMS)
    assert [kind.name for kind in SYSTEMS if kind.note == "not durable"] == ["clockwork_memory"]


def test_clockworks_flows_in_memory_deliver_each_job_once_and_forget_all_with_the_process(tmp_path: Path) -> None:
    system = ClockworkInMemory(tmp_path)
    with RunReceiver() as receiver:
        try:
            system.start(receiver.port)
            soon, later = time.time_ns() // 1_000_000 + 1_500, time.time_ns() // 1_000_000 + 3_600_000
            urls = [receiver.url(Job(number, soon)) for number in range(12)]
            assert system.create([(url, soon) for url in urls[:6]]) > 0
            system.create([(url, soon) for url in urls[6:]], together=True)
            system.create([(receiver.url(Job(99, later)), later)])
            deadline = time.monotonic() + 60
            while len(receiver.runs(range(100))) < len(urls) and time.monotonic() < deadline:
                time.sleep(0.05)
            runs = receiver.runs(range(100))
            assert {number: len(some) for number, some in runs.items()} == dict.fromkeys(range(12), 1)
            assert min(some[0].began_at for some in runs.values()) >= soon
            system.kill(workers_alone=False)
            system.restart(workers_alone=False)
            assert system.usage().memory_bytes > 1_000_000
        finally:
            pids = list(system._roots.values())
            system.stop()
        assert tree(pids) == []
