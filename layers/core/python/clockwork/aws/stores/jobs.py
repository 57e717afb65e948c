"""Named jobs in the jobs table in DynamoDB: the whole job in one blob, its stamp and state in plain attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clockwork.aws.apart import decoded
from clockwork.aws.errors import ConditionFailed
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import Unreadable
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.storage.codec import encode
from clockwork.ports import Listed

#: Sorts behind every jobKey: a jobKey is printable, and U+10FFFF is no character.
_LAST = "\U0010ffff"
#: Sorts behind every key row and before every jobKey, which holds no control character.
_FIRST = " "


class AwsJobs:
    """`ports.Jobs` on a table with the key `clientId` / `jobKey` and TTL on `expiresAt`.

    It holds the Idempotency-Keys, too.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "clientId", "jobKey")

    def get(self, job_refs: Sequence[tuple[str, str]]) -> Sequence[NamedJob | Unreadable | None]:
        if not job_refs:
            return []
        found = self._table.get_all(job_refs)
        return [_from_item(found[job_ref]) if job_ref in found else None for job_ref in job_refs]

    def save(self, before: NamedJob | None, after: NamedJob) -> bool:
        try:
            self._table.replace(_to_item(after), "version", None if before is None else before.stamp)
        except ConditionFailed as refused:
            return refused.item is not None and _from_item(refused.item) == after
        return True

    def list(self, client_id: str, prefix: str | None, after_key: str | None, limit: int) -> Listed:
        low = max(prefix or _FIRST, _FIRST if after_key is None else after_key + "\x00")
        high = (prefix or "") + _LAST
        if low > high:
            return Listed([], more=False)
        items, more = self._table.query(client_id, (low, high), limit)
        return Listed([(item["jobKey"]["S"], _from_item(item)) for item in items], more)

    def scan(self, part: int, parts: int) -> Iterator[Sequence[NamedJob | Unreadable]]:
        """Key rows, of which there may be a day of creates, are filtered at the table: they have no job."""
        for items in self._table.scan_part(part, parts, "attribute_exists(#job)"):
            yield [_from_item(item) for item in items]


def _to_item(job: NamedJob) -> Item:
    return written(
        clientId=job.client_id,
        jobKey=job.job_key,
        version=job.stamp,
        state=str(job.state),
        job=encode(job),
        **({"expiresAt": seconds(job.expires_at)} if job.expires_at else {}),
    )


def _from_item(item: Item) -> NamedJob | Unreadable:
    try:
        return decoded(item, "job", NamedJob, client_id="clientId", job_key="jobKey")
    except Unreadable as fault:
        return type(fault)(f"the job {item['jobKey']['S']} of {item['clientId']['S']}: {fault}")
