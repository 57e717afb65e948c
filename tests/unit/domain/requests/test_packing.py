"""Packing: the request alone decides which of its jobs share a row of a minute and 8 KB at most. Each is put once."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clockwork.domain import ids, keys
from clockwork.domain.clients import Client
from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.requests.create import NewJob, occurrence_of
from clockwork.domain.requests.packing import (
    LARGEST_ROW,
    MINUTE_MS,
    MOST_IN_ROW,
    Outline,
    groups_of,
)
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import releases_of, row_of_many
from clockwork.domain.timeline import Row
from clockwork.edge.requests.jobs import payload_of
from clockwork.edge.requests.outlines import outlines_of
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.support.examples import NOW, occurrence
from tests.support.searches import drawn

OUTLINES = st.lists(
    st.builds(
        Outline,
        index=st.just(0),
        at=st.none() | st.integers(NOW - MINUTE_MS, NOW + 3 * MINUTE_MS),
        delay_ms=st.integers(0, 3 * MINUTE_MS),
        payload_bytes=st.integers(0, 9_000),
        alike=st.sampled_from([b"a", b"b", b"c" * 3_000]),
    ),
    max_size=120,
).map(lambda found: [msgspec.structs.replace(one, index=index) for index, one in enumerate(found)])


@given(outlines=OUTLINES)
def test_a_group_is_within_one_minute_and_every_job_is_in_one_group_at_most(outlines: list[Outline]) -> None:
    groups = groups_of(outlines, NOW)
    placed = [index for group in groups for index in group.indexes]
    assert len(placed) == len(set(placed))
    for group in groups:
        instants = [outlines[index].due_at(NOW) for index in group.indexes]
        assert group.at == min(instants)
        assert len({at // MINUTE_MS for at in instants}) == 1
        assert 2 <= len(group.indexes) <= MOST_IN_ROW
    assert groups_of(outlines, NOW) == groups


@given(outlines=OUTLINES)
def test_a_job_is_left_to_itself_only_if_no_neighbour_fits_beside_it(outlines: list[Outline]) -> None:
    placed = {index for group in groups_of(outlines, NOW) for index in group.indexes}
    by_minute: dict[int, list[Outline]] = {}
    for outline in outlines:
        by_minute.setdefault(outline.due_at(NOW) // MINUTE_MS, []).append(outline)
    for some in by_minute.values():
        for one, following in pairwise(some):
            if one.index not in placed and following.index not in placed:
                assert one.payload_bytes + following.payload_bytes + len(one.alike) + len(following.alike) > 5_000


def test_two_jobs_share_a_row_if_their_settings_fit_into_it_together() -> None:
    def outlines(*alike: bytes) -> list[Outline]:
        return [Outline(index, NOW, 0, 10, each) for index, each in enumerate(alike)]

    assert len(groups_of(outlines(b"a" * 3_000, b"a" * 3_000), NOW)) == 1
    assert len(groups_of(outlines(b"a" * 1_000, b"b" * 1_000), NOW)) == 1
    assert groups_of(outlines(b"a" * 3_000, b"b" * 3_000), NOW) == []


TAGS = st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=20), max_size=3)
TARGETS = st.fixed_dictionaries(
    {"type": st.just("http"), "url": st.sampled_from(["https://example.com/a", "https://example.com/" + "b" * 500])},
    optional={"headers": TAGS, "timeoutSeconds": st.integers(1, 30)},
)
JOBS = st.fixed_dictionaries(
    {
        "schedule": st.fixed_dictionaries({"delaySeconds": st.integers(0, 90)}),
        "target": TARGETS,
        "payload": st.text(max_size=300) | st.lists(st.integers(), max_size=40),
    },
    optional={"tags": TAGS, "record": st.sampled_from(["none", "full"])},
)
#: A client with every setting for its jobs, each as long as it may be.
LAVISH = Client(
    client_id="c" * 64,
    signing_secrets=("clockwork/" + "s" * 200, "clockwork/" + "t" * 200),
    retry_policy=RetryPolicy(99, "fixed", 1.5, 2.5, "none", 3.5, tuple(range(400, 440))),
    relevancy_window_seconds=1.5,
    retention_days=1_000,
)


def as_new_job(index: int, element: dict[str, Any]) -> NewJob:
    target = element["target"]
    return NewJob(
        index=index,
        target=HttpTarget(
            target["url"],
            headers=target.get("headers", {}),
            timeout_seconds=target.get("timeoutSeconds", 15),
            private=True,
        ),
        payload=payload_of(element["payload"]),
        delay_ms=element["schedule"]["delaySeconds"] * 1000,
        record=element.get("record"),
        tags=element.get("tags", {}),
    )


@settings(max_examples=drawn(60))
@given(elements=st.lists(JOBS, min_size=2, max_size=80))
def test_a_row_has_at_most_8_kb_whatever_its_jobs_and_their_client_say(elements: list[dict[str, Any]]) -> None:
    made = {i: occurrence_of(as_new_job(i, element), LAVISH, NOW) for i, element in enumerate(elements)}
    for group in groups_of(outlines_of(elements), NOW):
        by_place = {place: made[index] for place, index in enumerate(group.indexes)}
        key = keys.row_key(group.at, "x" * 22)
        row = row_of_many("p000", key, by_place, NOW)
        names = len("partitionIdscheduleTimeoccurrencesexpiresAt")
        assert len(row.blob) + len(key) + len("p000") + names + 12 <= LARGEST_ROW
        assert codec.decode_row(row.blob) == by_place
        assert min(one.due_at for one in by_place.values()) == group.at


@pytest.mark.parametrize(
    "element",
    [
        None,
        {},
        {"schedule": 1},
        {"schedule": {"cron": "* * * * *"}},
        {"schedule": {"at": "soon"}},
        {"schedule": {"at": "9999-01-01T00:00:00Z"}},
        {"schedule": {"delaySeconds": 1e300}},
        {"schedule": {"delaySeconds": -1}},
        {"schedule": {"delaySeconds": 5}, "jobKey": "named"},
    ],
)
def test_what_has_no_instant_to_be_read_or_a_name_shares_no_row(element: Any) -> None:
    assert outlines_of([element]) == ()


def test_an_outline_is_that_of_the_request_whatever_is_wrong_with_the_job() -> None:
    schedule = {"at": "2023-11-14T22:13:20Z"}
    good, bad = outlines_of([{"schedule": schedule, "payload": "abc"}, {"schedule": schedule, "nonsense": [1]}])
    assert (good.index, good.at, good.payload_bytes) == (0, NOW, 3)
    assert (bad.index, bad.at, bad.payload_bytes) == (1, NOW, len("null"))
    assert json.loads(bad.alike) == {"nonsense": [1]}


def test_equal_jobs_cost_little_more_than_their_payloads() -> None:
    due = {place: occurrence(due_at=NOW + place, payload=Payload(b"x" * 200)) for place in range(30)}
    assert len(codec.encode_packed(due)) < 30 * 215 + 200


def test_a_place_without_a_job_is_no_element_and_a_cancelled_one_is_not_released() -> None:
    due = {place: occurrence(due_at=NOW + place) for place in (0, 2, 3)}
    row = row_of_many("p001", keys.row_key(NOW, "x" * 22), due, NOW)
    marked = msgspec.structs.replace(row, cancelled=frozenset({2}))
    releases = releases_of(marked)
    assert [release.run_at for release in releases] == [NOW, NOW + 3]
    assert [ids.decode_job(release.job_id) for release in releases] == [
        ids.AnonymousJob("p001", row.key, 0),
        ids.AnonymousJob("p001", row.key, 3),
    ]


def test_a_packed_row_that_cannot_be_read_is_told_from_a_newer_one() -> None:
    good = codec.encode_packed({0: occurrence()})
    broken = msgspec.msgpack.decode(good[1:])
    broken["jobs"][0][2] = 7
    for blob in (good[:-3], good[:1], good[:1] + msgspec.msgpack.encode(broken)):
        with pytest.raises(Undecodable):
            releases_of(Row("p000", keys.row_key(NOW, "x"), blob, NOW))
    with pytest.raises(NewerFormat):
        codec.decode_row(bytes([codec.FORMAT + 1]) + good[1:])
