"""How occurrences travel in rows and messages, and how records are kept: a format version, then MessagePack.

Readers ignore fields that they do not know; what an older reader must not ignore gets a new format version.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.executions import Execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.named import NamedJob, Pointer
from clockwork.domain.releases import Release

FORMAT = 1
Element = Occurrence | Release | Pointer
Decoded = TypeVar("Decoded")

_encoder = msgspec.msgpack.Encoder()
_row_decoder = msgspec.msgpack.Decoder(list[Element])
_release_decoder = msgspec.msgpack.Decoder(Release)
_execution_decoder = msgspec.msgpack.Decoder(Execution)
_client_decoder = msgspec.msgpack.Decoder(Client)
_job_decoder = msgspec.msgpack.Decoder(NamedJob)


def encode_row(elements: Sequence[Element]) -> bytes:
    """The blob of a timeline row: a list of what is due, from the first day."""
    return bytes([FORMAT]) + _encoder.encode(list(elements))


def decode_row(blob: bytes) -> list[Element]:
    """The elements of a row's blob. Raises NewerFormat or Undecodable."""
    return _decode(_row_decoder, blob)


def encode_release(release: Release) -> str:
    """The body of a queue message. base64, since SQS refuses some control characters."""
    return base64.b64encode(bytes([FORMAT]) + _encoder.encode(release)).decode()


def decode_release(body: str) -> Release:
    """The release in a message's body. Raises NewerFormat or Undecodable."""
    try:
        blob = base64.b64decode(body, validate=True)
    except ValueError as error:
        raise Undecodable(f"not base64: {error}") from None
    return _decode(_release_decoder, blob)


def encode_execution(execution: Execution) -> bytes:
    """The blob of an execution's record."""
    return bytes([FORMAT]) + _encoder.encode(execution)


def decode_execution(blob: bytes) -> Execution:
    """The execution in a record's blob. Raises NewerFormat or Undecodable."""
    return _decode(_execution_decoder, blob)


def encode_client(client: Client) -> bytes:
    """The blob of a client's definition."""
    return bytes([FORMAT]) + _encoder.encode(client)


def decode_client(blob: bytes) -> Client:
    """The client in a definition's blob. Raises NewerFormat or Undecodable."""
    return _decode(_client_decoder, blob)


def encode_job(job: NamedJob) -> bytes:
    """The blob of a named job."""
    return bytes([FORMAT]) + _encoder.encode(job)


def decode_job(blob: bytes) -> NamedJob:
    """The job in a named job's blob. Raises NewerFormat or Undecodable."""
    return _decode(_job_decoder, blob)


def _decode(decoder: msgspec.msgpack.Decoder[Decoded], blob: bytes) -> Decoded:
    if not blob:
        raise Undecodable("empty")
    if blob[0] > FORMAT:
        raise NewerFormat(f"format {blob[0]}, this version reads up to {FORMAT}")
    try:
        return decoder.decode(blob[1:])
    except (msgspec.DecodeError, ValueError) as error:
        raise Undecodable(str(error)) from None
