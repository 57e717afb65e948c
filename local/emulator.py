"""Starts and ends the AWS emulator, and makes clients for it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import botocore.session
import urllib3
from botocore.config import Config

from infra import ROOT
from local import tls

PYTHON = ROOT / ".venv-stack/bin/python"
REGION = "us-east-1"
#: The emulator takes any twelve digits as the access key of the root user of the account with that number.
ACCOUNT = "000000000000"
START_SECONDS = 30
STOP_SECONDS = 3
SAVE_SECONDS = 30
LOG = "emulator.log"


class EmulatorFailed(Exception):
    """The emulator did not start; the message holds the end of its log."""


@dataclass(frozen=True)
class Credentials:
    """An access key, and the ARN of the principal to whom it belongs."""

    access_key: str
    secret_key: str
    arn: str = ""

    @staticmethod
    def root(account: str = ACCOUNT) -> Credentials:
        """The root user of an account of the emulator. Accounts see nothing of each other."""
        return Credentials(account, "any", f"arn:aws:iam::{account}:root")


@dataclass
class Emulator:
    """A running emulator."""

    port: int
    folder: Path
    secure: bool
    _process: subprocess.Popen[bytes]
    _launch: Callable[[], subprocess.Popen[bytes]]
    _keeps_state: bool = False
    _clients: dict[tuple[str, str, int], Any] = field(default_factory=dict)

    @property
    def process_group(self) -> int:
        """The process group of the emulator and of the Lambdas that it runs. Its id is the emulator's process id."""
        return self._process.pid

    @property
    def endpoint_url(self) -> str:
        """The address at which every AWS service answers."""
        return f"{'https' if self.secure else 'http'}://127.0.0.1:{self.port}"

    @property
    def ca_bundle(self) -> Path | None:
        """The certificate that a client must trust; None without TLS."""
        return self.folder / tls.CERTIFICATE if self.secure else None

    @property
    def log(self) -> Path:
        """The file with the emulator's own log."""
        return self.folder / LOG

    def client(self, service: str, credentials: Credentials | None = None, *, connections: int = 20) -> Any:
        """A botocore client of `service`, as the root user by default. Each service, caller and pool size has one."""
        credentials = credentials or Credentials.root()
        key = (service, credentials.access_key, connections)
        if key not in self._clients:
            self._clients[key] = botocore.session.Session().create_client(
                service,
                region_name=REGION,
                endpoint_url=self.endpoint_url,
                verify=str(self.ca_bundle) if self.ca_bundle else None,
                aws_access_key_id=credentials.access_key,
                aws_secret_access_key=credentials.secret_key,
                config=Config(max_pool_connections=connections, retries={"mode": "standard", "total_max_attempts": 2}),
            )
        return self._clients[key]

    def restart(self) -> None:
        """End the emulator with its Lambdas and start it again, on its port and with the state of its services.

        The state holds the effect of every request that was answered. A request that comes meanwhile is answered late,
        or not at all. Objects in S3 are not kept: only a deployment reads them. Raises EmulatorFailed.
        """
        self._save_and_end()
        self._process = self._launch()
        _await_health(self, self._process)

    def end(self) -> None:
        """End the emulator with its Lambdas. With a folder for state, the emulator saves its state first.

        Raises EmulatorFailed if the end took longer than 30 s; the folder then holds the state of the last save.
        """
        while self._clients:
            self._clients.popitem()[1].close()
        if self._keeps_state and self._process.poll() is None:
            self._save_and_end()
        else:
            stop(self._process)

    def _save_and_end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(SAVE_SECONDS)
        except subprocess.TimeoutExpired:
            raise EmulatorFailed(f"The emulator did not save its state within {SAVE_SECONDS} s") from None
        finally:
            stop(self._process)


@contextmanager
def emulator(
    *,
    secure: bool = True,
    port: int = 0,
    address: socket.socket | None = None,
    state: Path | None = None,
    calls: Path | None = None,
) -> Iterator[Emulator]:
    """An emulator on 127.0.0.1, on a free port unless one is given. No process of it outlives the block.

    `secure` enforces IAM policies and signatures, over TLS; without it every caller may do anything, over HTTP.
    `address` is a listening socket at which the one API that is deployed answers by itself, over HTTP: see
    `local.fixed_address`. `state` is a folder from which the emulator begins, and where it saves its state at the end.
    `calls` is a file to which `local.recorded_calls` appends, if `secure`.

    Raises EmulatorFailed if it does not answer within 30 s.
    """
    folder = Path(tempfile.mkdtemp(prefix="clockwork-"))
    try:
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            launch = partial(_launch, folder, listener, secure=secure, address=address, state=state, calls=calls)
            process = launch()
            running = Emulator(listener.getsockname()[1], folder, secure, process, launch, state is not None)
            try:
                _await_health(running, process)
                yield running
            finally:
                running.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _launch(
    folder: Path,
    listener: socket.socket,
    *,
    secure: bool,
    address: socket.socket | None,
    state: Path | None,
    calls: Path | None,
) -> subprocess.Popen[bytes]:
    if not PYTHON.exists():
        raise EmulatorFailed(f"{PYTHON} does not exist: run `make setup`")
    sockets = [listener, *([address] if address else [])]
    command = [str(PYTHON), "-m", "local.launcher", str(folder)]
    command += [str(listener.fileno()), str(listener.getsockname()[1]), *(["--secure"] if secure else [])]
    command += [f"--address={address.fileno()}:{address.getsockname()[1]}"] if address else []
    command += [f"--state={state}"] if state else []
    command += [f"--calls={calls}"] if calls else []
    # No other variable of our environment: the emulator's Lambdas would inherit endpoints, profiles and trust stores.
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with (folder / LOG).open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env={**environment, "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[one.fileno() for one in sockets],
            start_new_session=True,
        )


def _await_health(running: Emulator, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if _is_healthy(running):
            return
        time.sleep(0.02)
    said = running.log.read_text(errors="replace")[-2_000:]
    raise EmulatorFailed(f"The emulator did not start within {START_SECONDS} s. It said:\n{said}")


def _is_healthy(running: Emulator) -> bool:
    ca_bundle = running.ca_bundle
    if ca_bundle and not ca_bundle.exists():
        return False
    try:
        with urllib3.PoolManager(ca_certs=str(ca_bundle) if ca_bundle else None, retries=False, timeout=2) as pool:
            return pool.request("GET", f"{running.endpoint_url}/_ministack/health").status == 200
    except urllib3.exceptions.HTTPError:
        return False


def stop(process: subprocess.Popen[bytes], seconds: float = STOP_SECONDS) -> None:
    """End a process: close its standard input; if it has not ended in time (s), kill it with its process group."""
    assert process.stdin
    process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
