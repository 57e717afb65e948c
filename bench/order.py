"""Checks that ordered jobs keep their order while attempts fail, processes crash and messages come twice.

20,000 jobs of 500 keys go through the shipped flows on the ports in memory, in virtual time. Half of each key's jobs
are due within one second, several at one instant. The ordered queue keeps the rules of SQS. A message group is locked
while one of its messages is in flight, and a message that was sent within the last five minutes is not taken again.

An inversion is an attempt that begins while an earlier job of its key has not ended. A job is lost if it neither was
accepted nor ended otherwise. Duplicates are acceptances beyond the first: a crash between answer and record costs one.

    python -m bench.order [--json] [--docs] [--jobs N] [--seed N]

The table goes to standard error, with --docs also into docs/performance.md; the last line of standard output is one
JSON object. A few seconds.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.reporting.report import publish
from bench.reporting.tables import paragraph
from clockwork.domain.clients import Client
from clockwork.domain.executions import Outcome, State
from clockwork.domain.ids import only_execution
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Deliver, Delivery, Of, Release
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

JOBS = 20_000
KEYS = 500
PER_REQUEST = 500
BURST_MS = 1_000
SPAN_MS = 900_000
FAILING = 0.08
CRASHING = 0.001
ACK_LOST = 0.01
#: How much later some releases are sent once more (ms): the queue has then forgotten that they were sent.
AGAIN_MS = 320_000
SENT_AGAIN = 0.02
CLIENT = Client(client_id="bench", principals=("arn:aws:iam::123456789012:user/bench",))
TARGET = HttpTarget("https://example.com/hook")
POLICY = RetryPolicy(max_attempts=20, backoff="fixed", initial_seconds=2, jitter="none", max_age_seconds=43_200)
#: Calls at which a process may die, before or after they act.
CRASH_AT = ("executions", "timeline", "shards", "releases", "visibility", "targets")


class Crashed(Exception):
    """The process died here."""


class Fragile:
    """A port at whose calls the process may die, before or after the call acts."""

    def __init__(self, port: Any, dies: Callable[[], bool]) -> None:
        self._port = port
        self._dies = dies

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = getattr(self._port, method)

        def fragile(*args: Any, **kwargs: Any) -> Any:
            if self._dies():
                raise Crashed
            answer = call(*args, **kwargs)
            if self._dies():
                raise Crashed
            return answer

        return fragile


class Place:
    """One job's place in the order of its key, and how often it was accepted."""

    def __init__(self, job_id: str, due_at: int, sequence: int) -> None:
        self.job_id = job_id
        self.order = (due_at, sequence)
        self.accepted = 0


