"""Runs a page of the docs word for word: its commands in one shell beside a development server, its files as files.

- `sh`: commands of one bash, from the top of the page to its end, in the folder of the checkout.
- `python` and `js`: a file, if the first line is a comment with its name and nothing else.
- `text` right after commands: what they print. `console`: lines that the server's terminal shows by then.

In both, `...` stands for anything within a line, and on a line of its own for any lines. Commands that only read are
run again until they print what the page says: a reader would look again, too.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from infra import ROOT
from tests.dev.checkout import Dev
from tests.e2e.waiting import PATIENCE_SECONDS, await_value

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:#|//) ([\w./-]+\.(?:py|mjs|js))\n")
#: Commands that change nothing, so that they may be run again.
_READS = re.compile(r"cat |clockwork (?:job get|job list|exec get|exec list|dead list|upcoming|doctor|cron)\b")
#: The mark of a page whose reader's shell has the server's environment from the start.
SOURCED = "in a shell that has sourced `.clockwork/dev.env`"
COMMAND_SECONDS = 60


class Block(NamedTuple):
    """A fenced block: its language, its text, and the language of the block before."""

    language: str
    text: str
    after: str


def blocks(page: str) -> Iterator[Block]:
    """The blocks of the text of a page."""
    before = ""
    for language, text in _FENCE.findall(page):
        yield Block(language, text, before)
        before = language


class Shell:
    """A bash that goes on from command to command."""

    def __init__(self, dev: Dev) -> None:
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=dev.checkout.folder,
            env={**dev.checkout.environment, "TZ": "UTC"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._count = 0

    def run(self, commands: str) -> str:
        """The output of the commands. Fails the test if the last one fails, or they take too long."""
        assert self._process.stdin
        self._count += 1
        mark = f"-- end of block {self._count}: "
        self._process.stdin.write(f'{commands}\necho "{mark}$?"\n'.encode())
        self._process.stdin.flush()
        said = self._read_to(mark)
        output, _, status = said.rpartition(mark)
        assert int(status) == 0, f"{commands}\n{said}"
        return output

    def close(self) -> None:
        """End it with everything that it started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def _read_to(self, mark: str) -> str:
        assert self._process.stdout
        said, deadline = b"", time.monotonic() + COMMAND_SECONDS
        while not re.search(re.escape(mark).encode() + rb"\d+\n", said):
            assert time.monotonic() < deadline, said.decode()
            if select.select([self._process.stdout], [], [], 1)[0]:
                chunk = os.read(self._process.stdout.fileno(), 65_536)
                assert chunk, said.decode()
                said += chunk
        return said.decode()


def run_page(page: str, dev: Dev) -> int:
    """Run all blocks of a page in their order; returns how many were commands, files or expectations."""
    shell, commands, printed, done = Shell(dev), "", "", 0
    seen = len(shown(dev))
    try:
        if SOURCED in " ".join(page.split()).lower():
            shell.run("source .clockwork/dev.env")
        for block in blocks(page):
            done += 1
            if block.language == "sh":
                commands, printed = block.text, shell.run(block.text)
            elif block.language == "text" and block.after == "sh":
                _await_printed(shell, commands, printed, block.text)
            elif block.language == "console":
                await_shown(dev, seen, block.text)
            elif (name := FILE.match(block.text)) is not None:
                path = dev.checkout.folder / name[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            else:
                done -= 1
    finally:
        shell.close()
    return done


def run_alone(page: Path, folder: Path) -> int:
    """Run a page that needs no server, in a folder that is set up as a checkout is."""
    for name in (".venv", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    checkout: Any = SimpleNamespace(folder=folder, environment={**os.environ})
    alone: Any = SimpleNamespace(checkout=checkout, running=SimpleNamespace(said=""))
    return run_page(page.read_text(encoding="utf-8"), alone)


def _await_printed(shell: Shell, commands: str, printed: str, told: str) -> None:
    wanted = pattern(told)
    if all(_READS.match(line) for line in commands.splitlines()):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not wanted.fullmatch(trimmed(printed)) and time.monotonic() < deadline:
            time.sleep(0.3)
            printed = shell.run(commands)
    assert wanted.fullmatch(trimmed(printed)), f"the page says:\n{told}\nbut it printed:\n{printed}"


def shown(dev: Dev) -> str:
    """The output in the server's terminal so far."""
    return re.sub(" {2,}", "  ", dev.running.said)


def await_shown(dev: Dev, seen: int, told: str) -> None:
    """Waits until the server has shown these lines, after the first `seen` characters, in their order."""
    for line in told.splitlines():
        wanted = re.compile(rf"^\d\d:\d\d:\d\d\.\d{{3}}  {_line(line)}$", re.M)

        def found(wanted: re.Pattern[str] = wanted, seen: int = seen) -> int | None:
            match = wanted.search(shown(dev), seen)
            return match.end() if match else None

        seen = await_value(found, f"the server shows {line!r}")


def pattern(told: str) -> re.Pattern[str]:
    """The pattern that an output has to match."""
    lines = [r"(?:.*\n)*?" if line == "..." else _line(line) + r"\n" for line in trimmed(told).splitlines()]
    return re.compile("".join(lines))


def _line(told: str) -> str:
    return ".*?".join(re.escape(part) for part in told.split("..."))


def trimmed(text: str) -> str:
    """The text without empty lines at its end or spaces at ends of lines; wide gaps, as of columns, are two wide."""
    return "\n".join(re.sub(" {2,}", "  ", line.rstrip()) for line in text.rstrip().splitlines()) + "\n"
