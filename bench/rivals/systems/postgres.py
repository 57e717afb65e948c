"""A PostgreSQL of one's own: initialised in a folder, run by an ordinary user."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from bench.rivals.systems.base import NotToBeHad

#: Where Debian keeps the programs, by version.
_DEBIAN = Path("/usr/lib/postgresql")
_INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends", "postgresql")
INSTALL_SECONDS = 900
USER = "postgres"


def programs() -> Path:
    """The folder with `initdb` and `postgres`, the newest version if there are several. Raises NotToBeHad."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = [path for path in _DEBIAN.glob("*/bin") if (path / "initdb").exists()]
    if not versions:
        raise NotToBeHad("PostgreSQL is not installed (`initdb`), and `apt-get install postgresql` was not possible")
    return max(versions, key=lambda path: float(path.parent.name))


def ensure() -> None:
    """Install PostgreSQL unless it is there, where this process may. Raises NotToBeHad."""
    try:
        programs()
        return
    except NotToBeHad:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise
    # As in single-user mode, so that its package starts no server.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    try:
        subprocess.run(_INSTALL, check=True, env=environment, capture_output=True, timeout=INSTALL_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise NotToBeHad(f"`apt-get install postgresql` failed: {error}") from None
    programs()


def initialise(folder: Path) -> None:
    """Make an empty database below a folder."""
    data = folder / "data"
    data.mkdir()
    if os.geteuid() == 0:
        folder.chmod(0o711)
        shutil.chown(data, USER, USER)
    command = [*_as_user(), str(programs() / "initdb"), f"--pgdata={data}", "--auth=trust", f"--username={USER}"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, cwd="/")


def command(folder: Path, port: int) -> list[str]:
    """The command that runs it at a port of 127.0.0.1, with its defaults except for more connections.

    Each commit is synced.
    """
    settings = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": 150}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return [*_as_user(), str(programs() / "postgres"), "-D", str(folder / "data"), *options]


def _as_user() -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []
