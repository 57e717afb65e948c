"""Page tokens: they open where they were given, nowhere else, and tell their readers nothing."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clockwork.domain.requests.page_tokens import opened, sealed
from tests.support.searches import drawn

KEY, OTHER, SALT = "k" * 44, "o" * 44, "s" * 22
PLACE = ("listUpcoming", "acme", "0")


texts = st.text(st.characters(codec="utf-8"), max_size=300)


@settings(max_examples=drawn(200), deadline=None)
@given(texts.filter(bool), st.lists(texts, max_size=4), texts)
def test_a_token_opens_where_it_was_given(position: str, place: list[str], salt: str) -> None:
    assert opened(sealed(position, place, KEY, salt), place, [KEY]) == position


@pytest.mark.parametrize(
    "place", [("listDead", "acme", "0"), ("listUpcoming", "globex", "0"), ("listUpcoming", "acme", "1"), ()]
)
def test_a_token_opens_nowhere_else(place: tuple[str, ...]) -> None:
    assert opened(sealed("1700000000000#x", PLACE, KEY, SALT), place, [KEY]) is None


def test_no_two_places_are_alike() -> None:
    token = sealed("x", ("a", "bc"), KEY, SALT)
    assert [opened(token, place, [KEY]) for place in (("ab", "c"), ("a", "bc", ""), ("abc",))] == [None] * 3


def test_the_first_key_seals_and_all_open() -> None:
    token = sealed("x", PLACE, KEY, SALT)
    assert opened(token, PLACE, [OTHER, KEY]) == opened(token, PLACE, [KEY, OTHER]) == "x"
    assert opened(token, PLACE, [OTHER]) is opened(token, PLACE, []) is None


def test_a_token_with_any_byte_changed_does_not_open() -> None:
    token = sealed("1700000000000#x", PLACE, KEY, SALT)
    raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    for place in range(len(raw)):
        changed = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        assert opened(urlsafe_b64encode(changed).rstrip(b"=").decode(), PLACE, [KEY]) is None
    for text in ("", "x", token[:-1], token + "A", token + "=", token[:40], "~", "é", "\ud800"):
        assert opened(text, PLACE, [KEY]) is None


def test_a_token_tells_neither_its_position_nor_how_long_that_is() -> None:
    tokens = [sealed(position, PLACE, KEY, SALT) for position in ("a", "secret-merger-0400", "x" * 255)]
    assert {len(token) for token in tokens} == {len(tokens[0])}
    for token in tokens:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        assert b"secret" not in raw and b"xx" not in raw


def test_a_position_has_another_token_each_time_and_no_two_positions_share_a_key_stream() -> None:
    assert sealed("a", PLACE, KEY, SALT) != sealed("a", PLACE, KEY, "another")
    # Not even where the salt comes twice.
    first, second = (urlsafe_b64decode(sealed(one, PLACE, KEY, SALT) + "==") for one in ("a", "b"))
    assert first[:16] != second[:16]
    assert sum(one != other for one, other in zip(first[16:272], second[16:272], strict=True)) > 200
