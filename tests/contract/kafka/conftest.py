"""The clusters of the contract of Kafka: a broker that is no mock, and librdkafka's mock, which fails on demand.

Tansu differs from Kafka in these ways, on which no test here may rely:

- A topic that is not there is made by the first message to it.
- A group of consumers begins half of its members' session timeout after the first one came.
- The end of a partition, asked for by ListOffsets, is the first offset of its last batch and one more.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kafka.cluster import Topics, kafka_cluster
from tests.support.kafka.tansu import tansu


@pytest.fixture(scope="module", params=["mock", "tansu"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Topics]:
    """Each test runs on both, unless it names one: a test with faults names the mock."""
    with (kafka_cluster if request.param == "mock" else tansu)() as running:
        yield running
