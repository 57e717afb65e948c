"""Named jobs in a dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from clockwork.domain.errors import Unreadable
from clockwork.domain.named_jobs import NamedJob


class MemoryJobs:
    """`ports.Jobs` in plain Python. `unreadable`: what is answered in place of jobs that cannot be read."""

    def __init__(self) -> None:
        self._jobs: dict[tuple[str, str], NamedJob] = {}
        self.unreadable: dict[tuple[str, str], Unreadable] = {}

    def get(self, places: Sequence[tuple[str, str]]) -> Sequence[NamedJob | Unreadable | None]:
        return [self.unreadable.get(place) or self._jobs.get(place) for place in places]

    def save(self, before: NamedJob | None, after: NamedJob) -> bool:
        place = (after.client_id, after.job_key)
        stored = self._jobs.get(place)
        if stored != after:
            if (stored and stored.version) != (before and before.version):
                return False
            self._jobs[place] = after
        return True

    def list(self, client_id: str, prefix: str | None, after_key: str | None, limit: int) -> Sequence[NamedJob]:
        places = sorted(
            ((c, key) for c, key in self._jobs if c == client_id and key.startswith(prefix or "")),
            key=lambda place: place[1].encode(),
        )
        if after_key is not None:
            places = [place for place in places if place[1].encode() > after_key.encode()]
        return [self._jobs[place] for place in places[:limit]]

    def scan(self, part: int, parts: int) -> Sequence[NamedJob | Unreadable]:
        return [
            self.unreadable.get((c, key), job)
            for (c, key), job in self._jobs.items()
            if crc32(f"{c}/{key}".encode()) % parts == part
        ]
