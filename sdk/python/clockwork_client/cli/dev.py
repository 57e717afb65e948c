"""`clockwork dev`: the development server of a checkout of Clockwork."""

from __future__ import annotations

import os
from pathlib import Path

from clockwork_client.errors import NotConfigured

_SERVER = Path("local/dev/__main__.py")
_PYTHON = Path(".venv/bin/python")


def checkout(here: Path, beside: Path) -> Path:
    """The checkout that holds the client, or else the current folder. Raises NotConfigured if that is no checkout."""
    found = next((one for one in (*beside.parents, here) if (one / _SERVER).is_file()), None)
    if found is None:
        raise NotConfigured("no checkout of Clockwork: run it in the folder of one, which has a Makefile with `dev`")
    if not (found / ".venv/.complete").exists():
        raise NotConfigured(f"{found} is not set up: run `make setup` there")
    return found


def serve(port: int | None, state: str | None, *, is_tour: bool) -> None:
    """Become the server of the checkout: its signals and its exit status are this process's. Raises NotConfigured."""
    found = checkout(Path.cwd(), Path(__file__))
    arguments = [
        *([f"--port={port}"] if port else []),
        *([f"--state={Path(state).resolve()}"] if state else []),
        *(["--tour"] if is_tour else []),
    ]
    os.chdir(found)
    os.execv(_PYTHON, [str(_PYTHON), "-m", "local.dev", *arguments])  # noqa: S606
