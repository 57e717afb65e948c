"""Pages of a list, no larger than a Lambda may answer, and the tokens that lead from one page to the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import msgspec

from clockwork.domain import ids
from clockwork.domain.errors import InvalidRequest, Problem

#: Bytes of the items as a Lambda answers them: as a string in JSON, with an escape for every quote, and perhaps for
#: every character that is not ASCII. It may answer 6 MB, see `body.BATCH_BYTES`.
LARGEST_PAGE = 5 * 1024 * 1024
Item = TypeVar("Item")


def in_query(name: str) -> str:
    """The pointer to a query parameter. No pointer into a body looks like it: those begin with a slash."""
    return f"?{name}"


def token_of(position: str) -> str:
    """The nextToken of a list that goes on behind a position, which `position_of` reads back."""
    return ids.encode_part(position.encode())


def position_of(token: str | None, read: Callable[[str], str | None], pointer: str = "") -> str | None:
    """The position behind which a list goes on, as `read` takes it from the nextToken; None for no token.

    Raises InvalidRequest for a token that the list has not given: `read` returns None for it, or raises ValueError.
    `pointer` says where in the body the token stands, if it stands there and not in the query.
    """
    if token is None:
        return None
    with suppress(ValueError):
        position = read(token)
        if position is not None:
            return position
    what = "is not" if pointer else "the query parameter nextToken is not"
    raise InvalidRequest([Problem(pointer or in_query("nextToken"), f"{what} one that this list has given")])


def page(items: Iterable[tuple[str, Item]], next_token: str | None) -> tuple[list[Item], str | None]:
    """The items of one page, and its nextToken: None on the last page of a list.

    Each of `items` comes with the token of the page that would start behind it, the last one's is `next_token`. A page
    that grows larger than LARGEST_PAGE ends early, with at least one item.
    """
    shown: list[Item] = []
    size = 0
    last = next_token
    for token, item in items:
        size += len(json.dumps(json.dumps(item, ensure_ascii=False, default=msgspec.to_builtins)))
        if shown and size > LARGEST_PAGE:
            return shown, last
        shown.append(item)
        last = token
    return shown, next_token
