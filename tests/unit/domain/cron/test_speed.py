"""The engine's cost as a ratio to cronsim's; both are interleaved in one run, so the machine's speed cancels out."""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim

from clockwork.domain.cron.engine import next_fire
from clockwork.domain.cron.parser import compile_cron
from tests.unit.domain.cron.agreement import EXPRESSIONS

ZONE = "America/New_York"
CALLS = 300
ROUNDS = 9


def test_a_call_costs_at_most_seven_tenths_of_cronsims() -> None:
    """Measures cronsim twice: built anew for each answer, as by a stateless caller, and asked for its next answer."""
    draw = random.Random(2026)
    expressions = [draw.choice(EXPRESSIONS) for _ in range(CALLS)]
    seconds = [draw.randrange(1_767_225_600, 1_893_456_000) for _ in range(CALLS)]
    moments = [datetime.fromtimestamp(second, UTC).astimezone(ZoneInfo(ZONE)) for second in seconds]
    plain = [e.replace("?", "*").replace("15W", "15").replace("@daily", "0 0 * * *") for e in expressions]
    plain = [e.replace("@hourly", "0 * * * *") for e in plain]
    compiled = [compile_cron(expression) for expression in expressions]
    iterators = [CronSim(expression, moment) for expression, moment in zip(plain, moments, strict=True)]
    instants = [second * 1000 for second in seconds]

    def ours() -> None:
        for cron, at in zip(compiled, instants, strict=True):
            next_fire(cron, ZONE, at)

    def anew() -> None:
        for expression, moment in zip(plain, moments, strict=True):
            next(CronSim(expression, moment))

    def iterated() -> None:
        for iterator in iterators:
            next(iterator)

    cost = cheapest(ours, anew, iterated)
    print(f"us per call: ours {cost[0]:.2f}, cronsim anew {cost[1]:.2f}, cronsim iterated {cost[2]:.2f}")
    assert cost[0] / cost[1] <= 0.7
    assert cost[0] / cost[2] <= 0.7


def cheapest(*tasks: Callable[[], None]) -> list[float]:
    """Microseconds per call of each task, the lowest of several interleaved rounds."""
    best = [float("inf")] * len(tasks)
    for _ in range(ROUNDS):
        for index, task in enumerate(tasks):
            started = time.process_time_ns()
            task()
            best[index] = min(best[index], (time.process_time_ns() - started) / CALLS / 1000)
    return best
