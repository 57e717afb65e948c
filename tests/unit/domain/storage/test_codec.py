"""The codec of rows and messages: a version, then MessagePack. A reader refuses anything else instead of guessing."""

from __future__ import annotations

import base64

import msgspec
import pytest

from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Release
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import releases_of, row_of
from clockwork.targets.http import HttpTarget
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import NOW, occurrence, release, release_in


def test_a_row_gives_back_its_elements_of_every_kind() -> None:
    elements: list[Occurrence | Release] = [
        occurrence(target=HttpTarget("https://example.com", headers={"a": "b"})),
        occurrence(target=SqsTarget("arn:aws:sqs:us-east-1:111111111111:q"), record="none"),
        release(attempt=2, run_at=NOW + 5000),
    ]
    assert codec.decode_row(codec.encode_row(elements)) == dict(enumerate(elements))


def test_a_message_gives_back_its_release() -> None:
    sent = release(attempt=3, sweeps=1)
    assert release_in(codec.encode_release(sent)) == sent


def test_a_newer_format_is_told_from_nonsense() -> None:
    newer = bytes([codec.FORMAT + 1]) + b"whatever"
    with pytest.raises(NewerFormat):
        codec.decode_row(newer)
    with pytest.raises(NewerFormat):
        codec.decode_message(base64.b64encode(newer).decode())
    for blob in (b"", bytes([codec.FORMAT]), bytes([codec.FORMAT]) + b"\xff", b"\0" + codec.encode_row([])[1:]):
        with pytest.raises(Undecodable):
            codec.decode_row(blob)
    with pytest.raises(Undecodable):
        codec.decode_message("not base64!")
    sent = codec.encode_release(release())
    with pytest.raises(Undecodable):
        codec.decode_message(f"{sent[:8]}!{sent[8:]}")


def test_unknown_fields_of_another_version_are_ignored() -> None:
    plain = msgspec.msgpack.decode(codec.encode_row([occurrence()])[1:])
    plain[0] |= {"later": 1}
    assert codec.decode_row(bytes([codec.FORMAT]) + msgspec.msgpack.encode(plain)) == {0: occurrence()}


def test_a_small_job_fits_one_write_unit() -> None:
    row = row_of("p000", "1700000000000#" + "x" * 22, [occurrence()], NOW)
    assert len(row.blob) < 600


def test_cancelled_elements_are_not_released_and_a_retry_is_released_as_it_is() -> None:
    retry = release(attempt=4, run_at=NOW + 1_000_000)
    row = row_of("p001", "1700000000000#" + "x" * 22, [occurrence(), occurrence(), retry], NOW)
    marked = msgspec.structs.replace(row, cancelled=frozenset({0}))
    released = releases_of(marked)
    assert [r.attempt for r in released] == [1, 4]
    assert released[1] == retry
    assert released[0].job_id != releases_of(row)[0].job_id
