"""The codec of rows, messages and records: one byte for the format version, then MessagePack.

Readers ignore fields that they do not know. A change that an older reader must not ignore gets a new format version.
Writers use the oldest format that can hold the value, so that while versions of Clockwork are mixed they can read as
much as possible of each other.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.executions import Execution, State
from clockwork.domain.jobs import Occurrence, PoolTarget
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.domain.pools.pool import Pool
from clockwork.domain.pools.presence import Present
from clockwork.domain.releases import Release
from clockwork.domain.requests.trail import Entry
from clockwork.domain.storage.packed import Packed, pack, unpack

#: The format versions: elements one after the other (PLAIN), or many in one (MANY), which is a packed row or a message
#: that carries several releases. HINTS: a list of elements, one of which has a hint in place of an occurrence, or a row
#: of a named job that hints need. A version that does not know hints must not deliver one.
PLAIN = 1
MANY = 2
HINTS = 3
#: As HINTS (COMPLETING) and as a packed row (MANY_COMPLETING), of what ends by a report under a token: of a receiver
#: to which a target delivered it, or of a worker of a pool.
#: The record of an attempt that is awaited has it, too. A version that knows no tokens must neither deliver nor change
#: it.
COMPLETING = 4
MANY_COMPLETING = 5
#: A compressed list of elements, in rows alone: many of nearly the same that are hardly ever read.
PRESSED = 6
#: The newest format that this version of Clockwork reads.
FORMAT = PRESSED
#: A compressed list has so many bytes at the most: far more than a row that anybody writes.
MOST_PRESSED_BYTES = 4 * 1024 * 1024
Element = Occurrence | Release | Pointer
Decoded = TypeVar("Decoded")
#: The values that have a blob of their own.
Stored = TypeVar("Stored", Execution, Client, NamedJob, Entry, Pool, Checkpoint, Present)

#: The place in a message of msgspec: names of fields, which are ours, and brackets.
_PLACE = re.compile(r" - at `(\$[\w.\[\]]*)`\Z", re.ASCII)

_encoder = msgspec.msgpack.Encoder()
_row_decoder = msgspec.msgpack.Decoder(list[Element])
_packed_decoder = msgspec.msgpack.Decoder(Packed)
_releases_decoder = msgspec.msgpack.Decoder(list[Release])
_release_decoder = msgspec.msgpack.Decoder(Release)
_decoders = {
    kind: msgspec.msgpack.Decoder[Any](kind) for kind in (Execution, Client, NamedJob, Entry, Pool, Checkpoint, Present)
}


def encode_row(elements: Sequence[Element]) -> bytes:
    """The blob of a timeline row: a list of elements, as from the first version on unless one of them needs more."""
    return bytes([_format_of(elements)]) + _encoder.encode(list(elements))


def _format_of(elements: Sequence[Element]) -> int:
    """The oldest format of a list that can hold these elements."""
    if any(_completes(one.occurrence if isinstance(one, Release) else one) for one in elements):
        return COMPLETING
    has_hint = any(isinstance(one, Release) and one.occurrence.is_hint for one in elements)
    return HINTS if has_hint else PLAIN


def _completes(element: Occurrence | Pointer) -> bool:
    return isinstance(element, Occurrence) and element.is_reported


def encode_packed(occurrences: Mapping[int, Occurrence]) -> bytes:
    """The blob of a timeline row of many jobs, given by their place in the row."""
    is_newer = any(map(_completes, occurrences.values()))
    return bytes([MANY_COMPLETING if is_newer else MANY]) + _encoder.encode(pack(occurrences))


def encode_pressed(elements: Sequence[Element]) -> bytes:
    """The blob of a timeline row that hardly anybody reads: a list of elements, compressed."""
    return bytes([PRESSED]) + zlib.compress(_encoder.encode(list(elements)))


def is_packed(blob: bytes) -> bool:
    """Whether a row's blob holds many jobs; it may still be undecodable."""
    return blob[:1] in (bytes([MANY]), bytes([MANY_COMPLETING]))


