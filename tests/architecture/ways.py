"""`python -m tests.architecture.ways [--json] [--list WAY]`: how much code one job passes on each of its ways.

A profiler notes each call of a function of the core, over the adapters in memory, and warm: each way is walked once
before. A way has the distinct functions and files, and the file switches: calls of a function of another file than the
call before. The adapters in memory do not count, nor does code without a name of its own (`<listcomp>`, `<lambda>`).

    create          one anonymous job, by the flow behind the edge
    poll            a visit to its shard, which releases the job
    deliver         its webhook, record level `full`, at the first attempt
    deliver_named   one fire of a named job
    claim           a worker's claim of one ticket
    outcome         that worker's report

test_ways.py holds them to bounds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import msgspec

import clockwork
from clockwork.domain.executions import State
from clockwork.domain.pools.pool import Pool
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.pools.claim import Asked, Claimed, claim_for
from clockwork.flows.pools.reports import Ended, report_all
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.requests.reporting import Reported
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.pool import PoolTarget
from tests.support.examples import ACME, new_job, request
from tests.support.named import Named

CORE = Path(clockwork.__path__[0])
#: Long enough that the create leaves the job to the poller.
DELAY_MS = 200_000
#: The time before the job is due at which its shard is polled: within the lookahead.
AHEAD_MS = 60_000


class Way(NamedTuple):
    """The distinct functions and files of one way, in the order of their first calls, and its file switches."""

    functions: tuple[str, ...]
    files: tuple[str, ...]
    switches: int

    def as_json(self) -> dict[str, int]:
        """The three counts."""
        return {"functions": len(self.functions), "files": len(self.files), "switches": self.switches}


def walked(walk: Callable[[], Any]) -> Way:
    """The way of one call."""
    functions: dict[str, None] = {}
    files: dict[str, None] = {}
    switches = 0
    last: str | None = None

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal last, switches
        if event != "call" or (file := _core_file(frame)) is None:
            return
        functions[f"{file}: {frame.f_code.co_qualname}"] = None
        files[file] = None
        switches += last is not None and file != last
        last = file

    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return Way(tuple(functions), tuple(files), switches)


def _core_file(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    if frame.f_code.co_name.startswith("<") or not path.is_relative_to(CORE):
        return None
    file = path.relative_to(CORE)
    return None if file.parts[0] == "memory" else str(file)


def ways() -> dict[str, Way]:
    """Each way by its name."""
    return {**_of_a_webhook(), **_of_a_fire(), **_of_a_worker()}


def _warm(turn: Callable[[], dict[str, Way]]) -> dict[str, Way]:
    """The ways of the second turn: the first one reads what an environment keeps."""
    turn()
    return turn()


def _of_a_webhook() -> dict[str, Way]:
    made = MemoryClockwork(Settings.for_local().with_(shards=1))
    made.clients.put(ACME)

    def turn() -> dict[str, Way]:
        shards = ensure_shards(made.world)
        create = walked(lambda: create_jobs(made.world, request(new_job(delay_ms=DELAY_MS)), shards))
        made.clock.advance(DELAY_MS - AHEAD_MS)
        poll = walked(lambda: made.poll(shards[0]))
        made.clock.advance(AHEAD_MS)
        return {"create": create, "poll": poll, "deliver": walked(lambda: _deliver(made))}

    return _warm(turn)


def _of_a_fire() -> dict[str, Way]:
    made = Named(every_ms=DELAY_MS).clockwork
    made.clients.put(ACME)

    def turn() -> dict[str, Way]:
        _release(made)
        return {"deliver_named": walked(lambda: _deliver(made))}

    return _warm(turn)


def _of_a_worker() -> dict[str, Way]:
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal",)))
    pool = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)
    made.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",)))
    made.ticket_keys.make("k" * 22)
    job = new_job(delay_ms=DELAY_MS, target=PoolTarget("etl", "work", timeout_seconds=600))

    def turn() -> dict[str, Way]:
        create_jobs(made.world, request(job), ensure_shards(made.world))
        _release(made)
        (message,) = made.pool_queues.of("etl").receive(1)
        asked = [Asked(f"{made.clock.at:022}", message.body, message.message_id)]
        claims: list[Claimed] = []
        claim = walked(lambda: claims.extend(claim_for(made.world, pool, "w", ["work"], asked, made.clock.at + 29_000)))
        assert claims[0].start is not None
        ended = [Ended(claims[0].start.token, Reported(State.SUCCEEDED))]
        return {"claim": claim, "outcome": walked(lambda: report_all(made.world, pool, ended))}

    return _warm(turn)


def _release(made: MemoryClockwork) -> None:
    """Let time pass until the next occurrence is released and due."""
    made.clock.advance(DELAY_MS - AHEAD_MS)
    made.poll_all()
    made.clock.advance(AHEAD_MS)


def _deliver(made: MemoryClockwork) -> None:
    (received,) = made.queue.receive()
    message = Message(received.message_id, received.body, received.receive_count)
    report = deliver_batch(made.world, [message], made.clock.at + 60_000)
    assert report.succeeded == 1 and not report.failed_messages, report
    # Lambda deletes it: otherwise the next walk would meet it again, as a duplicate beside its own job.
    made.queue.delete(received.message_id)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.architecture.ways", description=__doc__.partition(":")[2])
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--list", metavar="WAY", help="the functions of a way, by file, in the order of their calls")
    chosen = parser.parse_args()
    found = ways()
    if chosen.list:
        print("\n".join(found[chosen.list].functions))
    elif chosen.json:
        print(json.dumps({name: way.as_json() for name, way in found.items()}))
    else:
        for name, way in found.items():
            print(f"{name:15}", *(f"{count:5} {noun}" for noun, count in way.as_json().items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
