"""The progress of a run: the set item, which has the mark of each node that has ended, by generation.

A redrive opens a *generation* for the nodes that start again; all others keep theirs. The mark of a node is the set in
which its *number* lies: generation * 1000 + index. An outcome is added to a set, and never taken away as long as its
generation is that of the node. A repeat of it therefore changes nothing, and whoever adds decides by the answer of its
own addition. The marks of generations that nodes have left count for nothing, and go when a generation is opened.
Otherwise a run that is redriven 255 times would have 25,000 of them, and pay for them with each write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from clockwork.domain import keys
from clockwork.domain.workflows.graph import Graph, Mark, behind, decoded

#: Generations of a node lie this far apart among the numbers.
_APART = 1_000
#: A run is redriven until it has so many generations.
MOST_GENERATIONS = 255


class Marks(msgspec.Struct, frozen=True):
    """Numbers of nodes, by the mark that they have or get."""

    ok: frozenset[int] = frozenset()
    bad: frozenset[int] = frozenset()
    off: frozenset[int] = frozenset()

    def __or__(self, more: Marks) -> Marks:
        return Marks(self.ok | more.ok, self.bad | more.bad, self.off | more.off)

    def __sub__(self, less: Marks) -> Marks:
        return Marks(self.ok - less.ok, self.bad - less.bad, self.off - less.off)


class Sets(msgspec.Struct, frozen=True, kw_only=True):
    """The set item of a run.

    `execution_id` is the run's, and `run_id` derives from that. `partition_id` is the shard of the run when it began.
    `generation`: the run's, which is the number of its attempt. `stop`: the generation that is stopped; 0: none is.
    `generations` has one byte a node.
    """

    run_id: str
    execution_id: str
    partition_id: str
    generation: int
    generations: bytes
    graph: bytes
    expires_at: int
    stop: int = 0
    marks: Marks = Marks()

    @property
    def nodes(self) -> Graph:
        """The graph."""
        return decoded(self.graph)

    @property
    def is_stopped(self) -> bool:
        """Whether no node of this generation may start any more."""
        return self.stop >= self.generation

    def number(self, index: int) -> int:
        """The number of a node in its own generation."""
        return number_of(self.generations[index], index)

    def has(self, number: int) -> bool:
        """Whether the node of this number has ended."""
        return any(number in some for some in (self.marks.ok, self.marks.bad, self.marks.off))

    def is_current(self, number: int) -> bool:
        """Whether this is the number of a node in its own generation, under the graph of this run."""
        index = number % _APART
        return index < len(self.generations) and self.number(index) == number

    def outcomes(self) -> dict[int, Mark]:
        """The mark of each node that has ended, in its own generation. A failure outweighs any other mark."""
        found: dict[int, Mark] = {}
        for index in range(len(self.generations)):
            number = self.number(index)
            mark: Mark | None = "bad" if number in self.marks.bad else "ok" if number in self.marks.ok else None
            mark = mark or ("off" if number in self.marks.off else None)
            if mark is not None:
                found[index] = mark
        return found

    def numbers(self, indexes: Iterable[int]) -> frozenset[int]:
        """The numbers of nodes in their own generations."""
        return frozenset(map(self.number, indexes))


def is_sound(sets: Sets) -> bool:
    """Whether the fields of stored sets go together. A damaged one mostly contradicts another.

    The newest generation of a node is that of the run, unless a redrive found that all nodes have ended.
    """
    is_newest = max(sets.generations, default=0) == sets.generation
    return (
        len(sets.generations) == sets.nodes.size > 0
        and min(sets.generations) > 0
        and (is_newest or len(sets.outcomes()) == sets.nodes.size)
        and max(sets.generations) <= sets.generation <= MOST_GENERATIONS
        and 0 <= sets.stop <= MOST_GENERATIONS
        and keys.is_shard(sets.partition_id)
    )


def number_of(generation: int, index: int) -> int:
    """The number of a node in a generation."""
    return generation * _APART + index


def first_sets(
    run_id: str, execution_id: str, partition_id: str, generation: int, graph: Graph, expires_at: int, stop: int = 0
) -> Sets:
    """The sets of a run that begins with this generation, perhaps stopped."""
    return Sets(
        run_id=run_id,
        execution_id=execution_id,
        partition_id=partition_id,
        generation=generation,
        generations=bytes([generation]) * graph.size,
        graph=graph.encoded(),
        expires_at=_whole_second(expires_at),
        stop=stop,
    )


def opened(before: Sets, generation: int, roots: Collection[int], expires_at: int) -> Sets:
    """The sets with a new generation of these nodes and of all that come after them. The others keep their marks."""
    again = behind(before.nodes, roots)
    generations = bytes(generation if index in again else old for index, old in enumerate(before.generations))
    kept_until = max(before.expires_at, _whole_second(expires_at))
    now = msgspec.structs.replace(before, generation=generation, generations=generations, expires_at=kept_until)
    marks = (frozenset(filter(now.is_current, some)) for some in msgspec.structs.astuple(before.marks))
    return msgspec.structs.replace(now, marks=Marks(*marks))


def _whole_second(at: int) -> int:
    """The end of the second of an instant (ms): the sets are kept for whole seconds."""
    return -(-at // 1_000) * 1_000
