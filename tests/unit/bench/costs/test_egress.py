"""The bytes of a webhook that leave: counted on the wire, for a real handshake and a real request."""

from __future__ import annotations

import pytest

from bench.costs.egress import HEADER_BYTES, SEGMENTS, sent_bytes

#: A handshake, and the headers of a signed webhook.
LEAST = 600


def test_a_webhook_is_its_payload_its_headers_and_a_handshake() -> None:
    small, large = map(sent_bytes, (200, 1_224))
    # A record of TLS holds either, so the payload alone makes the difference, with a digit of its length.
    assert large - small == pytest.approx(1_024, abs=4)
    assert LEAST + 200 + SEGMENTS * HEADER_BYTES < small < 4_000
