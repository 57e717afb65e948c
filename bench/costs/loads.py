"""The loads of the curve: how jobs are created, how large they are, and the deployment that a rate asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.model.scenarios import DEFAULT, RATE_10K
from bench.model.world import Deployment

#: Jobs a second, as the keys of the result.
RATES: Mapping[str, float] = {"0.1": 0.1, "1": 1, "10": 10, "100": 100, "1000": 1_000, "10000": 10_000}
#: Bytes of a job's payload.
SIZES = (200, 1_024)
#: Jobs of a request: the most that the API takes.
JOBS_PER_BATCH = 500


@dataclass(frozen=True, kw_only=True)
class Way:
    """How jobs are created, and how they are recorded."""

    name: str
    says: str
    record: str
    jobs_per_request: int


WAYS = (
    Way(name="full_single", says="one a request, recorded", record="full", jobs_per_request=1),
    Way(name="full_batch", says="500 a request, recorded", record="full", jobs_per_request=JOBS_PER_BATCH),
    Way(name="none_single", says="one a request", record="none", jobs_per_request=1),
    Way(name="none_batch", says="500 a request", record="none", jobs_per_request=JOBS_PER_BATCH),
)

#: Rows that people run: a path and a rate, and what it is.
USUAL = (
    ("full_single", "1", "a shop's reminders"),
    ("full_single", "10", "timeouts of a service"),
    ("full_single", "100", "timeouts of a large service"),
    ("full_batch", "10", "some mailings a day"),
    ("full_batch", "1000", "mailings all day long"),
    ("none_batch", "1000", "refreshes that may come twice"),
)
USUAL_HEAD = "dollars per million jobs, everything included"


def deployment_for(per_second: float) -> Deployment:
    """The deployment that docs/performance.md advises for so many jobs a second."""
    return DEFAULT if per_second < 10_000 else RATE_10K
