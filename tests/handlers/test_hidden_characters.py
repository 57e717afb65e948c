"""Names of which a reader does not see all are refused wherever a request gives one, and the character is named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.handlers.handlers import Api

HIDDEN = ["\u200b", "\u202e", "\u00a0", "\u3164", "\ufe0f", "\u00ad", "\U000e0041", "\n"]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize(
    ("pointer", "fields"),
    [
        ("/jobKey", lambda name: {"jobKey": name}),
        ("/orderingKey", lambda name: {"orderingKey": name}),
        ("/tags", lambda name: {"tags": {"team": "x", name: "y"}}),
    ],
)
def test_a_name_with_a_hidden_character_is_refused_and_the_character_is_named(
    hidden: str, pointer: str, fields: Any
) -> None:
    api = Api()
    answer = api.create(**fields(f"order{hidden}17"))
    assert (answer.status, answer.pointers, api.writes) == (422, [pointer], [])
    assert answer.details[0].endswith(f"it holds U+{ord(hidden):04X}")
    assert api.create(**fields("order 17 \u65e5\u672c")).status == 201


@pytest.mark.parametrize("name", ["clientId", "pool", "handler"])
def test_the_other_names_are_plain_ascii(name: str) -> None:
    api = Api()
    target = {"type": "pool", "pool": "etl", "handler": "load"}
    for hidden in HIDDEN:
        odd = f"etl{hidden}"
        answer = api.create(clientId=odd) if name == "clientId" else api.create(target={**target, name: odd})
        assert answer.status in (403, 422)
        assert api.writes == []
