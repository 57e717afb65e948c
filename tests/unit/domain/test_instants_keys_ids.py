"""Instants, keys and ids: a text is read back as it was written, and any other text is refused."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain import ids, instants, keys
from clockwork.domain.ids import AnonymousJob, InvalidId, NodeJob


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-05-05T10:00:00.250Z", 1_777_975_200_250),
        ("2026-05-05T12:00:00.250+02:00", 1_777_975_200_250),
        ("2026-05-05T10:00:00Z", 1_777_975_200_000),
        ("2026-05-05T10:00:00.2509Z", 1_777_975_200_250),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_an_instant_is_read_to_the_millisecond(text: str, at: int) -> None:
    assert instants.from_text(text) == at


@pytest.mark.parametrize("text", ["2026-05-05T10:00:00", "2026-05-05", "tomorrow", "", "2026-13-01T00:00:00Z"])
def test_an_instant_without_zone_or_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"zone|RFC 3339"):
        instants.from_text(text)


@given(st.integers(0, instants.LAST // 10))
def test_an_instant_survives_its_text(at: int) -> None:
    assert instants.from_text(instants.to_text(at)) == at


@given(st.integers(0, instants.LAST), st.integers(0, instants.LAST))
def test_keys_sort_by_instant_and_an_edge_lies_behind_its_millisecond(a: int, b: int) -> None:
    assert (keys.row_key(a, "zzz") <= keys.edge_key(b)) == (a <= b)
    assert keys.row_key(a, "") > keys.BEGINNING
    assert keys.instant_of(keys.row_key(a, "x")) == keys.instant_of(keys.edge_key(a)) == a


def test_the_beginning_of_time_is_instant_zero() -> None:
    assert keys.instant_of(keys.BEGINNING) == 0


def test_a_job_id_names_its_row_and_element() -> None:
    job = AnonymousJob("p003", keys.row_key(1_700_000_000_000, "abc-_9"), 12)
    assert ids.decode_job(job.job_id) == job
    assert job.job_id[0] == "a"
    assert "." not in job.job_id


def test_the_id_of_a_node_names_its_shard_run_generation_and_index() -> None:
    node = NodeJob("p003", ids.run_of("job.1.0"), 255, 99)
    assert ids.decode_job(node.job_id) == node
    assert ids.is_node(node.job_id)
    assert "." not in node.job_id
    assert (ids.client_in(node.job_id), ids.key_of(node.job_id)) == (None, None)
    assert ids.run_of("job.1.0") != ids.run_of("job.2.0")


@pytest.mark.parametrize(
    "parts", ["p003/{run}/0/1", "p003/{run}/1/-1", "p003/{run}/01/1", "p3/{run}/1/1", "p003/short/1/1", "p003/{run}/1"]
)
def test_an_id_of_a_node_that_encoding_never_makes_is_refused(parts: str) -> None:
    with pytest.raises(InvalidId):
        ids.decode_job("w" + ids.encode_part(parts.format(run=ids.run_of("x")).encode()))


@given(st.text(max_size=100))
def test_any_text_is_an_id_or_refused_as_none(text: str) -> None:
    try:
        job = ids.decode_job(text)
    except InvalidId:
        return
    assert job.job_id == text


@pytest.mark.parametrize("place", range(0, 60, 7))
def test_a_tampered_job_id_names_another_row_or_none(place: int) -> None:
    job_id = AnonymousJob("p003", keys.row_key(1_700_000_000_000, "x" * 22), 0).job_id
    changed = job_id[:place] + ("B" if job_id[place] != "B" else "C") + job_id[place + 1 :]
    try:
        assert ids.decode_job(changed).job_id != job_id
    except InvalidId:
        assert changed != job_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "b" + AnonymousJob("p000", keys.row_key(1, "x"), 0).job_id[1:],
        AnonymousJob("p000", keys.row_key(1, "x"), -1).job_id,
        AnonymousJob("p/00", keys.row_key(1, "x"), 0).job_id,
        AnonymousJob("p000", "1#x", 0).job_id,
        AnonymousJob("p000", keys.row_key(1, "x y"), 0).job_id,
        AnonymousJob("p000", keys.row_key(1, "x"), 0).job_id + "=",
        "a" + ids.encode_part(b"p000/0000000000001#x/00"),
        "a\u00e9",
    ],
)
def test_what_clockwork_did_not_make_is_no_job_id(text: str) -> None:
    with pytest.raises(InvalidId):
        ids.decode_job(text)


def test_an_execution_id_sorts_by_instant_and_decodes_without_a_lookup() -> None:
    job_id = AnonymousJob("p000", keys.row_key(999, "x"), 0).job_id
    early, late = ids.only_execution(job_id, 999), ids.only_execution(job_id, 1000)
    assert early < late
    assert ids.decode_execution(early) == ids.ExecutionId(job_id, 999, "0")
    for text in ("", job_id, f"{job_id}.1.0", f"{early}.", f"{job_id}.0000000000999."):
        with pytest.raises(InvalidId):
            ids.decode_execution(text)


def test_derived_ids_depend_on_every_part_and_on_where_parts_end() -> None:
    assert ids.derive("a-b", "c") != ids.derive("a", "b-c")
    assert ids.derive("a", 1) == ids.derive("a", 1)
    assert len(ids.derive("a")) == 22
    assert ids.digest_of([b"ab", b"c"]) != ids.digest_of([b"a", b"bc"])


def test_ids_that_are_derived_together_are_those_that_are_derived_one_by_one() -> None:
    parts = ("acme", "c2hhcmQtb3duZXItMDAwMQ")
    assert list(ids.derive_each(parts, range(12))) == [ids.derive(*parts, index) for index in range(12)]
    assert list(ids.derive_each((), ("a",))) == [ids.derive("a")]
    # Ids that were made before stay the same.
    assert ids.derive(*parts, 7) == "h9opna5KbD_Fi4Ec3SOuUH"


@pytest.mark.parametrize(
    "hidden",
    [
        *("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad"),  # zero widths and the soft hyphen
        *("\u202a", "\u202e", "\u2066", "\u2069", "\u200e", "\u200f", "\u061c"),  # controls of direction
        *("\u00a0", "\u1680", "\u2000", "\u200a", "\u202f", "\u205f", "\u3000", "\u2800"),  # blanks
        *("\u2028", "\u2029", "\t", "\n", "\x7f", "\x85", "\x00"),  # separators and controls
        *("\u115f", "\u1160", "\u3164", "\uffa0", "\u17b4", "\u17b5", "\u034f"),  # fillers and what joins
        *("\ufe00", "\ufe0f", "\u180b", "\u180e", "\u180f", "\U000e0100", "\U000e01ef"),  # selectors
        *("\U000e0001", "\U000e0041", "\U000e007f", "\U0001d173", "\ufff9"),  # tags, formats of music and of notes
        *("\ue000", "\ud800", "\U000e0080", "\U0010ffff"),  # of private use, halves, and not assigned
    ],
)
def test_a_name_holds_no_character_that_a_reader_does_not_see(hidden: str) -> None:
    for text in (hidden, f"a{hidden}", f"{hidden}a", f"a{hidden}b"):
        assert ids.hidden_in(text) == hidden
        assert not ids.is_job_key(text)


def test_a_name_may_be_of_any_script() -> None:
    for text in (
        "a b",
        "caf\u00e9",
        "cafe\u0301",
        "\u65e5\u672c",
        "\ud55c\uae00",
        "\u0645\u0631\u062d",
        "\u0928\u093f",
        "\U0001f600",
        "\u1780\u17b6",
    ):
        assert ids.hidden_in(text) == ""
        assert ids.is_job_key(text)


@pytest.mark.long
def test_all_that_unicode_has_to_ignore_is_hidden() -> None:
    kinds = ("Cc", "Cf", "Zl", "Zp", "Zs", "Cs", "Co", "Cn")
    shown = [one for one in map(chr, range(0x110000)) if unicodedata.category(one) in kinds and not ids.hidden_in(one)]
    assert shown == [" "]
