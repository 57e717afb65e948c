"""HTTP deliveries of workflows' nodes: the answer becomes the result."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
import pytest

from clockwork.aws.targets.http import HttpTransport
from clockwork.domain.jobs import NodeOf
from clockwork.domain.runs.results import TOO_LARGE
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import LARGEST_RESULT
from tests.contract.receiver import Receiver, WallClock, answer, answering, delivery_to
from tests.contract.test_targets_http import NamedSecrets

OF = NodeOf("job.1700000000000.0", "check")
LARGEST = json.dumps("x" * (LARGEST_RESULT - 2)).encode()


@pytest.fixture
def transport() -> Iterator[HttpTransport]:
    transport = HttpTransport(WallClock(), NamedSecrets())
    yield transport
    transport.close()


@pytest.mark.parametrize(
    ("body", "result", "error"),
    [
        (b'{"risk":"high"}', b'{"risk":"high"}', None),
        (LARGEST, LARGEST, None),
        (b'"' + LARGEST[:-1] + b'x"', None, TOO_LARGE),
        (b"thanks", None, "its answer is not JSON"),
        (b"", None, None),
    ],
)
def test_the_body_of_an_answer_to_a_node_is_its_result(
    transport: HttpTransport, body: bytes, result: bytes | None, error: str | None
) -> None:
    with Receiver(answering(answer("200 OK", body))) as receiver:
        target = HttpTarget(f"http://127.0.0.1:{receiver.port}/", private=True)
        plain = delivery_to(target)
        outcome = transport.deliver(msgspec.structs.replace(plain, node=OF))
        assert (outcome.status_code, outcome.answer, outcome.error) == (200, result, error)
        # The answer to any other job is not kept.
        assert transport.deliver(plain).answer is None
    node, other = (request.headers for request in receiver.requests)
    assert (node["clockwork-run"], node["clockwork-node"]) == (OF.run, OF.name)
    assert "clockwork-run" not in other
