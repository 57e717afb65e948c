"""Named jobs in a dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

from clockwork.domain.errors import Unreadable
from clockwork.domain.named_jobs import NamedJob
from clockwork.ports import Listed

#: Jobs of a page of a scan.
SCANNED_AT_ONCE = 100


class MemoryJobs:
    """`ports.Jobs` in plain Python.

    `unreadable`: the answers of `get`, `list` and `scan` in place of jobs that cannot be read, by (clientId, jobKey).
    """

    def __init__(self) -> None:
        self._jobs: dict[tuple[str, str], NamedJob] = {}
        self.unreadable: dict[tuple[str, str], Unreadable] = {}

    def get(self, job_refs: Sequence[tuple[str, str]]) -> Sequence[NamedJob | Unreadable | None]:
        return [self.unreadable.get(job_ref) or self._jobs.get(job_ref) for job_ref in job_refs]

    def save(self, before: NamedJob | None, after: NamedJob) -> bool:
        job_ref = (after.client_id, after.job_key)
        stored = self._jobs.get(job_ref)
        if stored != after:
            if (stored and stored.stamp) != (before and before.stamp):
                return False
            self._jobs[job_ref] = after
        return True

    def list(self, client_id: str, prefix: str | None, after_key: str | None, limit: int) -> Listed:
        job_refs = sorted(
            ((c, key) for c, key in self._jobs if c == client_id and key.startswith(prefix or "")),
            key=lambda job_ref: job_ref[1].encode(),
        )
        if after_key is not None:
            job_refs = [job_ref for job_ref in job_refs if job_ref[1].encode() > after_key.encode()]
        found = [(key, self.unreadable.get((c, key), self._jobs[c, key])) for c, key in job_refs[:limit]]
        return Listed(found, more=len(job_refs) > limit)

    def scan(self, part: int, parts: int) -> Iterator[Sequence[NamedJob | Unreadable]]:
        refs = [ref for ref in self._jobs if crc32("/".join(ref).encode()) % parts == part]
        for start in range(0, len(refs), SCANNED_AT_ONCE):
            page = refs[start : start + SCANNED_AT_ONCE]
            yield [self.unreadable.get(ref, self._jobs[ref]) for ref in page]
