"""Random mutants of the decisions and flows: one operator or constant changed at a place that the seed draws."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.mutants.equivalents import EQUIVALENT
from tests.simulation.mutants.trial import PACKAGE, Mutant

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
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv}


@dataclass(frozen=True)
class Place:
    """An expression in a file, as written, and what may stand there instead."""

    file: str
    line: int
    node: ast.expr
    text: str
    instead: str

    @property
    def name(self) -> str:
        """What identifies the change, whatever line it moves to."""
        return f"{self.file}: {' '.join(self.text.split())} -> {self.instead}"


def draw(count: int, seed: int) -> list[Mutant]:
    """So many different mutants, none of them known to be equivalent to what is shipped."""
    files = sorted([*PACKAGE.glob("domain/*.py"), *PACKAGE.glob("flows/*.py")])
    places = [place for file in files for place in places_in(file) if place.name not in EQUIVALENT]
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    return [_mutant(place) for place in chosen]


def places_in(file: Path) -> Iterator[Place]:
    """All changes that may be made to a file, in the order of its lines."""
    source = file.read_text()
    relative = str(file.relative_to(PACKAGE))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.expr):
            for changed in changes_of(node):
                text = ast.get_source_segment(source, node) or ""
                yield Place(relative, node.lineno, node, text, ast.unparse(changed))


def changes_of(node: ast.expr) -> Iterator[ast.expr]:
    """What an expression may become: comparisons flipped, and/or swapped, `not` dropped, numbers and signs changed."""
    match node:
        case ast.Compare(ops=[op], left=left, comparators=comparators) if type(op) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(op)]()], comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC and not _is_type(node):
            yield ast.BinOp(left, ARITHMETIC[type(op)](), right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)


def _is_type(node: ast.BinOp) -> bool:
    """`+` of texts and the like make no sense with `-`; they would fail at once and prove nothing."""
    return any(isinstance(side, ast.JoinedStr | ast.List | ast.Tuple) for side in (node.left, node.right))


def _mutant(place: Place) -> Mutant:
    """The edit: the whole lines of the expression, so that it occurs once, with their first and last column changed."""
    source = (PACKAGE / place.file).read_text()
    lines = source.splitlines(keepends=True)
    end = place.node.end_lineno or place.line
    before = "".join(lines[: place.line - 1])
    head = lines[place.line - 1].encode()[: place.node.col_offset].decode()
    tail = lines[end - 1].encode()[place.node.end_col_offset :].decode() + "".join(lines[end:])
    return Mutant(
        f"{place.name} (line {place.line})", place.file, ((source, f"{before}{head}({place.instead}){tail}"),)
    )
