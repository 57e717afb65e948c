"""Clients as pure values: their pauses, what is left of them, and what they may reach."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import (
    MOST_PAUSES,
    Client,
    Pause,
    as_gone,
    disowns,
    present,
    principal_of,
    standing_of,
    succeeds_at,
    with_pause,
    without_pause,
)
from clockwork.edge.requests.clients import ClientBody
from tests.support.examples import ACME, ALICE, NOW


def test_a_client_is_paused_from_now_on_and_a_second_pause_leaves_the_instant_of_the_first() -> None:
    once = with_pause(ACME, "incident", NOW)
    assert (once.paused, once.pause_reason, once.paused_at) == (True, "incident", NOW)
    again = with_pause(once, "longer", NOW + 5)
    assert (again.paused, again.pause_reason, again.paused_at) == (True, "longer", NOW)


def test_a_resume_keeps_the_pause_for_what_it_held_back() -> None:
    resumed = without_pause(with_pause(ACME, "incident", NOW), NOW + 5)
    assert resumed == msgspec.structs.replace(ACME, pauses=(Pause(NOW, NOW + 5),))
    assert without_pause(ACME, NOW) == ACME


def test_pauses_never_overlap_nor_end_before_they_began_though_clocks_differ() -> None:
    resumed = without_pause(with_pause(ACME, None, NOW), NOW + 5)
    paused = with_pause(resumed, None, NOW + 3)
    assert paused.paused_at == NOW + 5
    assert without_pause(paused, NOW + 4).pauses == (Pause(NOW, NOW + 5), Pause(NOW + 5, NOW + 5))


def test_only_the_last_pauses_are_kept() -> None:
    client = ACME
    for number in range(MOST_PAUSES + 2):
        client = without_pause(with_pause(client, None, NOW + 10 * number), NOW + 10 * number + 5)
    assert client.pauses == tuple(Pause(NOW + 10 * n, NOW + 10 * n + 5) for n in range(2, MOST_PAUSES + 2))


@pytest.mark.parametrize(
    ("client", "disowned"),
    [
        (None, False),
        (ACME, False),
        (msgspec.structs.replace(ACME, since_at=NOW), False),
        (msgspec.structs.replace(ACME, since_at=NOW + 1), True),
        (msgspec.structs.replace(ACME, deleting_at=NOW + 9), True),
    ],
)
def test_a_client_disowns_what_was_created_before_it_was_made_and_everything_once_it_is_deleted(
    client: Client | None, disowned: bool
) -> None:
    assert disowns(client, NOW) is disowned


def test_a_tombstone_keeps_nothing_but_its_revision_and_its_instants() -> None:
    deleting = msgspec.structs.replace(ACME, revision=6, deleting_at=NOW, ended_to="z")
    assert as_gone(deleting, NOW + 9) == Client(client_id="acme", revision=7, deleting_at=NOW, gone_at=NOW + 9)
    assert as_gone(ACME, NOW + 9).deleting_at == NOW + 9


def test_who_gets_an_id_anew_owns_what_is_created_from_shortly_before_the_last_one_was_gone() -> None:
    deleting = msgspec.structs.replace(ACME, deleting_at=NOW)
    assert [succeeds_at(one) for one in (None, ACME, deleting)] == [0, 0, 0]
    assert succeeds_at(as_gone(deleting, NOW + 80_000)) == NOW + 75_000


def test_a_client_is_present_until_it_is_gone() -> None:
    assert present(ACME) is ACME
    deleting = msgspec.structs.replace(ACME, deleting_at=NOW)
    assert present(deleting) is deleting
    assert present(as_gone(ACME, NOW)) is None
    assert present(None) is None


def test_a_client_reaches_only_what_is_listed_by_its_name_or_a_prefix() -> None:
    client = msgspec.structs.replace(
        ACME, allowed_queue_arns=("q",), allowed_topics=("orders", "audit.*"), allowed_target_arns=("arn:a", "arn:b:*")
    )
    assert [client.allows("allowed_queue_arns", one) for one in ("q", "q2", "")] == [True, False, False]
    assert [client.allows("allowed_topics", one) for one in ("orders", "orders2", "audit.", "audit.x", "audit")] == [
        True,
        False,
        True,
        True,
        False,
    ]
    assert [client.allows("allowed_target_arns", one) for one in ("arn:a", "arn:ab", "arn:b:x", "arn:b")] == [
        True,
        False,
        True,
        False,
    ]
    assert not ACME.allows("allowed_target_arns", "")


def test_a_session_of_a_role_counts_as_the_role_and_a_user_as_itself() -> None:
    assert principal_of("arn:aws:sts::111111111111:assumed-role/Admin/bob") == "arn:aws:iam::111111111111:role/Admin"
    assert principal_of(ALICE) == ALICE


def test_the_standing_of_a_client_is_all_that_no_request_sets_and_its_principals() -> None:
    odd: dict[str, Any] = {
        name: (name,) if isinstance(default, tuple) else name
        for name, default in zip(Client.__struct_fields__[1:], Client.__struct_defaults__, strict=True)
    }
    standing = standing_of(Client(client_id="acme", **odd))
    kept = {name for name, value in odd.items() if getattr(standing, name) == value}
    # Nothing was listed while the client could not be read: its index begins anew with the repair.
    follows_from_request = {"runs_indexed_from"}
    assert kept == (set(odd) - set(ClientBody.model_fields) - follows_from_request) | {"principals"}
