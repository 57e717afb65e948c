"""The contract of `ports.Jobs`."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.named.changes import with_series
from clockwork.domain.named_jobs import Definition, JobState, NamedJob
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.storage.codec import FORMAT, encode
from clockwork.ports import Jobs, KeyRow
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.contract.examples import DAY, DUE
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World


def job(key: str = "tick", client_id: str = "acme", revision: int = 1, size: int = 1) -> NamedJob:
    definition = Definition(
        target=HttpTarget("https://example.com"),
        payload=Payload(b"x" * size),
        recurrence=Recurrence(every=Every(10_000, DUE)),
    )
    return with_series(
        NamedJob(
            client_id=client_id,
            job_key=key,
            incarnation=1,
            revision=revision,
            state=JobState.ACTIVE,
            partition_id="p000",
            definition=definition,
            as_sent=b"{}",
            created_at=DUE,
            changed_at=DUE,
            chain_after_at=DUE,
            asked_at=DUE,
        )
    )


@pytest.fixture
def jobs(world: World) -> Jobs:
    return world.jobs


def test_a_job_is_kept_whole(jobs: Jobs) -> None:
    assert jobs.save(None, job())
    assert jobs.get([("acme", "tick")]) == [job()]


def test_jobs_come_in_the_order_asked_for_and_missing_ones_are_none(jobs: Jobs) -> None:
    for key in ("b", "a"):
        jobs.save(None, job(key))
    asked = [("acme", "a"), ("acme", "missing"), ("other", "a"), ("acme", "b"), ("acme", "a")]
    assert jobs.get(asked) == [job("a"), None, None, job("b"), job("a")]
    assert list(jobs.get([])) == []


def test_more_jobs_than_one_call_takes_are_all_answered(jobs: Jobs) -> None:
    made = [job(f"k{number:03d}") for number in range(130)]
    for one in made:
        jobs.save(None, one)
    assert jobs.get([("acme", one.job_key) for one in made]) == made


def test_a_change_counts_only_if_it_was_made_of_what_is_stored(jobs: Jobs) -> None:
    first, second, third = job(), job(revision=2), job(revision=3)
    assert not jobs.save(first, second)
    assert jobs.save(None, first)
    assert not jobs.save(None, second)
    assert jobs.save(first, second)
    assert not jobs.save(first, third)
    assert jobs.get([("acme", "tick")]) == [second]


def test_a_repeat_of_a_stored_change_counts_as_stored(jobs: Jobs) -> None:
    assert jobs.save(None, job())
    assert jobs.save(None, job())
    assert jobs.save(job(), job(revision=2))
    assert jobs.save(job(), job(revision=2))


def test_of_two_writers_of_a_job_at_once_one_wins(jobs: Jobs) -> None:
    for number in range(30):
        writers = [msgspec.structs.replace(job(f"k{number}"), reason=f"v{one}") for one in range(3)]
        assert sorted(at_once(*(partial(jobs.save, None, one) for one in writers))) == [False, False, True]


def test_jobs_are_listed_by_prefix_in_the_order_of_their_keys(world: World, jobs: Jobs) -> None:
    keys = ["a", "a/1", "a/2", "a/\u00e9", "b", "~", "\U0001f600"]
    for key in keys:
        jobs.save(None, job(key))
    jobs.save(None, job("a/other", client_id="other"))
    world.key_rows.claim(KeyRow("acme", "a/key", "digest", DUE, "seed", "p000", DUE + DAY), DUE)

    def listed(*which: Any) -> list[str]:
        return [job_key for job_key, _ in jobs.list("acme", *which).jobs]

    assert listed(None, None, 10) == keys
    assert listed("a/", None, 10) == ["a/1", "a/2", "a/\u00e9"]
    assert listed("a", "a/1", 2) == ["a/2", "a/\u00e9"]
    assert listed("b", "c", 2) == []
    assert listed(None, "b", 10) == ["~", "\U0001f600"]


@pytest.mark.parametrize(("limit", "pages"), [(1, [1, 1, 1]), (2, [2, 1]), (3, [3]), (4, [3])])
def test_a_page_of_a_list_tells_whether_jobs_are_left(jobs: Jobs, limit: int, pages: list[int]) -> None:
    for number in range(3):
        jobs.save(None, job(f"k{number}"))
    found: list[int] = []
    after, more = None, True
    while more:
        listed = jobs.list("acme", None, after, limit)
        found += [len(listed.jobs)] if listed.jobs else []
        after, more = listed.jobs[-1][0] if listed.jobs else None, listed.more
    assert found == pages


def test_a_page_of_a_list_is_one_read_however_large_the_jobs_are(aws_world: AwsWorld) -> None:
    jobs = aws_world.jobs
    for number in range(6):
        jobs.save(None, job(f"k{number}", size=250_000))
    first = jobs.list("acme", None, None, 10)
    assert (0 < len(first.jobs) < 6, first.more) == (True, True)
    rest = jobs.list("acme", None, first.jobs[-1][0], 10)
    assert [job_key for job_key, _ in (*first.jobs, *rest.jobs)] == [f"k{number}" for number in range(6)]


def test_the_parts_of_a_scan_are_disjoint_and_together_everything(world: World, jobs: Jobs) -> None:
    keys = [f"k{number}" for number in range(40)]
    for key in keys:
        jobs.save(None, job(key, client_id=f"client-{key}"))
    world.key_rows.claim(KeyRow("acme", "key", "digest", DUE, "seed", "p000", DUE + DAY), DUE)
    found = [
        one.job_key for part in range(3) for page in jobs.scan(part, 3) for one in page if isinstance(one, NamedJob)
    ]
    assert sorted(found) == sorted(keys)


def test_a_scan_reads_page_by_page_and_never_a_key_row(aws_world: AwsWorld) -> None:
    """A day of keyed creates is millions of key rows beside a few jobs."""
    client = aws_world.aws.client("dynamodb")
    for number in range(60):
        large = b"x" * 60_000
        aws_world.jobs.save(None, msgspec.structs.replace(job(f"k{number}"), as_sent=large))
    for number in range(400):
        aws_world.key_rows.claim(KeyRow("acme", f"key-{number}", "digest", DUE, "seed", "p000", DUE + DAY), DUE)
    answers: list[int] = []
    client.meta.events.register("after-call.dynamodb.Scan", lambda parsed, **_: answers.append(len(parsed["Items"])))
    found = 0
    for pages, page in enumerate(aws_world.jobs.scan(0, 1), start=1):
        assert len(answers) == pages, "a page is read when it is asked for"
        found += len(page)
    assert len(answers) > 1
    assert sum(answers) == found == 60


@pytest.mark.parametrize(("blob", "fault"), [(b"\x01garbage", Undecodable), (bytes([FORMAT + 1]), NewerFormat)])
def test_a_job_that_cannot_be_read_is_answered_with_why_beside_the_others(
    world: World, jobs: Jobs, blob: bytes, fault: type[Exception]
) -> None:
    for key in ("a", "b"):
        jobs.save(None, job(key))
    world.damage_job("acme", "a", blob)
    unreadable, readable = jobs.get([("acme", "a"), ("acme", "b")])
    assert (type(unreadable), readable) == (fault, job("b"))
    assert {type(one) for page in jobs.scan(0, 1) for one in page} == {fault, NamedJob}
    assert [(key, type(one)) for key, one in jobs.list("acme", None, None, 9).jobs] == [("a", fault), ("b", NamedJob)]
    assert not jobs.save(None, job("a", revision=2))


@pytest.mark.parametrize("other", [{"client_id": "acmd"}, {"job_key": "b"}])
def test_a_row_that_names_another_job_than_its_key_cannot_be_read(aws_world: AwsWorld, other: dict[str, str]) -> None:
    """One bit makes the name of one client that of another."""
    aws_world.jobs.save(None, job("a"))
    aws_world.damage_job("acme", "a", encode(msgspec.structs.replace(job("a"), **other)))
    (found,) = aws_world.jobs.get([("acme", "a")])
    assert type(found) is Undecodable


def test_only_the_row_of_a_job_that_ends_has_an_end(aws_world: AwsWorld) -> None:
    ended = msgspec.structs.replace(job("a"), expires_at=DUE + 1)
    assert aws_world.jobs.save(None, ended)
    assert aws_world.jobs.save(None, job("b"))
    assert aws_world.jobs.save(ended, job("a", revision=2))
    assert aws_world.jobs.save(job("b"), msgspec.structs.replace(job("b"), expires_at=DUE + 1))
    items = aws_world.aws.client("dynamodb").scan(TableName=aws_world.table("jobs"), ConsistentRead=True)["Items"]
    ends = {item["jobKey"]["S"]: item.get("expiresAt") for item in items}
    assert ends == {"a": None, "b": {"N": str(-(-(DUE + 1) // 1000))}}
