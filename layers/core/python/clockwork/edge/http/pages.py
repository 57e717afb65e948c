"""Pages of a list, no larger than a Lambda may answer, and the tokens that lead from one page to the next.

A token is sealed under the keys of the deployment (`domain.requests.page_tokens`), since the position behind which a
list goes on may be the key of a row that is not its reader's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.requests.page_tokens import opened, sealed
from clockwork.edge.http.request import in_query
from clockwork.flows.check_keys import deployment_keys
from clockwork.flows.world import World

#: Bytes of the items as a Lambda answers them: as a string in JSON, with an escape for every quote, and perhaps for
#: every character that is not ASCII. It may answer 6 MB, see `body.BATCH_BYTES`.
LARGEST_PAGE = 5 * 1024 * 1024
Item = TypeVar("Item")


class PageTokens:
    """The tokens of one list. `place` names its operation and what it lists: they open nowhere else.

    The list of a client names `since_at` as well: no token of the former client of an id opens for the next one.
    """

    def __init__(self, world: World, *place: str | int) -> None:
        self._world = world
        self._place = tuple(map(str, place))

    def position_of(self, token: str | None, pointer: str = "") -> str | None:
        """The position behind which the list goes on, in the nextToken of a request; None for no token.

        Raises InvalidRequest for a token that the list has not given, and Unavailable. `pointer` says where in the body
        the token stands, if it stands there and not in the query.
        """
        if token is None:
            return None
        position = opened(token, self._place, self._world.ticket_keys.get())
        if position is None:
            what = "is not" if pointer else "the query parameter nextToken is not"
            fix = "begin again without nextToken, and use each token in the list that gave it"
            raise InvalidRequest([Problem(pointer or in_query("nextToken"), f"{what} one that this list gives: {fix}")])
        return position

    def token_of(self, position: str | None) -> str | None:
        """The nextToken of a page that goes on behind a position; None for the last page. Raises Unavailable."""
        if position is None:
            return None
        return sealed(position, self._place, deployment_keys(self._world)[0], self._world.random.token())


def page(items: Iterable[tuple[str, Item]], goes_on: str | None) -> tuple[list[Item], str | None]:
    """The items of one page, and the position behind which the next one goes on: None on the last page of a list.

    Each of `items` comes with its position; `goes_on` is that behind all of them. A page that grows larger than
    LARGEST_PAGE ends early, with at least one item.
    """
    shown: list[Item] = []
    size = 0
    last = goes_on
    for position, item in items:
        size += len(json.dumps(json.dumps(item, ensure_ascii=False, default=msgspec.to_builtins)))
        if shown and size > LARGEST_PAGE:
            return shown, last
        shown.append(item)
        last = position
    return shown, goes_on
