"""The executions table in DynamoDB: one item per record, replaced whole by compare-and-set on its revision.

The turnstiles of named jobs and the sets of runs lie there as well, each in a partition of its own. No list of
executions reads these.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from clockwork.aws.errors import ConditionFailed, answer_of, held
from clockwork.aws.plane.plane import Outcome
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import NewerFormat, Unavailable, Unreadable, readable
from clockwork.domain.executions import DeadPage, Execution
from clockwork.domain.named_jobs import Turnstile
from clockwork.domain.storage.codec import decode, encode
from clockwork.domain.workflows.progress import Marks, Sets
from clockwork.ports import Saved

log = logging.getLogger(__name__)

#: Prefix of the partition of a job's turnstile, in place of a jobId. No jobId holds a slash, so no record lies there.
TURNSTILES = "turnstile/"

#: Prefix of the partition of a run's sets, and their sort key. No jobId holds a slash.
RUNS, SETS = "run/", "sets"
_MARKS = ("ok", "bad", "off")

#: The sparse index of the executions that need attention.
ATTENTION = "attention"


class AwsExecutions:
    """`ports.Executions` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`.

    `record` holds the whole record, encoded; the attributes beside it are for conditions, TTL and people.
    `attentionClientId` and `attentionKey` exist only while the execution needs attention: the key of a sparse index.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        items = [_item_or_fault(after) for _, after in changes]
        outcomes = iter(
            self._table.replace_each(
                "revision",
                (
                    (item, None if before is None else before.revision)
                    for item, (before, _) in zip(items, changes, strict=True)
                    if not isinstance(item, Exception)
                ),
            )
        )
        return [
            _saved(item if isinstance(item, Exception) else next(outcomes), after)
            for item, (_, after) in zip(items, changes, strict=True)
        ]

    def find(self, job_id: str, execution_id: str) -> Execution | None:
        item = self._table.get(job_id, execution_id)
        return None if item is None else _from_item(item)

    def get(self, execution_refs: Sequence[tuple[str, str]]) -> Sequence[Execution | Unreadable | None]:
        items = self._table.get_all(execution_refs) if execution_refs else {}
        return [self._table.apart(_from_item, items[ref]) if ref in items else None for ref in execution_refs]

    def list(self, job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        found: list[Execution] = []
        wanted = limit
        while True:
            items = self._table.query_all(job_id, wanted, before=before, newest_first=True)
            records = [self._table.apart(_from_item, item) for item in items]
            found += [record for record in map(_known, records) if record is not None]
            if len(items) < wanted or len(found) >= limit:
                return found
            wanted, before = limit - len(found), items[-1]["executionId"]["S"]

    def between(self, job_id: str, first: str, last: str, limit: int) -> Sequence[Execution]:
        found: list[Execution] = []
        wanted = limit
        while True:
            items = self._table.query_all(job_id, wanted, between=(first, last)) if first <= last else []
            records = [self._table.apart(_from_item, item) for item in items]
            found += [record for record in map(_known, records) if record is not None]
            if len(items) < wanted or len(found) >= limit:
                return found
            # No executionId lies between this key and the one with a space behind it.
            wanted, first = limit - len(found), items[-1]["executionId"]["S"] + " "

    def dead(self, client_id: str, limit: int, behind: str | None, *, oldest_first: bool = False) -> DeadPage:
        """The keys come from the index; the records under these keys are then read from the table."""
        index_key = ("attentionClientId", "attentionKey")
        places = self._table.query_index(ATTENTION, index_key, client_id, limit, behind, ascending=oldest_first)
        keys = [(place["jobId"]["S"], place["executionId"]["S"]) for place in places]
        items = self._table.get_all(keys) if keys else {}
        found = self._table.readable(_from_item, (items[key] for key in keys if key in items))
        following = places[-1]["attentionKey"]["S"] if len(places) == limit else None
        return DeadPage([execution for execution in found if execution.needs_attention], following)


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
        return self._table.put_new(item)

    def add(self, run_id: str, marks: Marks) -> Sets | None:
        some = {name: numbers for name in _MARKS if (numbers := getattr(marks, name))}
        change = "ADD " + ", ".join(f"#{name} :{name}" for name in some)
        try:
            return self._read(self._table.update_and_read(_key_of(run_id), change, "attribute_exists(#jobId)", **some))
        except ConditionFailed:
            return None

    def stop(self, run_id: str, generation: int) -> Sets | None:
        condition = "attribute_exists(#jobId) AND #stop < :stop"
        return self._changed(run_id, "SET #stop = :stop", condition, stop=generation)

    def open(self, before: Sets, after: Sets) -> Sets | None:
        return self._changed(
            after.run_id,
            "SET #generation = :generation, #generations = :generations, #expiresAt = :expiresAt",
            "#generation = :before",
            generation=after.generation,
            generations=after.generations,
            expiresAt=seconds(after.expires_at),
            before=before.generation,
        )

    def _changed(self, run_id: str, change: str, condition: str, /, **values: int | bytes) -> Sets | None:
        """The sets behind a change, or as they are if its condition does not hold."""
        try:
            return self._read(self._table.update_and_read(_key_of(run_id), change, condition, **values))
        except ConditionFailed:
            return readable(self.get([run_id])[0])

    def _read(self, item: Item) -> Sets:
        return readable(self._table.apart(_sets, item))


class AwsTurnstiles:
    """`ports.Turnstiles` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`.

    An item is replaced if its attribute `turnstile` is what was read, whatever that holds. A damaged turnstile is
    therefore replaced like every other one, and by only one of two callers that find it.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def get(self, job_id: str) -> tuple[Turnstile | None, object]:
        item = self._table.get(TURNSTILES + job_id, "last")
        if item is None:
            return None, None
        stile = self._table.apart(_turnstile, item)
        return None if isinstance(stile, Unreadable) else stile, item

    def put(self, found: object, after: Turnstile) -> bool:
        item = written(
            jobId=TURNSTILES + after.job_id,
            executionId="last",
            turnstile=encode(after),
            expiresAt=seconds(after.expires_at),
        )
        before = found.get("turnstile") if isinstance(found, dict) else None
        if before is None:
            done = held(self._table.put, item, "attribute_not_exists(#turnstile)")
        else:
            done = held(self._table.put, item, "#turnstile = :before", before=before)
        return done or self.get(after.job_id)[0] == after


