"""Small valid values for tests to build on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.executions import Claimed, End, Execution, Outcome, State
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.keys import row_key
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Deliver, Of, Release, Travels, Watch
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.domain.requests.packing import Outline
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.waits import Waiting, Waits
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

NOW = 1_700_000_000_000
ALICE = "arn:aws:iam::111111111111:user/alice"
BOB = "arn:aws:iam::111111111111:user/bob"
ADMIN = "arn:aws:iam::111111111111:role/Admin"
ACME = Client(client_id="acme", principals=(ALICE,))
TARGET = HttpTarget("https://example.com/hook")
#: Nothing random in it: the first retry comes after 5 s, the second after 10 s.
STEADY = RetryPolicy(max_attempts=3, jitter="none")


def new_job(**changes: Any) -> NewJob:
    """A job due in ten seconds."""
    return NewJob(**{"target": TARGET, "payload": Payload(b'{"n":1}'), "delay_ms": 10_000, **changes})


def request(*jobs: NewJob, key: str | None = None, digest: str = "d") -> CreateRequest:
    """A request of the client acme to create these jobs."""
    numbered = tuple(msgspec.structs.replace(job, index=index) for index, job in enumerate(jobs or (new_job(),)))
    return CreateRequest(client=ACME, jobs=numbered, idempotency_key=key, digest=digest)


def packed_request(*jobs: NewJob, key: str | None = None, refused: Sequence[int] = ()) -> CreateRequest:
    """A batch as the edge hands it over: it has the outlines of all jobs, those refused at the moment included."""
    whole = request(*jobs, key=key)
    good = tuple(job for job in whole.jobs if job.index not in refused)
    return msgspec.structs.replace(whole, jobs=good, outlines=tuple(map(outline, whole.jobs)))


def outline(job: NewJob) -> Outline:
    """The outline of a job in a request."""
    alike = msgspec.json.encode([job.target, job.retry_policy, job.tags, job.record])
    return Outline(job.index, job.at, job.delay_ms, len(job.payload.body), alike)


def occurrence(**changes: Any) -> Occurrence:
    """An occurrence of acme's that is due now."""
    values = {"client_id": "acme", "due_at": NOW, "created_at": NOW - 1000, "target": TARGET, "payload": Payload(b"1")}
    return Occurrence(**{**values, "retry_policy": STEADY, **changes})


def release(**changes: Any) -> Deliver:
    """The first release of `occurrence()`; `changes` are fields of it, or of one of its parts."""
    due = changes.pop("occurrence", occurrence())
    job_id = AnonymousJob("p000", row_key(due.due_at, "x" * 22), 0).job_id
    of, waits, travels = (_taken(changes, part) for part in (Of, Waits, Travels))
    parts = {"of": Of(**{"job_id": job_id, **of}), "waits": Waits(**waits), "travels": Travels(**travels)}
    return Deliver(**{"occurrence": due, "run_at": due.due_at, **parts, **changes})


def _taken(changes: dict[str, Any], part: type[msgspec.Struct]) -> dict[str, Any]:
    """The changes that are fields of a part, which are taken out."""
    return {name: changes.pop(name) for name in part.__struct_fields__ if name in changes}


def watch_like(made: Release) -> Watch:
    """The watch of the attempt of a release, for the release's instant."""
    return Watch(made.of, made.occurrence, made.run_at, made.attempt)


def release_in(body: str) -> Deliver:
    """The only release that a message's body holds, which asks for an attempt."""
    (only,) = decode_message(body)
    assert isinstance(only, Deliver)
    return only


def execution(state: State, **changes: Any) -> Execution:
    """A record of `release()` in the given state. `changes` are fields of it, or of its parts as `like` takes them."""
    released = release()
    made = Execution(released.job_id, released.execution_id, "acme", NOW, state, revision=1, expires_at=NOW + 1)
    return like(made, **changes)


#: The fields of a record's parts by the names under which tests tell them; one name may be that of several fields.
_PARTS = {
    "claimant": ("claim", "claimant"),
    "claim_until": ("claim", "until"),
    "claim_lateness_ms": ("claim", "lateness_ms"),
    "started_at": ("claim", "started_at"),
    "awaited": ("claim", "awaited"),
    "budget_from": ("budget", "start"),
    **{name: ("budget", name) for name in ("handbacks", "lost_workers", "unclaimed")},
    **{name: ("waits", name) for name in Waiting.__struct_fields__},
    "parkings": ("parking", "number"),
    "parked_as": ("parking", "revision"),
    "parked_at": ("parking", "at"),
    **{name: ("end", name) for name in End.__struct_fields__},
    **{name: ("kept", name) for name in ("occurrence", "raw", "partition_id", "source")},
}


def like(record: Execution, **changes: Any) -> Execution:
    """The record with other values of some fields. Those of its parts are told by names of their own.

    With `claimant=None` it has no claim. A claim of which only some fields are told holds until NOW, from NOW on.
    """
    parts: dict[str, dict[str, Any]] = {}
    for name in [one for one in changes if one in _PARTS]:
        part, field = _PARTS[name]
        parts.setdefault(part, {})[field] = changes.pop(name)
    claim = parts.pop("claim", None)
    if claim is not None:
        fields = {**msgspec.structs.asdict(record.claim or Claimed("me", NOW, NOW)), **claim}
        changes["claim"] = None if fields["claimant"] is None else Claimed(**fields)
    for part, fields in parts.items():
        changes[part] = msgspec.structs.replace(getattr(record, part), **fields)
    return msgspec.structs.replace(record, **changes)


def changed(record: Execution, **changes: Any) -> Execution:
    """The record one revision on, with other values of some fields as `like` takes them."""
    return like(record, revision=record.revision + 1, **changes)


def claim_of(record: Execution | None) -> Claimed:
    """The claim of a record that has one."""
    assert record is not None and record.claim is not None
    return record.claim


def failure(**changes: Any) -> Outcome:
    """A failed attempt: the target answered 500."""
    return Outcome(**{"state": State.FAILED, "started_at": NOW, "ended_at": NOW + 5, "error": "HTTP 500", **changes})


def success(at: int = NOW) -> Outcome:
    """A successful attempt: the target answered 200."""
    return Outcome(State.SUCCEEDED, at, at + 5, status_code=200)
