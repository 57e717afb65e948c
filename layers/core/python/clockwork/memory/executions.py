"""The executions table in a dictionary."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.named_jobs import Turnstile
from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.domain.pools.presence import Present
from clockwork.domain.storage.attention import DeadPage, Kind, listed_as
from clockwork.domain.storage.runs_index import Place, PlacePage
from clockwork.domain.workflows.progress import Marks, Sets
from clockwork.ports import Saved


class MemoryExecutions:
    """`ports.Executions` in plain Python."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], Execution] = {}

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        return [self._save_one(before, after) for before, after in changes]

    def _save_one(self, before: Execution | None, after: Execution) -> Saved:
        place = (after.job_id, after.execution_id)
        stored = self._records.get(place)
        if stored != after:
            if (stored and stored.revision) != (before and before.revision):
                return Saved(ok=False, actual=stored)
            self._records[place] = after
        return Saved(ok=True, actual=after)

    def find(self, job_id: str, execution_id: str) -> Execution | None:
        return self._records.get((job_id, execution_id))

    def get(self, execution_refs: Sequence[tuple[str, str]]) -> Sequence[Execution | Unreadable | None]:
        return [self.find(*execution_ref) for execution_ref in execution_refs]

    def list(self, job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        ids = sorted((e for j, e in self._records if j == job_id and (before is None or e < before)), reverse=True)
        return [self._records[job_id, execution_id] for execution_id in ids[:limit]]

    def between(self, job_id: str, first: str, last: str, limit: int) -> Sequence[Execution]:
        ids = sorted(e for j, e in self._records if j == job_id and first <= e <= last)
        return [self._records[job_id, execution_id] for execution_id in ids[:limit]]

    def dead(self, client_id: str, limit: int, behind: str | None, *, oldest_first: bool = False) -> DeadPage:
        return self._listed("dead", client_id, limit, behind, oldest_first=oldest_first)

    def retrying(self, client_id: str, limit: int, behind: str | None) -> DeadPage:
        return self._listed("retrying", client_id, limit, behind, oldest_first=False)

    def _listed(self, kind: Kind, client_id: str, limit: int, behind: str | None, *, oldest_first: bool) -> DeadPage:
        own = (one for one in self.all() if one.client_id == client_id)
        found = {one.attention_key: one for one in own if listed_as(one) == kind}
        ordered = sorted(found, reverse=not oldest_first)
        if behind is not None:
            ordered = [key for key in ordered if (key > behind if oldest_first else key < behind)]
        places = ordered[:limit]
        return DeadPage([found[key] for key in places], places[-1] if len(places) == limit else None)

    def indexed(self, client_id: str, limit: int, behind: str | None) -> PlacePage:
        own = [one for one in self.all() if one.client_id == client_id and one.end.indexed]
        keys = {one.attention_key: one for one in own if behind is None or one.attention_key < behind}
        found = sorted(keys, reverse=True)
        places = [Place(key, keys[key].job_id, keys[key].execution_id, keys[key].state) for key in found[:limit]]
        return PlacePage(places, places[-1].key if len(found) > limit else None)

    def expire(self, now: int) -> None:
        """Delete the records whose `expires_at` has passed (ms), as TTL does sooner or later."""
        self._records = {place: one for place, one in self._records.items() if one.expires_at > now}

    def all(self) -> Sequence[Execution]:
        """Every record, for tests and audits."""
        return list(self._records.values())


class MemoryTurnstiles:
    """`ports.Turnstiles` in plain Python."""

    def __init__(self) -> None:
        self.stored: dict[str, Turnstile] = {}

    def get(self, job_id: str) -> tuple[Turnstile | None, object]:
        stored = self.stored.get(job_id)
        return stored, stored

    def put(self, found: object, after: Turnstile) -> bool:
        stored = self.stored.get(after.job_id)
        if stored not in (found, after):
            return False
        self.stored[after.job_id] = after
        return True


class MemoryRuns:
    """`ports.Runs` in plain Python."""

    def __init__(self) -> None:
        self.stored: dict[str, Sets] = {}

    def get(self, run_ids: Sequence[str]) -> Sequence[Sets | Unreadable | None]:
        return [self.stored.get(run_id) for run_id in run_ids]

    def put_new(self, sets: Sets) -> bool:
        return self.stored.setdefault(sets.run_id, sets) is sets

    def add(self, run_id: str, marks: Marks) -> Sets | None:
        stored = self.stored.get(run_id)
        return None if stored is None else self._put(replace(stored, marks=stored.marks | marks))

    def stop(self, run_id: str, generation: int) -> Sets | None:
        stored = self.stored.get(run_id)
        return None if stored is None else self._put(replace(stored, stop=max(stored.stop, generation)))

    def open(self, before: Sets, after: Sets) -> Sets | None:
        stored = self.stored.get(after.run_id)
        if stored is None or stored.generation != before.generation:
            return stored
        fields = {name: getattr(after, name) for name in ("generation", "generations", "expires_at")}
        return self._put(replace(stored, **fields, marks=stored.marks - (before.marks - after.marks)))

    def _put(self, sets: Sets) -> Sets:
        self.stored[sets.run_id] = sets
        return sets


class MemoryCheckpoints:
    """`ports.Checkpoints` in plain Python."""

    def __init__(self) -> None:
        self._checkpoints: dict[str, Checkpoint] = {}

    def get(self, execution_id: str) -> Checkpoint | None:
        return self._checkpoints.get(execution_id)

    def put(self, before: Checkpoint | None, after: Checkpoint) -> bool:
        stored = self._checkpoints.get(after.execution_id)
        seen, known = (None if one is None else one.revision for one in (before, stored))
        if stored != after and seen != known:
            return False
        self._checkpoints[after.execution_id] = after
        return True


class MemoryWorkers:
    """`ports.Workers` in plain Python. Nothing expires."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int, str, str], Present] = {}

    def note(self, seen: Present) -> None:
        self._seen[seen.pool, seen.hour, seen.worker_id, seen.by] = seen

    def list(self, pool: str, limit: int) -> Sequence[Present | Unreadable]:
        return [self._seen[key] for key in sorted(self._seen, reverse=True) if key[0] == pool][:limit]
