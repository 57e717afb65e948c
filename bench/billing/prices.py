"""Prices of AWS for all sums of the benchmarks: us-east-1, first tier, dollars, without free tiers.

DynamoDB as of 2026-09-23, SQS as of 2026-06, Lambda as of 2026-09-19, EventBridge, Step Functions, CloudWatch and the
HTTP API as of 2026-11; the service's own page wins wherever it differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infra.memory import DELIVERER_MEMORY_MB

_MILLION = 1_000_000
_GB = 10**9
_HOUR_SECONDS = 3_600

# Dollars per million.

#: https://aws.amazon.com/dynamodb/pricing/on-demand/ - write and read request units of the Standard class.
WRITE_UNIT = 0.625
READ_UNIT = 0.125
#: https://aws.amazon.com/sqs/pricing/ - standard queues; each 64 KB chunk of a request counts as one.
SQS_REQUEST = 0.40
#: Same page, fair queues: a surcharge for requests about messages with a message group. The sums add it to all three
#: requests of a message.
SQS_FAIR_SURCHARGE = 0.10
#: Same page: FIFO queues.
SQS_FIFO_REQUEST = 0.50
#: https://aws.amazon.com/lambda/pricing/ - requests.
LAMBDA_REQUEST = 0.20
#: https://aws.amazon.com/api-gateway/pricing/ - HTTP API, in front of every call of a client.
HTTP_API_REQUEST = 1.00
#: https://aws.amazon.com/eventbridge/pricing/ - invocations of EventBridge Scheduler; making a schedule is free.
SCHEDULER_INVOCATION = 1.00
#: https://aws.amazon.com/step-functions/pricing/ - state transitions of Standard workflows.
STATE_TRANSITION = 25.00

#: https://aws.amazon.com/lambda/pricing/ - operations of durable functions: each start, step and wait is one.
DURABLE_OPERATION = 8.00

# Dollars.

#: https://aws.amazon.com/lambda/pricing/ - a GB-second on arm64; a provisioned poller of an event source for an hour.
GB_SECOND = 0.0000133334
POLLER_HOUR = 0.00925
#: https://aws.amazon.com/cloudwatch/pricing/ - a month of an alarm, a month of a custom metric, a GB of ingested logs.
ALARM_MONTH = 0.10
METRIC_MONTH = 0.30
LOG_GB = 0.50
#: https://aws.amazon.com/ec2/pricing/on-demand/#Data_Transfer - a GB that leaves for the internet, the first ten TB of
#: a month: Lambda's traffic is billed as EC2's is.
EGRESS_GB = 0.09
#: https://aws.amazon.com/dynamodb/pricing/on-demand/ - a GB for a month, and its point-in-time recovery.
STORAGE_GB = 0.25
RECOVERY_GB = 0.20
#: https://aws.amazon.com/lambda/pricing/ - an event poller unit of a Kafka event source, which up to ten pollers share.
KAFKA_POLLERS_HOUR = 0.185
#: https://aws.amazon.com/msk/pricing/ - a cluster of MSK Serverless.
MSK_SERVERLESS_HOUR = 0.75
#: https://aws.amazon.com/privatelink/pricing/ - an interface endpoint in one zone.
ENDPOINT_HOUR = 0.01
#: https://aws.amazon.com/vpc/pricing/ - a NAT gateway.
NAT_HOUR = 0.045
#: https://aws.amazon.com/kms/pricing/ - a key of one's own.
KEY_MONTH = 1.00
#: https://aws.amazon.com/kms/pricing/ - a request for a key of AWS or of one's own, per million.
KMS_REQUEST = 3.00
#: https://aws.amazon.com/dynamodb/pricing/provisioned/ - an hour of one write, or read, a second.
PROVISIONED_WRITE_HOUR = 0.00065
PROVISIONED_READ_HOUR = 0.00013

#: How much of provisioned capacity is used on average. At 29% it costs as much as on-demand capacity.
UTILISATION = 0.70
#: How long a deliverer holds a batch until it is due, on average: messages come up to a second early, because SQS
#: delays whole seconds.
HOLD_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class Tariff:
    """The prices that depend on how a deployment chooses to pay, dollars per million."""

    write_unit: float = WRITE_UNIT
    read_unit: float = READ_UNIT
    sqs_request: float = SQS_REQUEST

    def per_million(self) -> Mapping[str, float]:
        """Dollars per million of each unit that is counted."""
        return {
            "writeUnits": self.write_unit,
            "readUnits": self.read_unit,
            "sqsRequests": self.sqs_request,
            "lambdaInvocations": LAMBDA_REQUEST,
            "heldBatches": HOLD_SECONDS * DELIVERER_MEMORY_MB / 1_024 * GB_SECOND * _MILLION,
            "apiRequests": HTTP_API_REQUEST,
            "logKilobytes": LOG_GB / _GB * 1_000 * _MILLION,
            "gbSeconds": GB_SECOND * _MILLION,
            "schedulerInvocations": SCHEDULER_INVOCATION,
            "stateTransitions": STATE_TRANSITION,
            "durableOperations": DURABLE_OPERATION,
        }

    def dollars_per_million(self, units: Mapping[str, float]) -> float:
        """The price of a million jobs that use so many units each."""
        prices = self.per_million()
        return sum(amount * prices[name] for name, amount in units.items())


def provisioned(dollars_per_hour: float, utilisation: float = UTILISATION) -> float:
    """Dollars per million units of capacity that is paid by the hour and used to such a share."""
    return dollars_per_hour / _HOUR_SECONDS / utilisation * _MILLION


_PROVISIONED = {
    "write_unit": provisioned(PROVISIONED_WRITE_HOUR),
    "read_unit": provisioned(PROVISIONED_READ_HOUR),
}
_FAIR = {"sqs_request": SQS_REQUEST + SQS_FAIR_SURCHARGE}
ON_DEMAND = Tariff()
#: The tariffs by the heads of their columns.
TARIFFS = {
    "on demand": ON_DEMAND,
    "on demand, fair queues": Tariff(**_FAIR),
    f"provisioned, {UTILISATION:.0%} used": Tariff(**_PROVISIONED),
    "provisioned, fair queues": Tariff(**_PROVISIONED, **_FAIR),
}
