"""The base of the resources: the pages of a list, and a part of the API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from clockwork_client.answers import Answer
from clockwork_client.calls import Caller, segment
from clockwork_client.errors import NotConfigured, UnexpectedAnswer

Item = TypeVar("Item", bound=Answer)
#: The fields of a page that tell how many it looked at.
_LOOKED_AT = ("jobsRead", "executionsRead")


def items_of(answer: Any, kind: type[Item]) -> list[Item]:
    """The items of an answer that lists some. Raises UnexpectedAnswer."""
    items = answer.get("items") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise UnexpectedAnswer("a page has no items")
    return [kind(item) for item in items]


class Pages(Generic[Item]):
    """An iterator over the items of all pages; a page is fetched when the one before is used up.

    `next_token` leads to the page after the present one. Pass it as `next_token=` to go on later. `looked_at`: how many
    the filter of the list has looked at in the pages so far, shown or not; 0 where the API does not tell.
    """

    def __init__(self, fetch: Callable[[str | None], Any], kind: type[Item], next_token: str | None) -> None:
        self.next_token = next_token
        self.looked_at = 0
        self._fetch = fetch
        self._kind = kind
        self._page: Iterator[Item] = iter(())
        self._is_last = False

    def __repr__(self) -> str:
        return f"<Pages of {self._kind.__name__}>"

    def __iter__(self) -> Pages[Item]:
        return self

    def __next__(self) -> Item:
        while True:
            for item in self._page:
                return item
            if self._is_last:
                raise StopIteration
            self._turn()

    def page(self) -> list[Item]:
        """The rest of the present page, or else the next one whole, by one call at most. Empty behind the last one.

        A page may be empty while `next_token` leads on: where few items pass a filter.
        """
        left = list(self._page)
        if not left and not self._is_last:
            self._turn()
            left = list(self._page)
        return left

    def _turn(self) -> None:
        answer = self._fetch(self.next_token)
        items = items_of(answer, self._kind)
        token = answer.get("nextToken")
        if token is not None and (token == self.next_token or not isinstance(token, str)):
            raise UnexpectedAnswer("a page leads to itself")
        self.looked_at += sum(int(answer.get(name) or 0) for name in _LOOKED_AT)
        self._page = iter(items)
        self.next_token = token
        self._is_last = token is None


def dry(is_dry: bool) -> dict[str, str]:
    """The query of a call that is to write nothing, or of one that does."""
    return {"dryRun": "true"} if is_dry else {}


class Resource:
    """A part of the API. `client_id` is the client that calls are for unless they name another."""

    def __init__(self, caller: Caller, client_id: str | None) -> None:
        self._call = caller.call
        self._machine = caller.machine
        self._client_id = client_id

    def __repr__(self) -> str:
        of = "" if self._client_id is None else f" of {self._client_id!r}"
        return f"<{type(self).__name__}{of}>"

    def _client(self, client_id: str | None) -> str:
        found = client_id or self._client_id
        if found is None:
            raise NotConfigured("this call needs a client: set client_id= or CLOCKWORK_CLIENT_ID")
        return segment(found)

    def _pages(self, path: str, kind: type[Item], query: Mapping[str, object], token: str | None) -> Pages[Item]:
        return Pages(lambda after: self._call("GET", path, query={**query, "nextToken": after}), kind, token)
