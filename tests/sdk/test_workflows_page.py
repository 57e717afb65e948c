"""docs/howto/workflows.md: its files and commands, word for word, where no server runs. And the README's workflow."""

from __future__ import annotations

from pathlib import Path

from clockwork_client.testing import VirtualClockwork
from infra import ROOT
from tests.dev.pages import run_alone
from tests.unit.test_docs import fenced


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    assert run_alone(ROOT / "docs/howto/workflows.md", tmp_path) == 10


def test_the_workflow_of_the_readme_runs() -> None:
    clockwork = VirtualClockwork()
    (program,) = [one for one in fenced(ROOT / "README.md", "python") if "cw.workflow()" in one]
    clockwork.on_step("pay", lambda _: {"receipt": "n-1"})
    exec(program, {"cw": clockwork.client("shop")})
    clockwork.advance(minutes=1)
    assert [(one.node, one.payload) for one in clockwork.deliveries] == [
        ("pay", {"order": 17}),
        ("ship", {"receipt": "n-1"}),
    ]
