"""The documentation is true, as far as a program can check."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from clockwork.domain.executions import State
from clockwork.domain.named_jobs import JobState
from clockwork.routes import ROUTES
from clockwork.settings import Settings
from infra import ROOT
from infra.observability.metrics import STATISTICS
from tests.handlers import reference
from tests.handlers.handlers import Api
from tests.sdk.terminal import Cli
from tests.smoke.judging.checks import judge
from tests.smoke.scale import ACCOUNT_BOUNDS
from tests.support.examples import ADMIN
from tests.unit.harness.test_smoke_checks import SEEN

DOCS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
WIDEST = 120
BILLING = "arn:aws:iam::123456789012:role/Billing"
#: The folders to which a path in a text may be relative.
PLACES = (ROOT, ROOT / "layers/core/python", ROOT / "layers/core/python/clockwork")
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MAKE = re.compile(r"(?:^|[`\s])make ([a-z-]+)")
_FILE = re.compile(r"`(\w[\w./-]*\.(?:py|md|json|txt|toml)|[\w-]+(?:/[\w-]+)*/)`")
_PUT = re.compile(r'^\.venv/bin/clockwork --url "\$API" (client put .*?)(?<!\\)$', re.MULTILINE | re.DOTALL)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def fenced(path: Path, language: str) -> list[str]:
    return [body for found, body in _FENCE.findall(text_of(path)) if found == language]


def coded(text: str) -> str:
    """The code of a page, in fences or between backticks: elsewhere `make` is a verb."""
    blocks = [body for language, body in _FENCE.findall(text) if language == "sh"]
    lines = [line.partition("#")[0] for block in blocks for line in block.splitlines()]
    return "\n".join([*lines, *re.findall(r"`[^`\n]+`", _FENCE.sub("", text))])


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text_of(path)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
class TestEveryPage:
    """Every page keeps these rules."""

    def test_links_to_what_is_there(self, path: Path) -> None:
        broken = []
        for link in _LINK.findall(_FENCE.sub("", text_of(path))):
            if link.startswith(("https://", "http://")):
                continue
            place, _, anchor = link.partition("#")
            target = (path.parent / place).resolve() if place else path
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(link)
        assert broken == []

    def test_names_commands_that_make_knows(self, path: Path) -> None:
        known = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
        assert "run" in known
        assert set(_MAKE.findall(coded(text_of(path)))) <= known

    def test_names_files_that_exist(self, path: Path) -> None:
        named = _FILE.findall(_FENCE.sub("", text_of(path)))
        assert [name for name in named if not any((place / name).exists() for place in (*PLACES, path.parent))] == []

    def test_holds_json_that_can_be_parsed(self, path: Path) -> None:
        for body in fenced(path, "json"):
            json.loads(body)

    def test_is_about_the_project_and_finished(self, path: Path) -> None:
        assert re.findall(r"TODO|FIXME|XXX|(?<![\w.:*])/(?:home|mnt|root|tmp|work|Users)/\S*", text_of(path)) == []


def test_the_handbook_lists_every_setting_and_its_defaults() -> None:
    rows: dict[str, list[str]] = {}
    for line in text_of(ROOT / "docs/operations.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4:
            rows |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), cells[2:])
    names = list(Settings.__struct_fields__)
    assert [name for name in names if name not in rows] == []
    for column, settings in enumerate((Settings.for_account(), Settings.for_local())):
        told = {name: rows[name][column] for name in names}
        assert told == {name: _as_told(name, getattr(settings, name)) for name in names}


def _as_told(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return f"`{value}`" if value else ""
    if isinstance(value, tuple):
        return ""
    assert isinstance(value, int)
    if name.endswith("_seconds") and value > 86_400:
        return f"{value // 86_400} days"
    return "24 h" if value == 86_400 else str(value)


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_prose_of_a_page_is_as_wide_as_code(path: Path) -> None:
    lines = _FENCE.sub("", text_of(path)).splitlines()
    # A table's row is one line, and a long address is one word.
    breakable = [line for line in lines if not line.startswith("|") and " " in line.strip()]
    assert [line for line in breakable if len(line) > WIDEST] == []


#: The kinds of changes, in the order of keepachangelog.com.
KINDS_OF_CHANGES = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
#: A reader of the changelog reads all of it.
MOST_LINES = 120


def test_the_changelog_keeps_its_form() -> None:
    text = text_of(ROOT / "CHANGELOG.md")
    _, *versions = re.split(r"^## ", text, flags=re.MULTILINE)
    assert len(versions) >= 1
    for version in versions:
        kinds = re.findall(r"^### (.+)$", version, re.MULTILINE)
        assert kinds == [kind for kind in KINDS_OF_CHANGES if kind in kinds]
        # A list has no gaps, and no entry stands in it twice.
        assert re.findall(r"^(?:- |  ).*\n\n+(- .*)$", version, re.MULTILINE) == []
        entries = re.findall(r"^- .*(?:\n  .*)*", version, re.MULTILINE)
        assert len(entries) == len(set(entries))
    lines = text.splitlines()
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > WIDEST] == []


@pytest.mark.parametrize("page", ["README.md", "docs/reliability.md"])
def test_a_page_says_that_nobody_has_run_it_in_an_account_until_somebody_has(page: str) -> None:
    somebody_has = any((ROOT / "docs/measured").glob("*-account.json"))
    assert ("Nobody has run Clockwork in" in text_of(ROOT / page)) != somebody_has


def test_the_checks_of_a_smoke_are_listed() -> None:
    told = text_of(ROOT / "docs/reliability.md").partition("## In an account")[2].partition("\n## ")[0]
    assert [name for name in judge(SEEN, ACCOUNT_BOUNDS, ()) if f"`{name}`" not in told] == []


def test_the_handbook_lists_every_metric() -> None:
    told = text_of(ROOT / "docs/operations.md")
    assert [name for name in STATISTICS if f"`{name}`" not in told] == []


def test_the_handbook_says_what_to_do_when_an_alarm_rings() -> None:
    named = re.findall(r'_alarm\(\s*"(\w+)"', text_of(ROOT / "infra/observability/alarms.py"))
    assert len(named) >= 9
    told = text_of(ROOT / "docs/operations.md")
    assert [name for name in named if f"| `{name}` |" not in told] == []


def test_the_handbook_lists_every_option() -> None:
    schema = json.loads(text_of(ROOT / "deployment.schema.json"))
    read = schema["$defs"]["options"]["properties"]
    assert len(read) >= 15
    told = text_of(ROOT / "docs/operations.md")
    assert [name for name in read if f"| `{name}` |" not in told] == []


def test_the_page_of_states_explains_every_state() -> None:
    told = text_of(ROOT / "docs/architecture/states.md")
    assert [state for state in (*State, *JobState) if f"| `{state}` |" not in told] == []


def test_the_reference_is_that_of_the_api_with_an_example_of_each_route_as_it_is_answered() -> None:
    # Of a route without an example `written` says where to add it.
    assert text_of(reference.PAGE) == reference.written(), "run `make openapi`"


def test_the_api_page_once_there_has_every_route() -> None:
    page = ROOT / "docs/api.md"
    told = text_of(page) if page.exists() else json.dumps(_described())
    assert [route.key for route in ROUTES if route.path not in told] == []


def _described() -> list[str]:
    paths: dict[str, Any] = json.loads(text_of(ROOT / "docs/openapi.json"))["paths"]
    return list(paths)


def api_with_secret() -> Api:
    """An API in an account that has the signing secret of the README."""
    api = Api()
    api.clockwork.signing_secrets.names.add("clockwork/acme")
    return api


def test_the_client_of_the_readme_is_accepted() -> None:
    api = api_with_secret()
    (command,) = _PUT.findall(text_of(ROOT / "README.md"))
    ran = Cli(api)(*shlex.split(command.replace("\\\n", "")), caller=ADMIN)
    assert ran.exit_code == 0, ran.output
    # The role that it names may then create jobs.
    job = {"schedule": {"delaySeconds": 2}, "target": {"type": "http", "url": "https://example.com/hook"}}
    assert api.call("POST", "/v1/jobs", job, caller=BILLING).status == 201