def _item_or_fault(execution: Execution) -> Item | Exception:
    try:
        return _to_item(execution)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one record, the others of the call are saved
        return error


def _saved(outcome: Outcome, after: Execution) -> Saved:
    try:
        answer_of(outcome)
    except ConditionFailed as refused:
        return _refusal(refused.item, after)
    except Unavailable as error:
        return Saved(ok=False, unavailable=str(error))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one record, the others of the call are saved
        extra = {"action": "record_refused", "executionId": after.execution_id, "error": type(error).__name__}
        log.error("a record is refused", extra=extra)
        reason = f"its record was refused: {type(error).__name__}"
        return Saved(ok=False, unavailable=reason, is_defect=True)
    return Saved(ok=True, actual=after)


def _refusal(item: Item | None, after: Execution) -> Saved:
    """The result of a save whose condition did not hold; `item` is the stored item, None if there is none.

    If the stored record equals `after`, an earlier try had saved it and its answer was lost: the save counts as done.
    """
    try:
        actual = None if item is None else _from_item(item)
    except Unreadable as fault:
        return Saved(ok=False, unavailable=f"what is stored cannot be read: {fault}", is_defect=True)
    return Saved(ok=actual == after, actual=actual)


def _to_item(execution: Execution) -> Item:
    attention = {}
    if execution.needs_attention:
        attention = {"attentionClientId": execution.client_id, "attentionKey": execution.attention_key}
    return written(
        jobId=execution.job_id,
        executionId=execution.execution_id,
        clientId=execution.client_id,
        dueAt=execution.due_at,
        state=execution.state.value,
        revision=execution.revision,
        record=encode(execution),
        **attention,
        expiresAt=seconds(execution.expires_at),
    )


def _known(record: Execution | Unreadable) -> Execution | None:
    """The record; None if no version wrote it. Raises NewerFormat: what another version knows is not passed over."""
    if isinstance(record, NewerFormat):
        raise record
    return None if isinstance(record, Unreadable) else record


def _from_item(item: Item) -> Execution:
    return decode(item["record"]["B"], Execution)


def _key_of(run_id: str) -> tuple[str, str]:
    return RUNS + run_id, SETS


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
    if len(sets.generations) != sets.nodes.size:
        raise ValueError("its graph has other nodes")
    return sets


def _turnstile(item: Item) -> Turnstile:
    return decode(item["turnstile"]["B"], Turnstile)
