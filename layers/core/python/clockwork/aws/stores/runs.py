"""The sets of workflows' runs in the executions table, each in a partition of its own that no list reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from clockwork.aws.errors import ConditionFailed, try_write
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import Unreadable, readable
from clockwork.domain.ids import run_of
from clockwork.domain.workflows.progress import Marks, Sets, is_sound

#: Prefix of the partition of a run's sets, and their sort key. No jobId holds a slash.
RUNS, SETS = "run/", "sets"
_MARKS = ("ok", "bad", "off")
_ATTRIBUTES = ("run", "partitionId", "generation", "generations", "graph", "stop", "expiresAt", *_MARKS)


class AwsRuns:
    """`ports.Runs` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`.

    A set of DynamoDB has no order and no repeats, and is never empty: an attribute that is missing is an empty set.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def get(self, run_ids: Sequence[str]) -> Sequence[Sets | Unreadable | None]:
        keys = [_key_of(run_id) for run_id in run_ids]
        items = self._table.get_all(keys) if keys else {}
        return [self._table.apart(_sets, items[key]) if key in items else None for key in keys]

    def put_new(self, sets: Sets) -> bool:
        partition, key = _key_of(sets.run_id)
        item = written(
            jobId=partition,
            executionId=key,
            run=sets.execution_id,
            partitionId=sets.partition_id,
            generation=sets.generation,
            generations=sets.generations,
            graph=sets.graph,
            stop=sets.stop,
            expiresAt=seconds(sets.expires_at),
        )
        return self._table.put_new(item) or self._put_for_damaged(item)

    def add(self, run_id: str, marks: Marks) -> Sets | None:
        some = _some(marks)
        change = "ADD " + _each(some)
        try:
            return self._read(self._table.update_and_read(_key_of(run_id), change, "attribute_exists(#jobId)", **some))
        except ConditionFailed:
            return None

    def stop(self, run_id: str, generation: int) -> Sets | None:
        condition = "attribute_exists(#jobId) AND #stop < :stop"
        return self._changed(run_id, "SET #stop = :stop", condition, stop=generation)

    def open(self, before: Sets, after: Sets) -> Sets | None:
        left = _some(before.marks - after.marks)
        change = "SET #generation = :generation, #generations = :generations, #expiresAt = :expiresAt"
        if left:
            change += " DELETE " + _each(left)
        return self._changed(
            after.run_id,
            change,
            "#generation = :before",
            **left,
            generation=after.generation,
            generations=after.generations,
            expiresAt=seconds(after.expires_at),
            before=before.generation,
        )

    def _put_for_damaged(self, item: Item) -> bool:
        """Store the sets in place of those that cannot be read. Of two callers that find these, one does."""
        found = self._table.get(item["jobId"]["S"], SETS)
        if found is None or not isinstance(self._table.apart(_sets, found), Unreadable):
            return False
        condition, seen = _as_found(found)
        return try_write(self._table.put, item, condition, **seen)

    def _changed(
        self, run_id: str, change: str, condition: str, /, **values: int | bytes | frozenset[int]
    ) -> Sets | None:
        """The sets behind a change, or as they are if its condition does not hold."""
        try:
            return self._read(self._table.update_and_read(_key_of(run_id), change, condition, **values))
        except ConditionFailed:
            return readable(self.get([run_id])[0])

    def _read(self, item: Item) -> Sets:
        return readable(self._table.apart(_sets, item))


def _key_of(run_id: str) -> tuple[str, str]:
    return RUNS + run_id, SETS


def _as_found(item: Item) -> tuple[str, dict[str, Any]]:
    """The condition that an item has what was read, but for its marks, and the values in it."""
    terms, seen = ["attribute_exists(#jobId)"], dict[str, Any]()
    for name in _ATTRIBUTES:
        kind = next(iter(item.get(name, ())), None)
        if kind is None:
            terms.append(f"attribute_not_exists(#{name})")
        elif kind in ("S", "N", "B"):
            terms.append(f"#{name} = :{name}")
            seen[name] = item[name]
        elif kind != "NS":
            terms.append(f"attribute_type(#{name}, :{name})")
            seen[name] = kind
    return " AND ".join(terms), seen


def _some(marks: Marks) -> dict[str, frozenset[int]]:
    """The sets of these marks that are not empty."""
    return {name: numbers for name in _MARKS if (numbers := getattr(marks, name))}


def _each(sets: Iterable[str]) -> str:
    """The sets as an ADD or a DELETE names them."""
    return ", ".join(f"#{name} :{name}" for name in sets)


def _sets(item: Item) -> Sets:
    """The sets in an item. Raises anything for one that no version wrote, such as one whose graph has other nodes."""
    marks = (frozenset(map(int, item[name]["NS"])) if name in item else frozenset() for name in _MARKS)
    sets = Sets(
        run_id=item["jobId"]["S"].removeprefix(RUNS),
        execution_id=item["run"]["S"],
        partition_id=item["partitionId"]["S"],
        generation=int(item["generation"]["N"]),
        generations=item["generations"]["B"],
        graph=item["graph"]["B"],
        expires_at=int(item["expiresAt"]["N"]) * 1000,
        stop=int(item["stop"]["N"]),
        marks=Marks(*marks),
    )
    if not is_sound(sets) or run_of(sets.execution_id) != sets.run_id:
        raise ValueError("its attributes contradict each other")
    return sets
