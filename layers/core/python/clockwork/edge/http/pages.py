"""Pages of a list, no larger than a Lambda may answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar

import msgspec

#: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html has 6 MB, of which escapes take some.
LARGEST_PAGE = 4 * 1024 * 1024
Item = TypeVar("Item")


def page(items: Iterable[tuple[str, Item]], next_token: str | None) -> tuple[list[Item], str | None]:
    """The items of a page and its nextToken, of items each with the token behind which the list goes on after it.

    `next_token` goes on after the last one. A page that grows too large ends early, with at least one item.
    """
    shown: list[Item] = []
    size = 0
    last = next_token
    for token, item in items:
        size += len(json.dumps(item, ensure_ascii=False, default=msgspec.to_builtins).encode())
        if shown and size > LARGEST_PAGE:
            return shown, last
        shown.append(item)
        last = token
    return shown, next_token
