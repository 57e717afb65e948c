"""The codec of rows, messages and records: one byte for the format, then MessagePack.

A reader ignores fields that it does not know, and refuses a format above its own. A change that an older reader must
not ignore therefore gets a new format. A value is written in the first format that has all of it. Format 1 has
everything but workflows: format 2 has their targets, their runs and their nodes.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.executions import Execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.named_jobs import NamedJob, Pointer, Turnstile
from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.domain.pools.pool import Pool
from clockwork.domain.pools.presence import Present
from clockwork.domain.releases import Check, Deliver, Release, Watch
from clockwork.domain.requests.activity import Counts
from clockwork.domain.requests.operations import Operation
from clockwork.domain.requests.trail import Entry
from clockwork.domain.storage.packed import Packed, pack, unpack
from clockwork.domain.workflows.definition import WorkflowTarget

#: The newest format that this version of Clockwork reads.
FORMAT = 2
#: A compressed list has so many bytes at the most: far more than a row that anybody writes.
MOST_PRESSED_BYTES = 4 * 1024 * 1024
Element = Occurrence | Release | Pointer
_Stored = Occurrence | Deliver | Watch | Check | Pointer
Decoded = TypeVar("Decoded")
#: The values that have a blob of their own.
Stored = TypeVar("Stored", Execution, Client, NamedJob, Entry, Operation, Counts, Pool, Checkpoint, Turnstile, Present)

_FIRST, _WITH_WORKFLOWS = bytes([1]), bytes([FORMAT])
#: The first byte of MessagePack's maps of up to 15 fields: of a packed row, and of nothing else that a row can be.
_MAPS = range(0x80, 0x90)
#: The place in a message of msgspec: names of fields, which are ours, and brackets.
_PLACE = re.compile(r" - at `(\$[\w.\[\]]*)`\Z", re.ASCII)
_encoder = msgspec.msgpack.Encoder()


def encode_row(elements: Sequence[Element]) -> bytes:
    """The blob of a timeline row: a list of elements."""
    return _format_of(elements) + _encoder.encode(elements)


def encode_packed(occurrences: Mapping[int, Occurrence]) -> bytes:
    """The blob of a timeline row of many jobs, given by their place in the row."""
    return _format_of(occurrences.values()) + _encoder.encode(pack(occurrences))


def encode_pressed(elements: Sequence[Element]) -> bytes:
    """The blob of a timeline row that is hardly ever read: a list of elements, compressed."""
    return _format_of(elements) + _encoder.encode(zlib.compress(_encoder.encode(elements)))


def is_packed(blob: bytes) -> bool:
    """Whether a row's blob holds many jobs; it may still be undecodable."""
    return len(blob) > 1 and blob[1] in _MAPS


def decode_row(blob: bytes) -> dict[int, Element]:
    """The elements of a row's blob by their place in it. Raises NewerFormat or Undecodable."""
    stored: list[_Stored] | Packed | bytes = _decode(_row_decoder(), blob)
    if isinstance(stored, bytes):
        stored = _decode(_pressed_decoder(), _FIRST + _unpressed(stored))
    if isinstance(stored, list):
        return dict(enumerate(stored))
    try:
        return {**unpack(stored)}
    except ValueError as error:
        raise Undecodable(_told(error)) from None


def _unpressed(pressed: bytes) -> bytes:
    """The decompressed bytes. Raises Undecodable, also where they would be far too many."""
    press = zlib.decompressobj()
    try:
        found = press.decompress(pressed, MOST_PRESSED_BYTES)
    except zlib.error as error:
        raise Undecodable(_told(error)) from None
    if not press.eof:
        raise Undecodable("the compressed list has no end")
    return found


def encode_release(release: Release) -> str:
    """The body of a queue message that carries one release. It is base64, since SQS refuses some control characters."""
    return encode_message([release])


