"""One dead-letter queue made of several."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.ports import DeadLetter, DeadLetters


class JoinedDeadLetters:
    """`ports.DeadLetters` over several queues. A receipt begins with the index of its queue."""

    def __init__(self, queues: Sequence[DeadLetters]) -> None:
        self._queues = queues

    def receive(self) -> Sequence[DeadLetter]:
        return [
            msgspec.structs.replace(letter, receipt=f"{index} {letter.receipt}")
            for index, queue in enumerate(self._queues)
            for letter in queue.receive()
        ]

    def delete(self, receipt: str) -> None:
        index, _, inner = receipt.partition(" ")
        self._queues[int(index)].delete(inner)
