"""Every code block of README, quickstart and howto runs in a test; those that cannot are listed with their proof.

A page that runs beside a development server runs its commands, and its files where a comment names them. Its other
programs are listed here: tests/dev/test_page_programs.py runs those beside the server that need more than the page
makes. The rest is for an AWS account, or starts a server or all tests itself.
"""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from infra import ROOT
from tests.dev.pages import FILE, blocks
from tests.dev.test_pages import ELSEWHERE, PAGES
from tests.unit.test_docs import fenced, text_of

README = ROOT / "README.md"
HOWTO = ROOT / "docs/howto"
OUTBOX = HOWTO / "outbox.md"
#: The tests that run a page in another way than beside a server, from its first block to its last.
WHOLE = {
    HOWTO / "ci.md": "tests/unit/test_docs_ci.py",
    HOWTO / "console.md": "tests/dev/test_page_programs.py",
    HOWTO / "kafka.md": "tests/dev/test_kafka_page.py",
}
#: A text of each other block that no server runs, and the test that proves it.
SINGLE = {
    README: {
        "make run ": "tests/unit/local/dev/test_tour.py",
        "cdk bootstrap": "tests/e2e/test_cdk_cli.py",
        '{"environments"': "tests/unit/test_docs_blocks.py",
        "client put acme": "tests/dev/test_page_programs.py",
        "cw.workflow()": "tests/dev/test_page_programs.py",
    },
    HOWTO / "callers.md": {
        '"Statement"': "tests/e2e/test_callers.py",
        "ClockworkClient(self": "tests/infra/test_client_construct.py",
    },
    HOWTO / "long-work.md": {
        "@completes()": "tests/dev/test_page_programs.py",
        "completion=end(": "tests/dev/test_page_programs.py",
    },
    OUTBOX: {
        "SqsDlq(": "tests/infra/test_outbox_page.py",
        "outbox.relay(": "tests/dev/test_page_programs.py",
        "def place(": "tests/dev/test_page_programs.py",
        "def again(": "tests/dev/test_page_programs.py",
    },
    HOWTO / "workers.md": {"admin.pools.put": "tests/sdk/test_howto.py"},
    ROOT / "docs/quickstart.md": {"make dev\n": "tests/dev/conftest.py"},
}
ALL = [README, ROOT / "docs/quickstart.md", *sorted(HOWTO.glob("*.md"))]


def left_out(page: Path) -> list[str]:
    """The blocks of a page that the run beside a server leaves out."""
    text = text_of(page)
    if page == README:
        first, begins = text.index("## A first job"), text.index("## How it works")
        run, text = text[first:begins], text[:first] + text[begins:]
        rest = [one.text for one in blocks(text)]
        return [*rest, *(one.text for one in blocks(run) if one.language == "python" and not FILE.match(one.text))]
    return [
        one.text
        for one in blocks(text)
        if one.language not in ("sh", "console", "mermaid")
        and not (one.language == "text" and one.after == "sh")
        and (page == OUTBOX or not FILE.match(one.text))
    ]


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_each_block_runs_or_has_its_proof(page: Path) -> None:
    if page in WHOLE:
        assert page in ELSEWHERE
        return
    assert page in {README, OUTBOX} or page in PAGES
    known = SINGLE.get(page, {})
    assert [one for one in left_out(page) if not any(text in one for text in known)] == []
    assert [text for text in known if not any(text in one for one in left_out(page))] == []


@pytest.mark.parametrize("proof", sorted({*WHOLE.values(), *(one for of in SINGLE.values() for one in of.values())}))
def test_each_proof_is_there(proof: str) -> None:
    assert (ROOT / proof).is_file()


def test_the_options_of_the_readme_are_options() -> None:
    (options,) = fenced(README, "json")
    schema = jsonschema_rs.Draft202012Validator(json.loads(text_of(ROOT / "deployment.schema.json")))
    schema.validate(json.loads(options))
