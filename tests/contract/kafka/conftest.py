"""The clusters of the contract of Kafka: a broker that is no mock, and librdkafka's mock, which fails on demand.

No test here may rely on what docs/howto/kafka.md lists, in which that broker, Tansu, differs from Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kafka.cluster import Topics, kafka_cluster, tansu


@pytest.fixture(scope="module", params=["mock", "tansu"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Topics]:
    """Each test runs on both, unless it names one: a test with faults names the mock."""
    with (kafka_cluster if request.param == "mock" else tansu)() as running:
        yield running
