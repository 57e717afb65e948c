"""Names of queues that derive from the stack's name: an environment has no room for the URL of each."""

from __future__ import annotations

from collections.abc import Collection


def release_queue_name(stack_name: str, index: int | str) -> str:
    """The name of the release queue with this number, from 1 on."""
    return f"{stack_name}-Release-{index}"


def private_queue_name(stack_name: str, *, ordered: bool = False) -> str:
    """The name of the release queue of deliveries to private targets, the FIFO one if `ordered`."""
    return f"{stack_name}-PrivateOrderedRelease.fifo" if ordered else f"{stack_name}-PrivateRelease"


def pool_queue_name(stack_name: str, pool: str, queue: str = "") -> str:
    """The name of one of a pool's queues; without one, that of the pool's dead-letter queue."""
    return f"{stack_name}-Pool-{pool}-{queue}" if queue else f"{stack_name}-PoolDead-{pool}"


def pool_setting(name: str, priorities: Collection[str]) -> str:
    """A pool with its priorities as the setting `pools` has it."""
    return f"{name}={','.join(priorities)}"


def pool_of(setting: str) -> tuple[str, list[str]]:
    """The name of a pool and its queues, from the setting."""
    name, _, priorities = setting.partition("=")
    return name, [one + end for end in ("", "-overflow") for one in priorities.split(",")]
