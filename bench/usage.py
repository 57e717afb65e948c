"""What was used, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from bench import prices


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Billed units, of a run or per job. `sqs_consumed` are receives and deletes."""

    write_units: float
    read_units: float
    sqs_sends: float
    sqs_consumed: float
    lambda_invocations: float
    api_requests: float

    def since(self, earlier: Usage) -> Usage:
        """What was used after `earlier`."""
        return Usage(**{name: amount - getattr(earlier, name) for name, amount in vars(self).items()})

    def per_job(self, jobs: int) -> Usage:
        """The same, shared among `jobs`."""
        return Usage(**{name: amount / jobs for name, amount in vars(self).items()})

    @property
    def sqs_requests(self) -> float:
        """All requests to SQS."""
        return self.sqs_sends + self.sqs_consumed

    @property
    def dollars_per_million(self) -> float:
        """The price of a million times this usage, without the HTTP API in front of it and without fair queues."""
        return (
            self.write_units * prices.WRITE_UNIT
            + self.read_units * prices.READ_UNIT
            + self.sqs_requests * prices.SQS_REQUEST
            + self.lambda_invocations * prices.LAMBDA_REQUEST
        )

    @property
    def api_dollars_per_million(self) -> float:
        """What the HTTP API asks in addition."""
        return self.api_requests * prices.HTTP_API_REQUEST

    def as_json(self) -> dict[str, float]:
        """The figures that a reader compares."""
        return {
            "writeUnits": round(self.write_units, 4),
            "readUnits": round(self.read_units, 4),
            "sqsRequests": round(self.sqs_requests, 4),
            "lambdaInvocations": round(self.lambda_invocations, 4),
        }
