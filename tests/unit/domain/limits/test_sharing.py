"""The clients that have company in an environment, or crowd it, and for how long either counts."""

from __future__ import annotations

import pytest

from clockwork.domain.limits.sharing import CROWDS_FOR_MS, MET_FOR_MS, PAUSED_FOR_MS, Company

NOW = 1_000_000


def test_a_client_alone_has_no_company_however_many_messages_it_has() -> None:
    company = Company()
    assert not company.has_others("acme")
    company.note({"acme": 10}, NOW)
    company.note({"acme": 10}, NOW + 1)
    assert not company.has_others("acme")
    assert company.has_others("globex")


def test_a_client_counts_for_a_minute_after_it_was_met() -> None:
    company = Company()
    company.note({"globex": 1}, NOW)
    company.note({"acme": 1}, NOW + MET_FOR_MS - 1)
    assert company.has_others("acme")
    company.note({"acme": 1}, NOW + MET_FOR_MS)
    assert not company.has_others("acme")


@pytest.mark.parametrize(
    ("messages", "crowding"),
    [
        ({"acme": 10}, {"acme"}),
        ({"acme": 9}, set()),
        ({"acme": 5, "globex": 4}, set()),
        ({"acme": 8, "globex": 2}, {"acme"}),
        ({"acme": 4, "globex": 4, "initech": 2}, {"acme", "globex"}),
        ({"acme": 7, "globex": 3}, {"acme"}),
        ({"acme": 2, "globex": 2, "initech": 2, "umbrella": 2, "hooli": 2}, set()),
    ],
)
def test_more_than_three_tenths_of_a_full_batch_crowd(messages: dict[str, int], crowding: set[str]) -> None:
    company = Company()
    company.note(messages, NOW)
    assert {client_id for client_id in messages if company.crowds(client_id)} == crowding


def test_a_client_crowds_for_a_while_and_is_one_of_those_that_share_in_any_case() -> None:
    company = Company()
    company.note({"acme": 10}, NOW)
    company.note_crowding("globex", NOW + 5_000)
    assert (company.crowding_with("acme"), company.crowding_with("initech")) == (2, 3)
    company.note({"initech": 1}, NOW + CROWDS_FOR_MS)
    assert (company.crowds("acme"), company.crowds("globex")) == (False, True)
    assert (company.crowding_with("acme"), company.crowding_with("globex")) == (2, 1)


def test_what_an_environment_remembers_is_bounded_by_what_it_met_within_a_minute() -> None:
    company = Company()
    for number in range(10_000):
        company.note({f"client-{number}": 10}, NOW + number * 100)
    assert len(company._met_at) == MET_FOR_MS // 100
    assert len(company._crowded_at) == CROWDS_FOR_MS // 100


def test_a_clock_that_goes_back_neither_fails_nor_keeps_anybody_for_ever() -> None:
    company = Company()
    company.note({"acme": 1}, NOW + 5_000)
    company.note({"globex": 1}, NOW)
    company.note({"initech": 1}, NOW + 5_000 + MET_FOR_MS)
    assert list(company._met_at) == ["initech"]


def test_a_paused_client_is_no_company_and_does_not_crowd_until_it_was_found_paused_for_the_last_time() -> None:
    company = Company()
    company.note({"globex": 10}, NOW)
    company.note_paused("globex", NOW)
    for at in (NOW, NOW + PAUSED_FOR_MS - 1):
        company.note({"globex": 5, "acme": 5}, at)
        company.note_crowding("globex", at)
        assert not company.has_others("acme")
        assert company.crowding_with("acme") == 1
    company.note({"globex": 5, "acme": 5}, NOW + PAUSED_FOR_MS)
    assert company.has_others("acme")
    assert company.crowding_with("acme") == 2