class Run:
    """One run of the benchmark; its whole course follows from the seed."""

    def __init__(self, jobs: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._clockwork = MemoryClockwork(Settings.for_local().with_(ordered_shards=16), answer=self._answer)
        self._clockwork.clients.put(CLIENT)
        self._sound = self._clockwork.world
        frail: dict[str, Any] = {name: Fragile(getattr(self._sound, name), self._dies) for name in CRASH_AT}
        self._frail = self._sound.with_(**frail)
        self._jobs = jobs
        self._lines: dict[str, list[Place]] = {}
        self._ended: Counter[str] = Counter()
        self._places: dict[str, tuple[str, int]] = {}
        self._again: list[tuple[int, Release]] = []
        self.injected: Counter[str] = Counter(failures=0, redeliveries=0, crashes=0)
        self.inversions = 0
        self.attempts = 0

    def go(self) -> dict[str, Any]:
        """Carry the run out, and return its figures."""
        self._create()
        began_at = self._clockwork.clock.at
        while self._is_busy(began_at):
            self._step()
        places = [place for line in self._lines.values() for place in line]
        return {
            "jobs": len(places),
            "inversions": self.inversions,
            "lost": sum(not self._has_ended(place) for place in places),
            "duplicates": sum(max(0, place.accepted - 1) for place in places),
            "injected": dict(self.injected),
        }

    # The jobs.

    def _create(self) -> None:
        wanted = [self._job(number) for number in range(self._jobs)]
        self._random.shuffle(wanted)
        partitions = ensure_shards(self._sound)
        for first in range(0, len(wanted), PER_REQUEST):
            jobs = [NewJob(**{**job, "index": index}) for index, job in enumerate(wanted[first : first + PER_REQUEST])]
            created = create_jobs(self._sound, CreateRequest(client=CLIENT, jobs=tuple(jobs)), partitions)
            for job, accepted in zip(jobs, created, strict=True):
                place = Place(accepted.job_id, accepted.due_at, job.sequence)
                self._lines.setdefault(job.ordering_key or "", []).append(place)
        for key, line in self._lines.items():
            line.sort(key=lambda place: place.order)
            self._places |= {place.job_id: (key, number) for number, place in enumerate(line)}

    def _job(self, number: int) -> dict[str, Any]:
        key = number % KEYS
        in_burst = number // KEYS % 2 == 0
        began_at = self._clockwork.clock.at + 60_000
        burst_at = began_at + SPAN_MS * key // KEYS
        # Tenths of a second: several jobs of a key share an instant. Their sequence orders them, and no two share that.
        at = (
            burst_at + self._random.randrange(0, BURST_MS, 100)
            if in_burst
            else began_at + self._random.randrange(SPAN_MS)
        )
        payload = Payload(b"%d" % number)
        return {
            "target": TARGET, "payload": payload, "at": at, "retry_policy": POLICY,
            "ordering_key": f"key-{key}", "sequence": self._random.randrange(2**32) * KEYS + number,
        }  # fmt: skip

    # Time.

    def _is_busy(self, began_at: int) -> bool:
        is_due_later = self._clockwork.clock.at < began_at + 60_000 + SPAN_MS
        return is_due_later or bool(self._clockwork.ordered_queue.messages) or bool(self._again)

    def _step(self) -> None:
        clockwork, now = self._clockwork, self._clockwork.clock.at
        for partition_id, due_at in clockwork.ordered_due().items():
            if due_at <= now:
                self._in_a_process(lambda p=partition_id: clockwork.poll(p))  # type: ignore[misc]
        self._send_again(now)
        while (visible_at := clockwork.ordered_queue.next_visible_at()) is not None and visible_at <= now:
            held = dict(clockwork.ordered_queue.messages)
            self._in_a_process(clockwork.deliver_ordered)
            self._forget_acknowledgements(held)
            if clockwork.clock.at > now:
                break
        clockwork.clock.at = max(clockwork.clock.at, now + 100)

    def _in_a_process(self, work: Callable[[], object]) -> None:
        self._clockwork.world = self._frail
        try:
            work()
        except Crashed:
            self.injected["crashes"] += 1
            self._clockwork.targets.collect()  # attempts that were under way end with the process
        finally:
            self._clockwork.world = self._sound

    # The faults.

    def _dies(self) -> bool:
        return self._random.random() < CRASHING

    def _forget_acknowledgements(self, held: dict[str, Any]) -> None:
        """Put some deleted messages back, as if SQS had lost the deletes: they come back after their visibility."""
        queue = self._clockwork.ordered_queue
        for message_id in [one for one in held if one not in queue.messages]:
            if self._random.random() < ACK_LOST:
                self.injected["redeliveries"] += 1
                queue.messages[message_id] = held[message_id]

    def _send_again(self, now: int) -> None:
        due = [release for at, release in self._again if at <= now]
        self._again = [(at, release) for at, release in self._again if at > now]
        self.injected["redeliveries"] += len(due)
        self._sound.releases.send(due, now)

    def _answer(self, delivery: Delivery) -> Outcome:
        now = self._clockwork.clock.at
        self.attempts += 1
        self._judge(delivery)
        if self._random.random() < SENT_AGAIN:
            release = Deliver(Of(delivery.job_id), delivery.occurrence, delivery.occurrence.due_at)
            self._again.append((now + AGAIN_MS, release))
        if self._random.random() < FAILING:
            self.injected["failures"] += 1
            return Outcome(State.FAILED, now, now, error="HTTP 500")
        key, number = self._places[delivery.job_id]
        self._lines[key][number].accepted += 1
        return Outcome(State.SUCCEEDED, now, now, status_code=200)

    # The checks.

    def _judge(self, delivery: Delivery) -> None:
        key, number = self._places[delivery.job_id]
        line = self._lines[key]
        while self._ended[key] < len(line) and self._has_ended(line[self._ended[key]]):
            self._ended[key] += 1
        self.inversions += self._ended[key] < number

    def _has_ended(self, place: Place) -> bool:
        record = self._sound.executions.find(place.job_id, only_execution(place.job_id, place.order[0]))
        return record is not None and record.is_final


def page(found: Mapping[str, Any], attempts: int) -> str:
    """The block in the documentation. Virtual time is the same on every machine, so the block names none."""
    wrong = found["injected"]
    return paragraph(
        f"{found['jobs']:,} jobs of {KEYS} keys, {attempts:,} attempts: {wrong['failures']:,} failed, "
        f"{wrong['crashes']:,} crashes, {wrong['redeliveries']:,} redeliveries. Out of order: {found['inversions']:,}; "
        f"lost: {found['lost']:,}; delivered twice: {found['duplicates']:,}."
    )


def main(arguments: Sequence[str]) -> int:
    """Run and print the figures; returns 1 if an order was broken or a job lost."""
    parser = argparse.ArgumentParser(prog="python -m bench.order", description=__doc__)
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/performance.md")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    run = Run(options.jobs, options.seed)
    found = run.go()
    if not options.json:
        print(page(found, run.attempts), file=sys.stderr)
    if options.docs:
        publish("order", page(found, run.attempts))
    print(json.dumps(found))
    return int(found["inversions"] > 0 or found["lost"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
