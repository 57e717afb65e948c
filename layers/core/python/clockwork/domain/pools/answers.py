"""The largest answer to a worker's claims, and the choice of tickets that fit into one answer.

A Lambda may answer 6 MB (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html). It answers a body as
a string in JSON, with an escape for every quote, and perhaps for every character that is not ASCII. A claimed job
without room in the answer is lost to its worker, together with all others of the call.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from clockwork.targets.message import Payload

#: Bytes of all starts of one answer, as a Lambda answers them.
LARGEST_ANSWER = 5 * 1024 * 1024
#: Bytes of one start beside its payload and its checkpoint: ids and names of bounded length, and a token.
BESIDES = 8 * 1024
#: Bytes of any checkpoint: 32 KiB of JSON, each byte of which may be a character that is escaped by six.
ANY_CHECKPOINT = 6 * 32 * 1024


def answered_bytes(payload: Payload) -> int:
    """The bytes that a payload takes in an answer."""
    text = payload.body.decode()
    return text_bytes(json.dumps(text, ensure_ascii=False) if payload.is_text else text)


def text_bytes(text: str) -> int:
    """The bytes that a text of JSON takes in an answer, as part of a string."""
    return len(json.dumps(text))


def fitting(sizes: Sequence[int], used: int = 0) -> list[int]:
    """The places of the tickets that fit into an answer with `used` bytes taken.

    An empty answer always takes the first.

    Behind the first, small ones go before large ones. A few large ones therefore do not delay small ones, and each call
    answers its first ticket.
    """
    order = [0, *sorted(range(1, len(sizes)), key=sizes.__getitem__)] if sizes else []
    places: list[int] = []
    for place in order:
        if used == 0 or used + sizes[place] <= LARGEST_ANSWER:
            places.append(place)
            used += sizes[place]
    return sorted(places)
