"""Names of queues that derive from the name of the stack: an environment has no room for the URL of each."""

from __future__ import annotations

from collections.abc import Collection

#: The settings of queues whose names derive from the stack's, with the use of each.
DERIVED_ALWAYS = {
    "release_dead_letter_queue_url": "DeadLetters",
    "ordered_release_queue_url": "OrderedRelease",
    "ordered_release_dead_letter_queue_url": "OrderedDeadLetters",
}
#: ... with those of Kafka, which derive if there is one.
DERIVED = DERIVED_ALWAYS | {f"kafka_{name}": f"Kafka{use}" for name, use in DERIVED_ALWAYS.items()}
#: The priorities of a pool that names none.
PRIORITIES = ("high", "normal", "low")


def queue_name(stack_name: str, use: str) -> str:
    """The name of the queue with this use, such as Release or OrderedDeadLetters. SQS ends FIFO queues with .fifo."""
    return f"{stack_name}-{use}{'.fifo' if 'Ordered' in use or 'Inbound' in use else ''}"


def release_queue_name(stack_name: str, index: int | str) -> str:
    """The name of the release queue with this number, from 1 on."""
    return f"{stack_name}-Release-{index}"


def private_queue_name(stack_name: str, *, ordered: bool = False) -> str:
    """The name of the release queue of deliveries to private targets, the FIFO one if `ordered`."""
    return queue_name(stack_name, "PrivateOrderedRelease" if ordered else "PrivateRelease")


def pool_queue_name(stack_name: str, pool: str, queue: str = "") -> str:
    """The name of one of a pool's queues; without one, that of the pool's dead-letter queue."""
    return f"{stack_name}-Pool-{pool}-{queue}" if queue else f"{stack_name}-PoolDead-{pool}"


def pool_setting(name: str, priorities: Collection[str]) -> str:
    """A pool as the setting `pools` has it: with its priorities, unless it has all."""
    return name if tuple(priorities) == PRIORITIES else f"{name}={','.join(priorities)}"


def pool_of(setting: str) -> tuple[str, list[str]]:
    """The name of a pool and its queues, from the setting."""
    name, _, priorities = setting.partition("=")
    all_of_them = priorities.split(",") if priorities else PRIORITIES
    return name, [one + end for end in ("", "-overflow") for one in all_of_them]
