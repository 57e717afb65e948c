"""The sentences of Markdown pages and of Python files: docstrings, and the `#:` comments that document a constant.

Headings and all other comments are asides: notes of a few words, to which the rules for sentences do not apply.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Stands in a sentence for one code span, whatever the span holds.
CODE = "CODE"

_FENCE = re.compile(r"\s*(```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*#{1,6}\s")
_ROW = re.compile(r"\s*\|")
_RULE = re.compile(r"\s*\|[\s|:-]+\|?\s*$")
_SPAN = re.compile(r"(`+)(?:.+?)\1", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", re.DOTALL)
_URL = re.compile(r"<?https?://[^\s>)]*[^\s>).,;:]>?")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_STRESS = re.compile(r"\*\*|(?<!\w)[*_](?=\w)|(?<=[\w.,:;)])[*_](?!\w)")
#: A period of these ends no sentence.
_SHORT = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx|resp|St|Nr|No)\.", re.IGNORECASE)
_END = re.compile(r"""(?<=[.!?])(?:["')\]]*)\s+(?=["'(\[]*[A-Z0-9/.$<{-])""")
_WORD = re.compile(r"\w")


class Sentence(NamedTuple):
    """One sentence. `is_cell` tells that a table's cell holds the sentence, where fragments are usual."""

    path: Path
    line: int
    text: str
    is_cell: bool = False

    @property
    def words(self) -> int:
        """The number of words; a code span is one."""
        return sum(1 for part in self.text.split() if _WORD.search(part))


class _Block(NamedTuple):
    """A paragraph, an item of a list, a cell of a table, or an aside, with the line on which the block begins."""

    line: int
    text: str
    is_cell: bool = False
    is_aside: bool = False


def sentences(path: Path) -> list[Sentence]:
    """All sentences of a page (`.md`) or of a Python file (`.py`). Raises ValueError for any other file."""
    return sentences_and_asides(path)[0]


def sentences_and_asides(path: Path) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences of a file, and its asides: the headings of a page, or the comments of a Python file.

    Raises ValueError for any other file.
    """
    found: tuple[list[Sentence], list[Sentence]] = ([], [])
    for block in _blocks_of(path):
        found[block.is_aside].extend(Sentence(path, line, one, block.is_cell) for line, one in _split(block))
    return found


def _blocks_of(path: Path) -> list[_Block]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return list(_blocks(text, 1))
    if path.suffix == ".py":
        documented = (
            block for line, doc in _documentation(text) for block in _blocks(doc, line, code_is_indented=True)
        )
        return [*documented, *_comments(text)]
    raise ValueError(f"{path} is neither a page nor a Python file")


def _comments(source: str) -> Iterator[_Block]:
    """Each run of comments but those that document a constant."""
    run: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or token.string.startswith("#:"):
            continue
        if run and run[-1][0] != token.start[0] - 1:
            yield _Block(run[0][0], "\n".join(text for _, text in run), is_aside=True)
            run = []
        run.append((token.start[0], token.string.lstrip("# ")))
    if run:
        yield _Block(run[0][0], "\n".join(text for _, text in run), is_aside=True)


def _documentation(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each docstring and of each run of `#:` comments."""
    for node in _statements(source):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            doc = ast.get_docstring(node)
            if doc is not None:
                yield node.body[0].lineno, doc
    run: list[str] = []
    lines = [*source.splitlines(), ""]
    for number, line in enumerate(lines, 1):
        if line.strip().startswith("#:"):
            run.append(line.strip()[2:].removeprefix(" "))
        elif run:
            yield number - len(run), "\n".join(run)
            run = []


def _statements(source: str) -> Iterator[ast.AST]:
    """The module and its statements, at any depth. No expression has a docstring."""
    waiting: deque[ast.AST] = deque([ast.parse(source)])
    while waiting:
        node = waiting.popleft()
        yield node
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def _blocks(text: str, first_line: int, *, code_is_indented: bool = False) -> Iterator[_Block]:
    """The blocks of a Markdown text. Code and HTML comments are left out."""
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    open_block: list[str] = []
    begun, fence, table_rows = first_line, "", 0
    for number, line in enumerate([*text.splitlines(), ""], first_line):
        found = _FENCE.match(line)
        is_fenced = bool(fence) or found is not None
        if found is not None and (not fence or found[1] == fence):
            fence = "" if fence else found[1]
        is_row = not is_fenced and _ROW.match(line) is not None
        is_code = code_is_indented and not open_block and line.startswith(("    ", ">>>", "..."))
        heading = None if is_fenced else _HEADING.match(line)
        ends = is_fenced or is_row or is_code or not line.strip() or heading is not None
        if (ends or _ITEM.match(line)) and open_block:
            yield _Block(begun, "\n".join(open_block))
            open_block = []
        if heading is not None:
            yield _Block(number, line[heading.end() :], is_aside=True)
        if is_row:
            table_rows += 1
            if table_rows > 1 and not _RULE.match(line):
                cells = _SPAN.sub(CODE, line.replace(r"\|", "/")).strip().strip("|").split("|")
                yield from (_Block(number, cell, is_cell=True) for cell in cells)
            continue
        table_rows = 0
        if not ends:
            if not open_block:
                begun = number
            item = _ITEM.match(line)
            open_block.append(line[item.end() if item else 0 :].strip().removeprefix("> "))


def _split(block: _Block) -> Iterator[tuple[int, str]]:
    """(line, sentence) of each sentence of a block. A list of nothing but links has none."""
    text = _IMAGE.sub("", _SPAN.sub(lambda span: CODE + "\n" * span[0].count("\n"), block.text))
    if not _WORD.search(_LINK.sub("", text)):
        return
    text = _STRESS.sub("", _URL.sub(CODE, _LINK.sub(r"\1", text)))
    text = _SHORT.sub(lambda found: found[0].replace(".", ""), text)
    at = 0
    for end in [*(found.end() for found in _END.finditer(text)), len(text)]:
        one = text[at:end]
        if _WORD.search(one):
            lead = len(one) - len(one.lstrip())
            yield block.line + text[: at + lead].count("\n"), " ".join(one.split())
        at = end
