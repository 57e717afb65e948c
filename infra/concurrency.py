"""How many deliverers may run at once, divided among the event sources that start them.

Lambda starts as many deliverers for a queue as that queue's event source may have. Without a bound a herd would take
all concurrency of the account: from the api, the sweeper, and the functions of others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

#: Bounds of an event source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
LEAST, MOST = 2, 1_000
#: Deliverers that one provisioned poller keeps busy at most, see the same page.
OF_A_POLLER = 10
#: Ordered jobs have one part in so many of the deliverers, and messages to the ingester come on top with another.
ORDERED_PART, INGESTER_PART = 5, 10


@dataclass(frozen=True)
class Shares:
    """The Lambdas that run at once: of each plain release queue, of the ordered one, and of the ingester."""

    plain: int
    ordered: int
    ingester: int


def shares(deliverers: int, queues: int) -> Shares:
    """Divide deliverers among plain queues and the ordered one. A share below LEAST cannot be deployed."""
    ordered = max(LEAST, min(deliverers // ORDERED_PART, deliverers - LEAST * queues))
    return Shares((deliverers - ordered) // queues, ordered, max(LEAST, deliverers // INGESTER_PART))


def faults(deliverers: int, queues: int, pollers: int) -> Iterator[str]:
    """Why deliverers cannot be divided among so many plain queues, each with so many provisioned pollers."""
    plain = shares(deliverers, queues).plain
    if plain < LEAST:
        few = f"{deliverers} is too few for {queues} release queues"
        yield f"delivererConcurrency: {few}: give at least {LEAST * (queues + 1)}"
    if plain > MOST and not pollers:
        many = f"{deliverers} is {plain} for each plain release queue, and Lambda runs {MOST} for one"
        yield f"delivererConcurrency: {many}: raise releaseQueues, or give queuePollers"
    if pollers * OF_A_POLLER > max(plain, LEAST * OF_A_POLLER):
        many = f"{pollers} pollers of each plain release queue run {pollers * OF_A_POLLER} deliverers"
        yield f"queuePollers: {many}, more than its {plain}: raise delivererConcurrency"