def decode_row(blob: bytes) -> dict[int, Element]:
    """The elements of a row's blob by their place in it. Raises NewerFormat or Undecodable."""
    if blob[:1] == bytes([PRESSED]):
        blob = bytes([PLAIN]) + _unpressed(blob[1:])
    if not is_packed(blob):
        elements: list[Element] = _decode(_row_decoder, blob, COMPLETING)
        return dict(enumerate(elements))
    try:
        return {**unpack(_decode(_packed_decoder, blob, MANY_COMPLETING))}
    except ValueError as error:
        raise Undecodable(_told(error)) from None


def _unpressed(pressed: bytes) -> bytes:
    """What was compressed. Raises Undecodable, too, where that would be far too much."""
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
    newer = _format_of(releases)
    if newer != PLAIN:
        blob = bytes([newer]) + _encoder.encode(list(releases))
    elif len(releases) == 1:
        blob = bytes([PLAIN]) + _encoder.encode(releases[0])
    else:
        blob = bytes([MANY]) + _encoder.encode(list(releases))
    return base64.b64encode(blob).decode()


def decode_message(body: str) -> list[Release]:
    """The releases in a message's body: one, or those of a bundle. Raises NewerFormat or Undecodable."""
    try:
        blob = base64.b64decode(body, validate=True)
    except ValueError as error:
        raise Undecodable(f"not base64: {_told(error)}") from None
    if blob[:1] in (bytes([MANY]), bytes([HINTS]), bytes([COMPLETING])):
        return _decode(_releases_decoder, blob, COMPLETING)
    return [_decode(_release_decoder, blob, COMPLETING)]


def encode(value: Execution | Client | NamedJob | Entry | Pool | Checkpoint | Present) -> bytes:
    """The blob of an execution's record, of a client's definition, of a named job or of an entry of a trail."""
    return bytes([_format_of_one(value)]) + _encoder.encode(value)


def _format_of_one(value: Execution | Client | NamedJob | Entry | Pool | Checkpoint | Present) -> int:
    if isinstance(value, NamedJob):
        completes = value.definition.completion is not None or isinstance(value.definition.target, PoolTarget)
        return COMPLETING if completes else PLAIN if value.is_of_0_1_0 else HINTS
    return COMPLETING if isinstance(value, Execution) and _record_completes(value) else PLAIN


def _record_completes(record: Execution) -> bool:
    """Whether an attempt of it ends by a report, or one that a redrive makes of its record would."""
    redriven = record.occurrence is not None and record.occurrence.is_reported
    return record.awaited is not None or redriven or any(one.state is State.HANDED_BACK for one in record.attempts)


def decode(blob: bytes, kind: type[Stored]) -> Stored:
    """What a blob holds: an execution, client, named job, entry, pool, checkpoint or worker, as `kind` says.

    Raises NewerFormat or Undecodable.
    """
    decoder: msgspec.msgpack.Decoder[Stored] = _decoders[kind]
    return _decode(decoder, blob, COMPLETING if kind in (NamedJob, Execution) else PLAIN)


def _decode(decoder: msgspec.msgpack.Decoder[Decoded], blob: bytes, newest: int = PLAIN) -> Decoded:
    if not blob:
        raise Undecodable("empty")
    if blob[0] > newest:
        raise NewerFormat(f"format {blob[0]}, this version reads up to {newest}")
    try:
        return decoder.decode(blob[1:])
    except (msgspec.DecodeError, ValueError) as error:
        raise Undecodable(_told(error)) from None


def _told(error: Exception) -> str:
    """What is wrong, by its kind and place: a library's own words may quote what is stored, and end in a log."""
    place = _PLACE.search(str(error))
    return type(error).__name__ + (f" at {place[1]}" if place is not None else "")
