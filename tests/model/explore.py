"""A small explicit-state checker: every state that a protocol can reach, and every step out of each.

A protocol is a function from a state to its steps. A step is fair if the system takes it by itself: a message is handed
out, a process goes on, a lease ends. Crashes, losses and what people do are not fair. Safety: no step raises Broken.
Liveness: from every reachable state a good one can be reached by fair steps alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

S = TypeVar("S", bound=Hashable)
#: Whether it is fair, what it is called, and the state after it.
Step = tuple[bool, str, S]
#: A model that reaches more is too large to be judged.
MOST_STATES = 400_000


class Broken(Exception):
    """A step that the protocol must not be able to take."""


def explore(start: S, steps: Callable[[S], Iterable[Step[S]]], is_good: Callable[[S], bool]) -> tuple[int, str | None]:
    """How many states are reachable, and what is wrong with the protocol, with the way to it; None if nothing is."""
    came_from: dict[S, tuple[S, str] | None] = {start: None}
    into: dict[S, list[S]] = {start: []}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        try:
            for is_fair, name, after in steps(state):
                if after not in came_from:
                    came_from[after] = state, name
                    into[after] = []
                    queue.append(after)
                if is_fair:
                    into[after].append(state)
        except Broken as broken:
            return len(came_from), f"{broken}: {_way(came_from, state)}"
        if len(came_from) > MOST_STATES:
            raise AssertionError("too many states to judge")
    return len(came_from), _stuck(came_from, into, is_good)


def _stuck(
    came_from: dict[S, tuple[S, str] | None], into: dict[S, list[S]], is_good: Callable[[S], bool]
) -> str | None:
    """A state that reaches no good one by fair steps, with the way to it."""
    ending = [state for state in came_from if is_good(state)]
    ends = set(ending)
    while ending:
        fresh = [state for state in into[ending.pop()] if state not in ends]
        ends.update(fresh)
        ending += fresh
    stuck = next((state for state in came_from if state not in ends), None)
    return None if stuck is None else f"stuck at {stuck}: {_way(came_from, stuck)}"


def _way(came_from: dict[S, tuple[S, str] | None], state: S) -> str:
    way: list[str] = []
    step = came_from[state]
    while step is not None:
        state, name = step
        way.append(name)
        step = came_from[state]
    return " > ".join(reversed(way))
