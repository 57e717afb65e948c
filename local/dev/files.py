"""The files of a running server, in `.clockwork/`: one for shells, and one for the other commands."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import botocore.session

from infra import ROOT
from local.dev import address
from local.dev.faults import ServerFailed
from local.dev.keys import ADMIN, DEMO, KEYS, WEBHOOK_SECRET
from local.emulator import REGION, Credentials

if TYPE_CHECKING:
    from local.dev.running import Server

FOLDER = ROOT / ".clockwork"
ENVIRONMENT = "dev.env"
#: A copy of the certificate of the emulator that runs: each start makes another one, and a shell keeps this path.
CERTIFICATE = "ca.pem"
FACTS = "server.json"
#: The command line alone, so that a shell that sources the environment keeps its own Python.
_CLI = "from clockwork_client.cli import main; main()"


class NoServer(Exception):
    """No server runs from this folder."""


@dataclass(frozen=True)
class Facts:
    """How other processes of this checkout reach the emulator of the running server."""

    process: int
    port: int
    endpoint_url: str
    ca_bundle: str
    log: str
    functions: dict[str, str]
    state: str | None

    def client(self, service: str) -> Any:
        """A botocore client of the emulator's root user."""
        root = Credentials.root()
        return botocore.session.Session().create_client(
            service,
            region_name=REGION,
            endpoint_url=self.endpoint_url,
            verify=self.ca_bundle,
            aws_access_key_id=root.access_key,
            aws_secret_access_key=root.secret_key,
        )


def folder(text: str) -> Path:
    """A folder that a command is given."""
    return Path(text).resolve()


def facts(folder: Path = FOLDER) -> Facts:
    """The facts of the server that runs. Raises NoServer."""
    try:
        found = Facts(**json.loads((folder / FACTS).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        found = None
    # The file of a server that was killed stays, and its process id may be another's by now.
    owner = address.owner_of(found.port) if found else None
    if found is None or owner is None or owner["process"] != str(found.process):
        raise NoServer("no server of this checkout runs: start one with `make dev`")
    return found


def check_alone(folder: Path) -> None:
    """Two servers would overwrite the files of each other. Raises ServerFailed if one runs already."""
    try:
        found = facts(folder)
    except NoServer:
        return
    raise ServerFailed(
        f"This checkout's server already runs at http://127.0.0.1:{found.port} (process {found.process})."
    )


@contextmanager
def written(folder: Path, server: Server, inbox_url: str, state: Path | None) -> Iterator[None]:
    """Write the files, for this user alone. The shell's file stays at the end, since the next server has the same."""
    _write(folder / "bin" / "clockwork", f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c '{_CLI}' \"$@\"\n", 0o700)
    if (trusted := server.stack.ca_bundle) is not None:
        _write(folder / CERTIFICATE, trusted.read_text())
    _write(folder / ENVIRONMENT, environment(folder, server.url, inbox_url, server.kafka))
    suffix = "Function"
    functions = {key.removesuffix(suffix).lower(): name for key, name in server.stack.outputs.items() if suffix in key}
    ran = server.stack.emulator
    told = Facts(
        process=os.getpid(),
        port=server.port,
        endpoint_url=ran.endpoint_url,
        ca_bundle=str(ran.ca_bundle),
        log=str(ran.log),
        functions=functions,
        state=str(state) if state else None,
    )
    _write(folder / FACTS, json.dumps(asdict(told)))
    try:
        yield
    finally:
        (folder / FACTS).unlink(missing_ok=True)


def environment_of(server: Server) -> dict[str, str]:
    """The environment of a process of the user `demo`. The emulator's queues have a certificate of its own."""
    exports = {
        "CLOCKWORK_URL": server.url,
        "CLOCKWORK_CLIENT_ID": DEMO,
        "AWS_ACCESS_KEY_ID": server.demo.access_key,
        "AWS_SECRET_ACCESS_KEY": server.demo.secret_key,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }
    trusted = server.stack.ca_bundle
    return exports if trusted is None else {**exports, "AWS_CA_BUNDLE": str(trusted)}


def environment(folder: Path, url: str, inbox_url: str, kafka: str | None = None) -> str:
    """The text of the file that a shell (sh, bash, zsh) sources."""
    demo, admin = KEYS[DEMO], KEYS[ADMIN]
    exports = {
        "CLOCKWORK_URL": url,
        "CLOCKWORK_CLIENT_ID": DEMO,
        "AWS_ACCESS_KEY_ID": demo.access_key,
        "AWS_SECRET_ACCESS_KEY": demo.secret_key,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CA_BUNDLE": str((folder / CERTIFICATE).resolve()),
        "CLOCKWORK_WEBHOOK_SECRET": WEBHOOK_SECRET,
        "INBOX": inbox_url,
        **({"KAFKA_BROKER": kafka} if kafka else {}),
    }
    keys = f"AWS_ACCESS_KEY_ID={shlex.quote(admin.access_key)} AWS_SECRET_ACCESS_KEY={shlex.quote(admin.secret_key)}"
    binaries = str((folder / "bin").resolve())
    return "\n".join(
        [
            "# Written by `make dev`; to be sourced. The keys are good for the server on this machine alone.",
            "unset AWS_PROFILE AWS_SESSION_TOKEN",
            *(f"export {name}={shlex.quote(value)}" for name, value in exports.items()),
            f'case ":$PATH:" in *:{shlex.quote(binaries)}:*) ;; *) PATH={shlex.quote(binaries)}:"$PATH" ;; esac',
            "# A command as the admin, who may do everything: as_admin clockwork client get demo",
            f'as_admin() {{ {keys} "$@"; }}',
            "",
        ]
    )


def _write(path: Path, text: str, mode: int = 0o600) -> None:
    """In one step, so that nobody reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.draft")
    draft.touch(mode=mode)
    draft.write_text(text)
    draft.replace(path)
