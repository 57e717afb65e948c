"""Runs the emulator in this process, in its own environment (.venv-stack); started by `local.emulator` only.

    python -m local.launcher FOLDER LISTENING_FD PORT [--secure]

`FOLDER` is for its log, its certificate and whatever its Lambdas leave. It ends, with all of its process group, as soon
as its standard input ends: so it cannot outlive the process that started it, however that one dies. On SIGTERM it ends
as well, but leaves in `FOLDER/state` what its services hold, and begins with that if it finds it: a restart.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: A message whose delay runs out wakes nobody in the emulator, whose own loop may sleep for a second.
WAKE_SECONDS = 0.02
#: How often a service is asked for what it holds while threads of its own may be changing it.
SAVE_ATTEMPTS = 100


def main() -> None:
    """Set the emulator up through its environment, then serve until standard input ends."""
    folder, descriptor, port = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    os.environ.update(
        GATEWAY_PORT=port,
        MINISTACK_REGION="us-east-1",
        MINISTACK_HOST="localhost",
        LAMBDA_EXECUTOR="local",
        LOG_LEVEL="WARNING",
        PERSIST_STATE="1",
        STATE_DIR=str(folder / "state"),
        SFTP_ENABLED="0",
        IOT_MTLS_ENABLED="0",
    )
    secure = "--secure" in sys.argv[4:]
    if secure:
        _secure(folder)
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    asyncio.run(_serve(descriptor, folder, secure=secure))


def _secure(folder: Path) -> None:
    """Enforce IAM policies and signatures, over TLS: the CDK's bucket policy refuses plain HTTP."""
    from local.tls import CERTIFICATE, KEY, write_pair

    certificate, key = folder / CERTIFICATE, folder / KEY
    if not key.exists():
        write_pair(folder)
    os.environ.update(
        AUTH="true",
        USE_SSL="1",
        MINISTACK_SSL_CERT=str(certificate),
        MINISTACK_SSL_KEY=str(key),
        AWS_CA_BUNDLE=str(certificate),  # for the SDK inside the Lambdas
    )


async def _serve(descriptor: str, folder: Path, *, secure: bool) -> None:
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack.app import app
    from ministack.core.concurrency import esm_wake

    from local.lambda_corrections import correct_lambda

    correct_lambda(folder / "layers")

    def keep_waking() -> None:
        while True:
            esm_wake.set()
            time.sleep(WAKE_SECONDS)

    threading.Thread(target=keep_waking, daemon=True).start()
    config = Config()
    config.bind = [f"fd://{descriptor}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    if secure:
        config.certfile, config.keyfile = str(folder / "certificate.pem"), str(folder / "key.pem")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _keep_state_and_end)
    await serve(app, config, shutdown_trigger=asyncio.Event().wait)


def _keep_state_and_end() -> None:
    """Runs in the event loop, which answers nobody meanwhile: whatever has been answered is kept."""
    from ministack.app import _build_persistence_save_dict
    from ministack.core.persistence import save_state

    for name, state_of in _build_persistence_save_dict().items():
        if (state := _patiently(state_of)) is not None:
            save_state(name, state)
    os.killpg(0, signal.SIGKILL)


def _patiently(state_of: Callable[[], Any]) -> Any:
    """What a service holds; a copy fails if one of its threads adds or removes something meanwhile."""
    for _ in range(SAVE_ATTEMPTS - 1):
        try:
            return state_of()
        except RuntimeError:
            time.sleep(0.01)
    return state_of()


def _end_with_parent(folder: Path) -> None:
    sys.stdin.buffer.read()
    # Nothing in here is worth a graceful end, which takes half a minute under TLS. The Lambdas are in this group too.
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
