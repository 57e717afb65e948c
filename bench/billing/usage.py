"""The usage of AWS in billed units, and its price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.billing.prices import ON_DEMAND


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Billed units, of a run or per job.

    `sqs_consumed` counts receives and deletes. `held_batches` counts the deliverer's invocations, each of which holds
    its batch until the batch is due. `log_bytes` are those of the API's access log and of the Lambdas' lines.
    """

    write_units: float
    read_units: float
    sqs_sends: float
    sqs_consumed: float
    lambda_invocations: float
    held_batches: float
    api_requests: float
    log_bytes: float = 0.0

    def since(self, earlier: Usage) -> Usage:
        """The units that were used after `earlier`."""
        return Usage(**{name: amount - getattr(earlier, name) for name, amount in vars(self).items()})

    def plus(self, other: Usage) -> Usage:
        """The units of both."""
        return Usage(**{name: amount + getattr(other, name) for name, amount in vars(self).items()})

    def per_job(self, jobs: int) -> Usage:
        """The units per job, for so many jobs."""
        return Usage(**{name: amount / jobs for name, amount in vars(self).items()})

    @property
    def sqs_requests(self) -> float:
        """All requests to SQS."""
        return self.sqs_sends + self.sqs_consumed

    @property
    def dollars_per_million(self) -> float:
        """The price on demand of a million times the units of `as_json`, by `bench.billing.prices` and nothing else."""
        return ON_DEMAND.dollars_per_million(self.as_json())

    def as_json(self) -> Mapping[str, float]:
        """The units that a reader compares, by their names in `bench.billing.prices`."""
        return {
            "writeUnits": round(self.write_units, 4),
            "readUnits": round(self.read_units, 4),
            "sqsRequests": round(self.sqs_requests, 4),
            "lambdaInvocations": round(self.lambda_invocations, 4),
            "heldBatches": round(self.held_batches, 4),
            "apiRequests": round(self.api_requests, 4),
            "logKilobytes": round(self.log_bytes / 1_000, 4),
        }
