"""The files of the console: templates that cannot be talked into markup, and files of others as they were published."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clockwork_client.console.view import HERE, environment, pretty, shown

TEMPLATES = sorted((HERE / "templates").glob("*.html"))
STATIC = HERE / "static"
#: A template with one of these could be talked into markup, a script, or an address of somebody else.
FORBIDDEN = {
    r"\|\s*safe\b": "unescaped text",
    r"\bMarkup\b": "unescaped text",
    r"autoescape": "unescaped text",
    r"\{%-?\s*raw": "unescaped text",
    r"hx-on|hx-vals|hx-vars|js:|javascript:": "a script in an attribute",
    r"\son[a-z]+=\"": "a script in an attribute",
    r"<script(?![^>]*\bsrc=\"/static/)": "a script in a page",
    r"<style|\bstyle\s*=": "a style in a page",
    r"hx-trigger=\"[^\"]*\[": "a filter, which is a script",
    r"(?:href|src|action)=\"(?:https?:|//)": "an address elsewhere",
}


def test_there_are_templates() -> None:
    assert len(TEMPLATES) > 10


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda one: one.name)
def test_a_template_has_nothing_that_acts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert {why for pattern, why in FORBIDDEN.items() if re.search(pattern, text)} == set()


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda one: one.name)
def test_no_class_is_a_text_of_others(path: Path) -> None:
    classes = re.findall(r"class=\"([^\"]*)\"", path.read_text(encoding="utf-8"))
    computed = [one.strip() for each in classes for one in re.findall(r"\{\{(.*?)\}\}", each)]
    assert [one for one in computed if not re.match(r"'|\{'|kind$|tone$|\w+\.tone$|w\.tone\(", one)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda one: one.name)
def test_each_address_of_a_template_is_quoted_and_begins_here(path: Path) -> None:
    found = re.findall(r"\b(?:href|action|hx-get)=(\S{0,40})", path.read_text(encoding="utf-8"))
    begins = ('"/', '"#', '"{{')
    assert [one for one in found if not one.startswith(begins)] == []


def test_what_is_not_known_is_a_fault_and_no_blank() -> None:
    made = environment()
    assert made.undefined.__name__ == "StrictUndefined"
    assert made.from_string("{{ one }}").render(one="<b>\u202e") == r"&lt;b&gt;\u202e"
    assert made.from_string("{{ one }}").render(one=None) == ""


def test_a_half_surrogate_and_a_deep_payload_are_shown() -> None:
    assert shown("a\ud800b") == "a\\ud800b"
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    assert pretty(deep) == "nested too deep to be shown"


def test_files_of_others_are_as_they_were_published() -> None:
    told = dict(re.findall(r"^(\S+)\n(?:  .*\n)+?  inside .*\n  sha256   ([0-9a-f]{64})$", vendored(), re.MULTILINE))
    theirs = {path.name for path in STATIC.iterdir() if path.name.endswith((".min.js", ".woff2"))}
    assert set(told) == theirs
    assert {name: hashlib.sha256((STATIC / name).read_bytes()).hexdigest() for name in told} == told


def test_each_file_of_others_names_its_package_its_licence_and_its_tarball() -> None:
    parts = vendored().split("\n\n")[1:]
    assert len(parts) == 2
    for part in parts:
        assert re.search(r"package  \S+ \d+\.\d+\.\d+, licence \S+", part)
        assert re.search(r"tarball  \S+\.tgz\n  sha256   [0-9a-f]{64}\n", part)


def vendored() -> str:
    return (STATIC / "VENDORED.txt").read_text(encoding="utf-8")


def helped(*command: str) -> tuple[str, set[str]]:
    """The help of a command, and the modules that it loads."""
    program = (
        "import sys; from clockwork_client.cli import main\n"
        f"try: main([*{command!r}, '--help'])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return ran.stdout, set(ran.stderr.split())


def test_the_help_of_the_command_loads_no_more_than_the_help_of_all() -> None:
    words, loaded = helped("console")
    assert "--read-only" in words
    assert loaded - helped()[1] == {"clockwork_client.cli.console"}