def encode_message(releases: Sequence[Release]) -> str:
    """The body of a queue message that carries these releases: one, or a bundle."""
    return base64.b64encode(_format_of(releases) + _encoder.encode(releases)).decode()


def decode_message(body: str) -> list[Deliver | Watch | Check]:
    """The releases in a message's body: one, or those of a bundle. Raises NewerFormat or Undecodable."""
    return _decode(_releases_decoder(), _unwrapped(body))


def decode_ticket(body: str) -> Deliver:
    """The one release in the body of a ticket, which asks for an attempt. Raises NewerFormat or Undecodable."""
    return _decode(_ticket_decoder(), _unwrapped(body))[0]


def _unwrapped(body: str) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except ValueError as error:
        raise Undecodable(f"not base64: {_told(error)}") from None


def encode(
    value: Execution | Client | NamedJob | Entry | Operation | Counts | Pool | Checkpoint | Turnstile | Present,
) -> bytes:
    """The blob of one value that is stored by itself, such as an execution's record, or an entry of a trail."""
    return _format_of((value,)) + _encoder.encode(value)


def decode(blob: bytes, kind: type[Stored]) -> Stored:
    """The value in a blob, of the `kind` that is expected there.

    Raises NewerFormat or Undecodable.
    """
    decoder: msgspec.msgpack.Decoder[Stored] = _decoder_of(kind)
    return _decode(decoder, blob)


def expect_rows() -> None:
    """Make what reads rows. A Lambda that reads little else does so at its start, when it has more CPU than later."""
    _row_decoder()


def expect_messages() -> None:
    """The same of what reads messages."""
    _releases_decoder()


# Each is made when it is first needed: no Lambda reads everything, and creates of jobs read next to nothing.


@cache
def _row_decoder() -> msgspec.msgpack.Decoder[list[_Stored] | Packed | bytes]:
    return msgspec.msgpack.Decoder(list[_Stored] | Packed | bytes)


@cache
def _pressed_decoder() -> msgspec.msgpack.Decoder[list[_Stored]]:
    return msgspec.msgpack.Decoder(list[_Stored])


@cache
def _releases_decoder() -> msgspec.msgpack.Decoder[list[Deliver | Watch | Check]]:
    return msgspec.msgpack.Decoder(list[Deliver | Watch | Check])


@cache
def _ticket_decoder() -> msgspec.msgpack.Decoder[tuple[Deliver]]:
    return msgspec.msgpack.Decoder(tuple[Deliver])


@cache
def _decoder_of(kind: type[Any]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind)


def _format_of(values: Iterable[object]) -> bytes:
    """The first format that has all of these values."""
    for value in values:
        if _is_of_workflow(value):
            return _WITH_WORKFLOWS
    return _FIRST


def _is_of_workflow(value: object) -> bool:
    """Whether an older reader would mistake the value for that of another job."""
    if isinstance(value, Occurrence):
        return type(value.target) is WorkflowTarget
    if isinstance(value, Release):
        return value.of.node is not None or _is_of_workflow(value.occurrence)
    if isinstance(value, Execution):
        return value.kept.node is not None or _is_of_workflow(value.kept.occurrence)
    return isinstance(value, NamedJob) and type(value.definition.target) is WorkflowTarget


def _decode(decoder: msgspec.msgpack.Decoder[Decoded], blob: bytes) -> Decoded:
    if not blob:
        raise Undecodable("empty")
    if blob[0] == 0:
        raise Undecodable("no format")
    if blob[0] > FORMAT:
        raise NewerFormat(f"format {blob[0]}, this version reads up to {FORMAT}")
    try:
        return decoder.decode(blob[1:])
    except (msgspec.DecodeError, ValueError) as error:
        raise Undecodable(_told(error)) from None


def _told(error: Exception) -> str:
    """The kind and place of an error: a library's own words may quote what is stored, and end in a log."""
    place = _PLACE.search(str(error))
    return type(error).__name__ + (f" at {place[1]}" if place is not None else "")
