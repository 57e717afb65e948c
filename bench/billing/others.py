"""The cost of a million one-shot jobs with other schedulers, in the same units at the same prices.

It is the same for 200 bytes and for 1 KB, since none of them bills smaller steps than that. A consumer is taken to get
ten jobs at a time at any rate, which flatters them where jobs come one by one; logs and storage are left out.
The units of each are counted from its public documentation or source, for its least wasteful use. Servers and brokers
that its users run themselves are named and not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.billing.prices import ON_DEMAND

#: A consumer that reads jobs from an SQS queue, ten at a time: receives and deletes, and 256 MB for 30 ms a batch.
_CONSUMER_REQUESTS = 0.2
_CONSUMER = {"lambdaInvocations": 0.1, "gbSeconds": 0.1 * 0.030 * 256 / 1_024}


@dataclass(frozen=True, kw_only=True)
class Other:
    """Another scheduler, and the units that one job uses there, by the names of `bench.billing.prices`.

    `source`: the page from which they are counted.
    """

    name: str
    says: str
    source: str
    units: Mapping[str, float]

    @property
    def dollars_per_million(self) -> float:
        """The price of a million jobs on demand."""
        return ON_DEMAND.dollars_per_million(self.units)


OTHERS = (
    Other(
        name="EventBridge Scheduler to SQS",
        says="an invocation, its send, and a consumer that takes ten at a time; to the minute",
        source="https://aws.amazon.com/eventbridge/pricing/",
        units={"schedulerInvocations": 1, "sqsRequests": 1 + _CONSUMER_REQUESTS, **_CONSUMER},
    ),
    Other(
        name="Step Functions, wait state",
        says="two transitions: wait, send; the same consumer",
        source="https://aws.amazon.com/step-functions/pricing/",
        units={"stateTransitions": 2, "sqsRequests": 1 + _CONSUMER_REQUESTS, **_CONSUMER},
    ),
    Other(
        name="Lambda durable functions",
        says="three operations: start, wait, step; invoked twice, 256 MB for 30 ms each",
        source="https://aws.amazon.com/lambda/pricing/",
        units={"durableOperations": 3, "lambdaInvocations": 2, "gbSeconds": 2 * 0.030 * 256 / 1_024},
    ),
    Other(
        name="Airbnb's Dynein",
        says="put, acquire, delete; an eventual read; two queues, each message alone; its servers not counted",
        source="https://github.com/airbnb/dynein",
        units={"writeUnits": 3, "readUnits": 0.125, "sqsRequests": 6},
    ),
    Other(
        name="the original Clockwork",
        says="put, a copy when executed, delete; a strong read; its Kafka and its servers not counted",
        source="https://github.com/uttpal/clockwork",
        units={"writeUnits": 3, "readUnits": 0.25},
    ),
)
