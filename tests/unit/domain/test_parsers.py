"""Parsers on arbitrary text and bytes: each reads back a written value, and refuses all else with its own error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clockwork.domain import ids, instants, keys
from clockwork.domain.clients import CLIENT_ID, Client, principal_of
from clockwork.domain.cron.exclude_parser import InvalidExclude, parse_exclude
from clockwork.domain.cron.zones import UnknownZone, zone_named
from clockwork.domain.errors import InvalidRequest, NewerFormat, Undecodable
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import AnonymousJob, ExecutionId, InvalidId, NamedJobId
from clockwork.domain.jobs import Occurrence
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Deliver, Of
from clockwork.domain.requests import page_tokens
from clockwork.domain.storage import codec
from clockwork.edge.description.queries import check_query
from clockwork.edge.http.body import SINGLE_BYTES, BodyTooLarge, NotJson, canonical, parse
from clockwork.edge.http.request import Request
from clockwork.flows.access import Caller
from clockwork.settings import TOLD, InvalidSettings, Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from clockwork.targets.sqs import SqsTarget
from clockwork.targets.web.webhooks import InvalidSecret, key_of
from tests.support.deployed_settings import deployed
from tests.support.examples import execution, release
from tests.support.searches import drawn

quick = settings(max_examples=drawn(200), deadline=None)
PARTS = "abyz019-_"
DIGITS = "0123456789"
JOB_KEYS = st.text(min_size=1, max_size=60).filter(ids.is_job_key)
INSTANTS = st.integers(0, instants.LAST)
#: Texts in the form of RFC 3339, of instants that need not exist.
LIKE_INSTANTS = st.from_regex(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,10})?([Zz]|[+-][0-9]{2}:[0-9]{2})?",
    fullmatch=True,
)
OCCURRENCES = st.builds(
    Occurrence,
    client_id=st.text(PARTS, min_size=1, max_size=20),
    due_at=INSTANTS,
    created_at=INSTANTS,
    target=st.builds(HttpTarget, st.text(max_size=30)) | st.builds(SqsTarget, st.text(max_size=30)),
    payload=st.builds(Payload, st.binary(max_size=60), st.booleans()),
    retry_policy=st.builds(RetryPolicy, max_attempts=st.integers(1, 100)),
    record=st.sampled_from(("none", "full")),
    tags=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)


def reads_or_refuses(parse: Callable[[], Any], *refusals: type[Exception]) -> Any:
    """The parsed value, or None if the parser raises a documented refusal. Any other error fails the test."""
    try:
        return parse()
    except refusals as refused:
        assert str(refused)
        return None


# Bodies.


@quick
@given(st.binary(max_size=60))
def test_any_bytes_are_json_or_refused(raw: bytes) -> None:
    value = reads_or_refuses(lambda: parse(raw, SINGLE_BYTES), NotJson, BodyTooLarge)
    if value is not None:
        assert value == json.loads(raw)


@quick
@given(st.text('{}[]",:.eE+-0123456789 \\untrfalseNIy\ud800é', max_size=40))
@example('{"a":1,"a":2}')
@example("[NaN]")
@example("-Infinity")
@example('"\\ud800"')
def test_what_is_nearly_json_is_read_as_it_is_meant_or_refused(text: str) -> None:
    value = reads_or_refuses(lambda: parse(text.encode("utf-8", "surrogatepass"), SINGLE_BYTES), NotJson)
    if value is not None:
        assert parse(canonical(value), SINGLE_BYTES) == value


# Instants, ids, keys.


@quick
@given(st.text(max_size=40) | LIKE_INSTANTS)
@example("0001-01-01T00:00:00+23:59")
@example("9999-12-31T23:59:59-23:59")
def test_any_text_is_an_instant_or_refused(text: str) -> None:
    at = reads_or_refuses(lambda: instants.from_text(text), ValueError)
    if at is not None and 0 <= at <= instants.LAST:
        assert instants.from_text(instants.to_text(at)) == at


@quick
@given(st.from_regex(CLIENT_ID, fullmatch=True), JOB_KEYS, st.integers(1, 10**6))
def test_a_named_jobs_id_says_whose_it_is(client_id: str, job_key: str, incarnation: int) -> None:
    place = NamedJobId(client_id, job_key, incarnation)
    assert ids.decode_job(place.job_id) == place


@quick
@given(
    st.sampled_from("po"), st.integers(0, 999), INSTANTS, st.text(PARTS, min_size=1, max_size=64), st.integers(0, 499)
)
def test_an_anonymous_jobs_id_says_where_it_is(kind: str, shard: int, at: int, row_id: str, element: int) -> None:
    place = AnonymousJob(f"{kind}{shard:03d}", keys.row_key(at, row_id), element)
    assert ids.decode_job(place.job_id) == place
    execution_id = ExecutionId(place.job_id, at, "0")
    assert ids.decode_execution(str(execution_id)) == execution_id


@quick
@given(st.text(max_size=60) | st.text(PARTS, max_size=60).map("n".__add__) | st.text(f"{PARTS}.{DIGITS}", max_size=60))
def test_any_text_is_an_execution_or_a_job_or_refused(text: str) -> None:
    job = reads_or_refuses(lambda: ids.decode_job(text), InvalidId)
    assert job is None or job.job_id == text
    decoded = reads_or_refuses(lambda: ids.decode_execution(text), InvalidId)
    assert decoded is None or str(decoded) == text


@quick
@given(st.text(max_size=60) | st.text(max_size=20).map("arn:aws:sts::123456789012:assumed-role/".__add__))
def test_any_text_has_a_principal(arn: str) -> None:
    assert principal_of(principal_of(arn)) == principal_of(arn)


@quick
@given(st.text(max_size=40) | st.text(max_size=40).map("whsec_".__add__))
def test_any_text_is_a_signing_secret_or_refused(text: str) -> None:
    reads_or_refuses(lambda: key_of(text), InvalidSecret)


# Schedules.


@quick
@given(st.lists(st.text(max_size=20) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True), max_size=4))
def test_any_texts_are_exclusions_or_refused(entries: list[str]) -> None:
    reads_or_refuses(lambda: parse_exclude(entries), InvalidExclude)


@quick
@given(st.text(max_size=80))
@example("../../etc/passwd")
@example("\x00")
@example("Europe")
@example("a" * 5_000)
@example("\ud800")
def test_any_text_is_a_zone_or_refused(text: str) -> None:
    reads_or_refuses(lambda: zone_named(text), UnknownZone)


# Rows, messages, records.

BLOBS: dict[str, tuple[Callable[[bytes], Any], bytes]] = {
    "row": (codec.decode_row, codec.encode_row([release().occurrence, release()])),
    "packed row": (codec.decode_row, codec.encode_packed({0: release().occurrence, 1: release().occurrence})),
    "execution": (
        lambda blob: codec.decode(blob, Execution),
        codec.encode(execution(State.DEAD, occurrence=release().occurrence)),
    ),
    "client": (lambda blob: codec.decode(blob, Client), codec.encode(Client(client_id="acme", principals=("arn",)))),
}


@quick
@given(name=st.sampled_from(sorted(BLOBS)), raw=st.binary(max_size=60), place=st.floats(0, 1), keep=st.booleans())
def test_a_blob_is_read_or_refused_wherever_it_is_broken(name: str, raw: bytes, place: float, keep: bool) -> None:
    decode, whole = BLOBS[name]
    cut = int(place * len(whole))
    broken = whole[:cut] + raw + (whole[cut + len(raw) :] if keep else b"")
    reads_or_refuses(lambda: decode(broken), Undecodable, NewerFormat)
    reads_or_refuses(lambda: decode(raw), Undecodable, NewerFormat)


@quick
@given(st.text(max_size=60) | st.text("AgEC0+/=kw", max_size=60))
def test_any_text_is_a_message_or_refused(body: str) -> None:
    reads_or_refuses(lambda: codec.decode_message(body), Undecodable, NewerFormat)


@quick
@given(st.lists(OCCURRENCES, min_size=1, max_size=4))
def test_occurrences_survive_rows_and_messages(occurrences: list[Occurrence]) -> None:
    assert list(codec.decode_row(codec.encode_row(occurrences)).values()) == occurrences
    placed = dict(enumerate(occurrences))
    earliest_at = min(one.due_at for one in occurrences)
    assert codec.decode_row(codec.encode_packed(placed)) == placed
    releases = [Deliver(Of("a"), occurrence=one, run_at=earliest_at, attempt=n + 1) for n, one in placed.items()]
    assert codec.decode_message(codec.encode_message(releases)) == releases


@quick
@given(OCCURRENCES, st.sampled_from(list(State)), st.integers(0, 100), st.none() | st.text(max_size=20))
def test_a_record_survives_its_blob(occurrence: Occurrence, state: State, number: int, reason: str | None) -> None:
    record = execution(state, occurrence=occurrence, attempt=number, reason=reason)
    assert codec.decode(codec.encode(record), Execution) == record


# Paths, queries, headers and callers of a request.


def requested(**query: str) -> Request:
    event = {"headers": {"idempotency-key": query.get("key", "k"), "if-match": query.get("key", "1")}}
    return Request(event, Caller("arn"), {}, query)


@quick
@given(st.text(max_size=60) | st.text(f"{PARTS}.{DIGITS}", max_size=60))
def test_any_text_is_no_page_token_and_a_prefix_and_limit_or_refused(token: str) -> None:
    assert page_tokens.opened(token, ("listJobs", "acme", "0"), ["k" * 44]) is None

    def read(name: str) -> Any:
        request = requested(**{name: token})
        check_query("list_jobs", request.query)
        return request.limit() if name == "limit" else request.key(name)

    assert (key := reads_or_refuses(lambda: read("prefix"), InvalidRequest)) is None or ids.is_job_key(key)
    limit = reads_or_refuses(lambda: read("limit"), InvalidRequest)
    assert limit is None or 1 <= limit <= 1_000


@quick
@given(st.text(max_size=300))
def test_any_text_is_a_header_or_refused(text: str) -> None:
    request = requested(key=text)
    reads_or_refuses(request.revision, InvalidRequest)
    assert len(request.faults()) <= 1


# Settings.


DEPLOYED = deployed(Settings())
#: An environment has the tables in one variable.
VARIABLES = sorted({one.upper() for one in TOLD} | {"TABLES"})


def test_settings_survive_the_environment_which_holds_no_default() -> None:
    chosen = DEPLOYED.with_(stage="local", shards=5, pools=("a", "b,c"), fair_queue=True)
    environment = chosen.to_environment()
    assert Settings.from_environment(environment) == chosen.named()
    assert len(environment) == len(DEPLOYED.to_environment()) + 4 == 6


def test_each_setting_without_which_no_lambda_works_is_named() -> None:
    with pytest.raises(InvalidSettings, match=r"TABLES has no jobs_table; .*RELEASE_QUEUE_URL is not set"):
        Settings.from_environment({"TABLES": "t"})


def test_queues_without_a_name_have_one_that_derives_from_the_stack() -> None:
    beside = "https://sqs.us-east-1.amazonaws.com/123456789012"
    told = {"STACK_NAME": "Prod", "ORDERED_RELEASE_QUEUE_URL": "Old-Ordered.fifo"}
    read = Settings.from_environment({**DEPLOYED.to_environment(), **told})
    assert read.release_dead_letter_queue_url == f"{beside}/Prod-DeadLetters"
    assert read.ordered_release_dead_letter_queue_url == f"{beside}/Prod-OrderedDeadLetters.fifo"
    # A name stands for the URL of a queue beside the release queue.
    assert read.ordered_release_queue_url == f"{beside}/Old-Ordered.fifo"
    assert not read.has_kafka
    assert read.kafka_ordered_release_queue_url == ""
    read = Settings.from_environment({**DEPLOYED.to_environment(), "KAFKA_RELEASE_QUEUE_URL": "Clockwork-KafkaRelease"})
    assert read.lanes == {"kafka": (f"{beside}/Clockwork-KafkaRelease", f"{beside}/Clockwork-KafkaOrderedRelease.fifo")}


@quick
@given(
    st.sampled_from(VARIABLES),
    st.text(max_size=20) | st.text('[]"0123456789,TrueFals', max_size=12),
)
@example("POOLS", "5")
@example("POOLS", '["a", 5]')
@example("POOLS", '"ab"')
@example("SHARDS", "9" * 5_000)
def test_any_text_is_a_setting_or_refused(name: str, text: str) -> None:
    environment = DEPLOYED.to_environment() | {name: text}
    read = reads_or_refuses(lambda: Settings.from_environment(environment), InvalidSettings)
    if read is not None:
        assert all(isinstance(pool, str) for pool in read.pools)
        assert Settings.from_environment(read.to_environment()) == read


def test_what_a_refusal_of_settings_says_names_the_setting() -> None:
    environment = DEPLOYED.to_environment() | {"POOLS": "5"}
    with pytest.raises(InvalidSettings, match="POOLS"):
        Settings.from_environment(environment)
