"""The benchmark of order finds inversions and lost jobs when the queue is broken, and none when it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from bench.order import Run
from clockwork.memory.ordered_queue import MemoryOrderedQueue
from clockwork.memory.queue import Message
from infra import ROOT


def test_nothing_is_out_of_order_or_lost_though_much_goes_wrong() -> None:
    found = Run(600, seed=2).go()
    assert (found["jobs"], found["inversions"], found["lost"]) == (600, 0, 0)
    assert all(count > 0 for count in found["injected"].values())


@pytest.mark.nightly
def test_a_queue_that_locks_no_groups_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    receive = MemoryOrderedQueue.receive

    def unlocked(queue: MemoryOrderedQueue, limit: int = 10) -> Sequence[Message]:
        visible = {key: one for key, one in queue.messages.items() if one.visible_at <= queue._world.at}
        everything, queue.messages = queue.messages, visible
        received = receive(queue, limit)
        queue.messages = {**everything, **queue.messages}
        return received

    monkeypatch.setattr(MemoryOrderedQueue, "receive", unlocked)
    assert Run(5_000, seed=2).go()["inversions"] > 0


def test_releases_that_go_missing_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    put, count = MemoryOrderedQueue.put, iter(range(10**9))

    def forgetful(queue: MemoryOrderedQueue, body: str, group: str, dedup: str) -> None:
        if next(count) % 100:
            put(queue, body, group, dedup)

    monkeypatch.setattr(MemoryOrderedQueue, "put", forgetful)
    assert Run(600, seed=2).go()["lost"] > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed_of_hashes", ["1", "2"])
def test_a_run_follows_from_its_seed_alone(seed_of_hashes: str) -> None:
    command = [sys.executable, "-m", "bench.order", "--json", "--jobs", "1000", "--seed", "3"]
    environment = {**os.environ, "PYTHONHASHSEED": seed_of_hashes}
    ran = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    assert json.loads(ran.stdout) == Run(1_000, seed=3).go()
