"""Writes results into the documentation, between markers that name the block."""

from __future__ import annotations

from pathlib import Path

from bench.reporting.headlines import headlines
from infra import ROOT

PAGE = ROOT / "docs/performance.md"
README = ROOT / "README.md"


def publish(name: str, markdown: str) -> None:
    """Write a block of docs/performance.md, and quote its headlines in the README."""
    write_block(name, markdown, PAGE)
    write_block("headlines", headlines(PAGE.read_text(encoding="utf-8")), README)


def write_block(name: str, markdown: str, page: Path) -> None:
    """Replace the text between `<!-- begin:name -->` and `<!-- end:name -->`; a page without them gets them at its end.

    A page that does not exist is made.
    """
    begin, end = f"<!-- begin:{name} -->", f"<!-- end:{name} -->"
    text = page.read_text(encoding="utf-8") if page.exists() else "# Performance\n"
    before, found, rest = text.partition(begin)
    after = rest.partition(end)[2] if found else "\n"
    start = before if found else before.rstrip("\n") + "\n\n"
    page.write_text(f"{start}{begin}\n{markdown.strip()}\n{end}{after}", encoding="utf-8")
