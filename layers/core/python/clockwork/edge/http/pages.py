"""Pages of a list, no larger than a Lambda may answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

#: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html has 6 MB, of which escapes take some.
LARGEST_PAGE = 4 * 1024 * 1024


def page(items: Iterable[tuple[str, dict[str, Any]]], next_token: str | None) -> dict[str, Any]:
    """The answer to a list: each item with the token behind which the list goes on after it.

    `next_token` goes on after the last one. A page that grows too large ends early, with at least one item.
    """
    shown: list[dict[str, Any]] = []
    size = 0
    last = next_token
    for token, item in items:
        size += len(json.dumps(item, ensure_ascii=False).encode())
        if shown and size > LARGEST_PAGE:
            next_token = last
            break
        shown.append(item)
        last = token
    return {"items": shown} | ({} if next_token is None else {"nextToken": next_token})
