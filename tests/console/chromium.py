"""The browser of this machine, if there is one. `python -m tests.console.chromium` fails without one, and says so."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from infra import ROOT

#: Names of the program in the packages of Debian and others.
_NAMES = ("chromium", "chromium-browser", "google-chrome")
#: How to get one, for those who have none.
ADVICE = "no chromium on the PATH: apt-get install chromium, or name one in CONSOLE_BROWSER"


def chromium() -> Path | None:
    """The program. `CONSOLE_BROWSER` names another one."""
    named = os.environ.get("CONSOLE_BROWSER")
    found = named or next((path for name in _NAMES if (path := shutil.which(name))), None)
    return Path(found) if found else None


#: axe-core, which judges pages. `make setup-dev` installs it.
AXE = ROOT / "node_modules/axe-core/axe.min.js"


def lacks() -> str:
    """The reason why no page can be looked at in a browser here, or nothing."""
    if chromium() is None:
        return ADVICE
    return "" if AXE.exists() else f"no {AXE.relative_to(ROOT)}: make setup-dev installs it"


def views() -> str:
    """`few` in `make test`, `all` in `make console-test`."""
    return os.environ.get("CONSOLE_VIEWS", "few")


if __name__ == "__main__":
    sys.exit(lacks() or None)
