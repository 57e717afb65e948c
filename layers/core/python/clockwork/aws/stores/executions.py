"""The executions table in DynamoDB: one item per record, replaced whole by compare-and-set on its revision.

The turnstiles of named jobs lie there as well, each in a partition of its own, which no list of executions reads.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from zlib import crc32

from clockwork.aws.apart import decoded
from clockwork.aws.errors import ConditionFailed, answer_of, told, try_write
from clockwork.aws.metering import TableMeter
from clockwork.aws.plane.plane import Outcome
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, range_of, seconds, written
from clockwork.domain.errors import NewerFormat, Unavailable, Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.named_jobs import Turnstile
from clockwork.domain.storage.attention import DeadPage, Kind, listed_as, owner_of
from clockwork.domain.storage.codec import decode, encode
from clockwork.domain.storage.runs_index import Place, PlacePage
from clockwork.ports import Saved

log = logging.getLogger(__name__)

#: Prefix of the partition of a job's turnstile, in place of a jobId. No jobId holds a slash, so no record lies there.
TURNSTILES = "turnstile/"

#: The sparse index of the executions that are dead, or are tried again after a failure.
ATTENTION = "attention"
#: The sparse index of the executions that have ended, of clients that asked for it. It has each one's state as well.
RUNS = "runs"
#: The partitions of one owner. DynamoDB takes about 1,000 writes a second for each, and refuses the writes to the table
#: of an index that lags: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
PARTITIONS = 8


class AwsExecutions:
    """`ports.Executions` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`.

    `record` holds the whole record, encoded; the attributes beside it are for conditions, TTL and people.
    `attentionClientId` and `attentionKey` exist only while a list has the execution: the key of a sparse index.
    `runsClientId` and `runsKey` are that of another one, once the execution is in it.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")
        self._attention = SpreadIndex(aws, table, ATTENTION, "attentionClientId", "attentionKey")
        self._runs = SpreadIndex(aws, table, RUNS, "runsClientId", "runsKey")

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        items = [self._item_or_fault(after) for _, after in changes]
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
        return self._listed("dead", client_id, limit, behind, ascending=oldest_first)

    def retrying(self, client_id: str, limit: int, behind: str | None) -> DeadPage:
        return self._listed("retrying", client_id, limit, behind, ascending=False)

    def indexed(self, client_id: str, limit: int, behind: str | None) -> PlacePage:
        found, more = self._runs.share(client_id, limit, behind)
        places = [_place(item) for item in found]
        return PlacePage(places, places[-1].key if more else None)

    def _listed(self, kind: Kind, client_id: str, limit: int, behind: str | None, *, ascending: bool) -> DeadPage:
        places = self._attention.query(owner_of(client_id, kind), limit, behind, ascending=ascending)
        keys = [(place["jobId"]["S"], place["executionId"]["S"]) for place in places]
        items = self._table.get_all(keys) if keys else {}
        found = self._table.readable(_from_item, (items[key] for key in keys if key in items))
        following = places[-1]["attentionKey"]["S"] if len(places) == limit else None
        return DeadPage([execution for execution in found if listed_as(execution) == kind], following)

    def _item_or_fault(self, execution: Execution) -> Item | Exception:
        try:
            return self._item_of(execution)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one record, the others of the call are saved
            return error

    def _item_of(self, execution: Execution) -> Item:
        kind = listed_as(execution)
        owner = kind and owner_of(execution.client_id, kind)
        listed = self._attention.key_of(owner, execution.attention_key) if owner else {}
        if execution.end.indexed:
            listed |= self._runs.key_of(execution.client_id, execution.attention_key)
        return written(
            jobId=execution.job_id,
            executionId=execution.execution_id,
            clientId=execution.client_id,
            dueAt=execution.due_at,
            state=execution.state.value,
            revision=execution.revision,
            record=encode(execution),
            **listed,
            expiresAt=seconds(execution.expires_at),
        )


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
            done = try_write(self._table.put, item, "attribute_not_exists(#turnstile)")
        else:
            done = try_write(self._table.put, item, "#turnstile = :before", before=before)
        return done or self.get(after.job_id)[0] == after


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


def _known(record: Execution | Unreadable) -> Execution | None:
    """The record; None if no version wrote it. Raises NewerFormat: what another version knows is not passed over."""
    if isinstance(record, NewerFormat):
        raise record
    return None if isinstance(record, Unreadable) else record


def _from_item(item: Item) -> Execution:
    names = {"job_id": "jobId", "execution_id": "executionId", "client_id": "clientId"}
    return decoded(item, "record", Execution, **names)


def _place(item: Item) -> Place:
    """A place as the index has it. An item without a state was written by nobody: its record decides."""
    state = item.get("state", {}).get("S", "")
    return Place(item["runsKey"]["S"], item["jobId"]["S"], item["executionId"]["S"], state)


def _turnstile(item: Item) -> Turnstile:
    return decode(item["turnstile"]["B"], Turnstile)


class SpreadIndex:
    """One index of a table, given by the names of both and of the index's key attributes (both of type text)."""

    def __init__(self, aws: Aws, table: str, index: str, partition: str, sort: str) -> None:
        self._plane = aws.plane("dynamodb")
        self._meter = TableMeter(aws, table, (partition, sort))
        self._place = {"TableName": table, "IndexName": index}
        self._key = (partition, sort)

    def key_of(self, owner: str, sort_key: str) -> dict[str, str]:
        """The attributes that put an item into the index. They follow from the key, so each save computes the same."""
        partition = _partition(owner, crc32(sort_key.encode()) % PARTITIONS)
        return dict(zip(self._key, (partition, sort_key), strict=True))

    def query(self, owner: str, limit: int, behind: str | None, *, ascending: bool) -> list[Item]:
        """The keys of up to `limit` items of an owner in order, those behind a sort key if given. They lag for moments.

        Each partition is asked for a whole page, since one of them may hold all that comes next. Raises Unavailable if
        one of them gives no answer.
        """
        before, after = (None, behind) if ascending else (behind, None)
        place = {**self._place, "ScanIndexForward": ascending, "Limit": limit}
        waiting = [{**place, **range_of(self._key, one, before=before, after=after)} for one in partitions_of(owner)]
        found: list[Item] = []
        while waiting:
            outcomes = self._plane.call_all("Query", waiting)
            answers = [answer_of(outcome) for outcome in outcomes]
            for request, answer in zip(waiting, answers, strict=True):
                self._meter.queried(request, told(answer, "Items"))
                found += answer["Items"]
            waiting = [
                {**request, "ExclusiveStartKey": answer["LastEvaluatedKey"]}
                for request, answer in zip(waiting, answers, strict=True)
                if "LastEvaluatedKey" in answer and len(answer["Items"]) < limit
            ]
        found.sort(key=self._sort_key, reverse=not ascending)
        return found[:limit]

    def share(self, owner: str, limit: int, behind: str | None) -> tuple[list[Item], bool]:
        """Up to `limit` of the same in descending order, and whether more follow, at an eighth of the reads.

        Each partition is asked for twice its share. Items behind the end of one of them wait for the next page. A page
        may therefore be short, and has one item at least if there is one. Raises Unavailable as `query` does.
        """
        place = {**self._place, "ScanIndexForward": False, "Limit": 2 * limit // PARTITIONS + 1}
        requests = [{**place, **range_of(self._key, one, before=behind)} for one in partitions_of(owner)]
        answers = [answer_of(outcome) for outcome in self._plane.call_all("Query", requests)]
        for request, answer in zip(requests, answers, strict=True):
            self._meter.queried(request, told(answer, "Items"))
        ends = [self._sort_key(answer["LastEvaluatedKey"]) for answer in answers if "LastEvaluatedKey" in answer]
        items = (item for answer in answers for item in answer["Items"])
        found = sorted(items, key=self._sort_key, reverse=True)
        known = [item for item in found if self._sort_key(item) >= max(ends, default="")]
        return known[:limit], bool(ends) or len(known) > limit

    def _sort_key(self, item: Item) -> str:
        return str(item[self._key[1]]["S"])


def _partition(owner: str, number: int) -> str:
    """The first partition has the owner's own id, and the others a number behind it."""
    return f"{owner}/{number}" if number else owner


def partitions_of(owner: str) -> Sequence[str]:
    """All partitions of an owner."""
    return [_partition(owner, number) for number in range(PARTITIONS)]
