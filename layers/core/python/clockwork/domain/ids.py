"""Ids: opaque to clients, decodable by Clockwork without a lookup, versioned by their first character.

A jobId is a letter and one base64url part, so it holds no dot; an executionId is jobId `.` due instant `.` run,
so the executions of a job sort by time. Decoding accepts only the exact text that encoding makes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from clockwork.domain.clients import CLIENT_ID

#: The run part of an anonymous job's only execution.
ONLY_RUN = "0"
#: The longest jobKey, in bytes of UTF-8.
LONGEST_JOB_KEY = 255
#: Default ignorables that are neither controls, formats, separators nor unassigned, and the blank of Braille: combining
#: grapheme joiner, fillers of Hangul, inherent vowels of Khmer, selectors of variations.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
#: From base64 to base64url: RFC 4648, 5.
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PARTITION = re.compile(r"[a-z][0-9]{3}")
_RUN = re.compile(r"[A-Za-z0-9_-]{22}")
_ROW_KEY = re.compile(r"[0-9]{13}#[A-Za-z0-9_-]{1,64}")
_EXECUTION = re.compile(r"(?P<job>[A-Za-z0-9_-]{2,700})\.(?P<due>[0-9]{13})\.(?P<run>[A-Za-z0-9_-]{1,64})")


class InvalidId(ValueError):
    """The text is no id that Clockwork made."""


class AnonymousJob(msgspec.Struct, frozen=True, gc=False):
    """The location of an anonymous job: its timeline row (partition and key) and its place in the row."""

    partition_id: str
    key: str
    element: int

    @property
    def job_id(self) -> str:
        """The jobId. `decode_job` reads it back."""
        return "a" + encode_part(f"{self.partition_id}/{self.key}/{self.element}".encode())


class ExecutionId(msgspec.Struct, frozen=True):
    """The parts of an executionId."""

    job_id: str
    due_at: int
    run: str

    def __str__(self) -> str:
        return f"{self.job_id}.{self.due_at:013d}.{self.run}"


def netstrings(parts: Iterable[bytes]) -> bytes:
    """All parts, each with its length before it: no two lists of parts have the same bytes.

    https://cr.yp.to/proto/netstrings.txt
    """
    return b"".join(b"%d:%s," % (len(part), part) for part in parts)


def encode_part(raw: bytes) -> str:
    """The bytes in base64url without padding."""
    return binascii.b2a_base64(raw, newline=False).rstrip(b"=").translate(_URL_SAFE).decode()


def decode_part(text: str) -> bytes:
    """The bytes of which `encode_part` makes exactly this text. Raises InvalidId if there are none."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise InvalidId("not base64url") from None
    if encode_part(raw) != text:
        raise InvalidId("not in its canonical form")
    return raw


class NamedJobId(msgspec.Struct, frozen=True):
    """The identity of a named job: its client, its jobKey, and the incarnation (the life) of that key.

    A jobKey may hold every printable character, and no control character.
    """

    client_id: str
    job_key: str
    incarnation: int

    @property
    def job_id(self) -> str:
        """The jobId. `decode_job` reads it back."""
        return "n" + encode_part(f"{self.incarnation}/{self.client_id}/{self.job_key}".encode())


class NodeJob(msgspec.Struct, frozen=True):
    """The identity of a node of a workflow's run: the shard of the run, the run (`run_of`), generation and index.

    A repeated release of the node has the same id, so its claim absorbs the repeat.
    """

    partition_id: str
    run_id: str
    generation: int
    index: int

    @property
    def job_id(self) -> str:
        """The jobId. `decode_job` reads it back."""
        return "w" + encode_part(f"{self.partition_id}/{self.run_id}/{self.generation}/{self.index}".encode())


JobId = AnonymousJob | NamedJobId | NodeJob


def decode_job(job_id: str) -> JobId:
    """The parts of a jobId. Raises InvalidId."""
    if job_id.startswith("n"):
        return _decode_named(job_id)
    if job_id.startswith("w"):
        return decode_node(job_id)
    if not job_id.startswith("a"):
        raise InvalidId("unknown version")
    try:
        partition_id, key, element = decode_part(job_id[1:]).decode("ascii").split("/")
        index = int(element)
    except ValueError:
        raise InvalidId("not a jobId") from None
    if not (_PARTITION.fullmatch(partition_id) and _ROW_KEY.fullmatch(key) and str(index) == element and index >= 0):
        raise InvalidId("not a jobId")
    return AnonymousJob(partition_id, key, index)


def is_named(job_id: str) -> bool:
    """Whether a jobId is that of a named job. Does not check that the id is valid."""
    return job_id.startswith("n")


