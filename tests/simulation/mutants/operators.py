"""Random mutants of decisions and flows: one operator or constant changed, at a place that the seed draws."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.simulation.mutants.equivalents import EQUIVALENT
from tests.simulation.mutants.mutant import PACKAGE, Mutant

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}


@dataclass(frozen=True)
class Place:
    """An expression in a file of the package, and its replacement. `lines` are those of its statement."""

    file: str
    lines: Sequence[int]
    node: ast.expr
    source: Sequence[str]
    instead: str
    #: Its number among the changes of the file that are written alike.
    number: int = 1

    @property
    def name(self) -> str:
        """Identifies the change independently of line numbers: file, line as written, expression and replacement."""
        _, text, _ = self._parts()
        written = self.source[self.node.lineno - 1].strip()
        which = f" (no. {self.number})" if self.number > 1 else ""
        return f"{self.file}: {written}: {' '.join(text.split())} -> {self.instead}{which}"

    def mutant(self) -> Mutant:
        """The mutant. It replaces the whole file, so that the replaced text occurs exactly once."""
        before, text, after = self._parts()
        return Mutant(self.name, self.file, ((before + text + after, f"{before}({self.instead}){after}"),))

    def _parts(self) -> tuple[str, str, str]:
        """The file before the expression, the expression, and the file after it."""
        first, last = self.node.lineno - 1, (self.node.end_lineno or self.node.lineno) - 1
        ends = "".join(self.source[first:last]).encode() + self.source[last].encode()[: self.node.end_col_offset]
        rest = self.source[last].encode()[self.node.end_col_offset :].decode()
        head = ends[: self.node.col_offset].decode()
        before, after = "".join(self.source[:first]) + head, rest + "".join(self.source[last + 1 :])
        return before, ends[self.node.col_offset :].decode(), after


def shuffled(seed: int) -> list[Place]:
    """All possible changes of decisions and flows without known equivalents, in an order that the seed decides.

    The position of a change depends only on its name, so a draw stays the same except for lines that change.
    """
    places = [place for place in all_places() if place.name not in EQUIVALENT]
    return sorted(places, key=lambda place: hashlib.sha256(f"{seed} {place.name}".encode()).digest())


def all_places() -> Iterator[Place]:
    """All possible changes of decisions and flows, file by file."""
    for part in ("domain", "flows"):
        for file in sorted(PACKAGE.glob(f"{part}/**/*.py")):
            yield from places_in(str(file.relative_to(PACKAGE)), file.read_text())


def places_in(file: str, source: str) -> Iterator[Place]:
    """All possible changes of one source."""
    alike: Counter[str] = Counter()
    for place in _places_below(file, source.splitlines(keepends=True), ast.parse(source), ()):
        alike[place.name] += 1
        yield replace(place, number=alike[place.name])


def _places_below(file: str, source: Sequence[str], parent: ast.AST, lines: Sequence[int]) -> Iterator[Place]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.keyword) and node.arg in ("frozen", "kw_only", "strict"):
            continue  # assertions: about types, which mypy checks, or about the equal length of two sides
        if isinstance(node, ast.Assign) and isinstance(parent, ast.Module):
            continue  # a named margin or bound: one more is another choice, not a fault
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            node.annotation = ast.Name("_")  # types decide nothing at run time
        if isinstance(node, ast.expr):
            for changed in changes_of(node):
                yield Place(file, lines, node, source, ast.unparse(changed))
        yield from _places_below(file, source, node, _lines_of(node) or lines)


def _lines_of(node: ast.AST) -> Sequence[int]:
    """The lines of a statement, without those of the statements in it; empty for anything else."""
    if not isinstance(node, ast.stmt):
        return ()
    body = getattr(node, "body", None)
    return range(node.lineno, (body[0].lineno if body else (node.end_lineno or node.lineno) + 1))


def changes_of(node: ast.expr) -> Iterator[ast.expr]:
    """Replacements of an expression: comparisons flipped, and/or swapped, `not` dropped, numbers and signs changed."""
    match node:
        case ast.Compare(ops=[op], left=left, comparators=comparators) if type(op) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(op)]()], comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC and not _is_of_text(node):
            yield ast.BinOp(left, ARITHMETIC[type(op)](), right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)


def _is_of_text(node: ast.BinOp) -> bool:
    """Whether it adds texts, lists or tuples: these have no `-`, so the change would fail at once and prove nothing."""
    sides = [side for side in (node.left, node.right) if isinstance(side, ast.JoinedStr | ast.List | ast.Tuple)]
    return bool(sides) or any(isinstance(c, ast.Constant) and isinstance(c.value, str | bytes) for c in _sides(node))


def _sides(node: ast.BinOp) -> tuple[ast.expr, ast.expr]:
    return node.left, node.right