def is_node(job_id: str) -> bool:
    """Whether a jobId is that of a node of a workflow's run. Does not check that the id is valid."""
    return job_id.startswith("w")


def decode_node(job_id: str) -> NodeJob:
    """The parts of the jobId of a node. Raises InvalidId."""
    try:
        partition_id, run_id, generation, index = decode_part(job_id[1:]).decode("ascii").split("/")
        decoded = NodeJob(partition_id, run_id, int(generation), int(index))
    except ValueError:
        raise InvalidId("not a jobId") from None
    is_valid = _PARTITION.fullmatch(partition_id) and _RUN.fullmatch(run_id)
    if decoded.job_id != job_id or not is_valid or decoded.generation < 1 or decoded.index < 0:
        raise InvalidId("not a jobId")
    return decoded


def run_of(execution_id: str) -> str:
    """The name of a workflow's run, which derives from its executionId: its sets and its nodes lie under that."""
    return derive("run", execution_id)


def _decode_named(job_id: str) -> NamedJobId:
    try:
        incarnation, client_id, job_key = decode_part(job_id[1:]).decode().split("/", 2)
        decoded = NamedJobId(client_id, job_key, int(incarnation))
    except ValueError:
        raise InvalidId("not a jobId") from None
    if decoded.job_id != job_id or decoded.incarnation < 1:
        raise InvalidId("not a jobId")
    if not CLIENT_ID.fullmatch(client_id) or not is_job_key(job_key):
        raise InvalidId("not a jobId")
    return decoded


def is_job_key(text: str) -> bool:
    """Whether a job may have this key. Callers look up no other text, above all no key row of the same table."""
    return 1 <= len(text.encode("utf-8", "replace")) <= LONGEST_JOB_KEY and not hidden_in(text)


def hidden_in(text: str) -> str:
    """The first character of a name that a reader does not see, or takes for another; empty if there is none.

    `str.isprintable` refuses controls, formats and all separators but the plain space. The others are not shown, though
    they are letters and marks: https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point
    """
    if text.isascii() and text.isprintable():
        return ""
    return next((one for one in text if not one.isprintable() or _IGNORABLE.match(one)), "")


def key_of(job_id: str | None) -> str | None:
    """The jobKey in a jobId; None for no job, for an anonymous one, and for what is no jobId."""
    if job_id is None or not is_named(job_id):
        return None
    try:
        return _decode_named(job_id).job_key
    except InvalidId:
        return None


def client_in(job_id: str | None) -> str | None:
    """The clientId in a jobId; None for no job, for an anonymous one, and for what is no jobId."""
    if job_id is None or not is_named(job_id):
        return None
    try:
        return _decode_named(job_id).client_id
    except InvalidId:
        return None


def job_of(execution_id: str) -> str | None:
    """The jobId in an executionId; None for what is no executionId."""
    match = _EXECUTION.fullmatch(execution_id)
    return None if match is None else match["job"]


def decode_execution(execution_id: str) -> ExecutionId:
    """The parts of an executionId; its jobId is not decoded. Raises InvalidId."""
    match = _EXECUTION.fullmatch(execution_id)
    if match is None:
        raise InvalidId("not an executionId")
    return ExecutionId(match["job"], int(match["due"]), match["run"])


def only_execution(job_id: str, due_at: int) -> str:
    """The executionId of an anonymous job, or of a fire of a named one. Two releases of it have one record."""
    return str(ExecutionId(job_id, due_at, ONLY_RUN))


def derive(*parts: str | int) -> str:
    """A row id that depends on `parts` alone: 132 bits of their SHA-256 as 22 characters of base64url."""
    return encode_part(hashlib.sha256("\x00".join(map(str, parts)).encode()).digest()[:18])[:22]


def derive_each(parts: Sequence[str | int], last: Iterable[str | int]) -> Iterator[str]:
    """`derive` for each of `last`, as the one part more behind the same `parts`."""
    begun = hashlib.sha256("\x00".join(map(str, (*parts, ""))).encode())
    for part in last:
        sha = begun.copy()
        sha.update(str(part).encode())
        yield encode_part(sha.digest()[:18])[:22]


def spread(below: int, *parts: str | int) -> int:
    """A number that depends on `parts` alone, 0 <= number < `below`: different parts are spread evenly."""
    digest = hashlib.sha256("\x00".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % below


def digest_of(raw: Iterable[bytes]) -> str:
    """The digest (SHA-256) of all of `raw`. Two requests with the same digest count as the same request."""
    sha = hashlib.sha256()
    for part in raw:
        sha.update(len(part).to_bytes(8, "big"))
        sha.update(part)
    return encode_part(sha.digest())
