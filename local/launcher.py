"""Runs the emulator in this process, in its own environment (.venv-stack); started by `local.emulator` only.

    python -m local.launcher FOLDER LISTENING_FD PORT [--secure] [--address=LISTENING_FD:PORT] [--state=FOLDER]
        [--calls=FILE]

`FOLDER` holds the emulator's log, its certificate and the files that its Lambdas leave. The emulator ends, with all of
its process group, as soon as its standard input ends: so it cannot outlive the process that started it, however that
process dies. On SIGTERM it ends, too, but first saves the state of its services in `FOLDER/state`, or in the folder of
`--state`. An emulator that finds such a state begins with it, which makes a restart. With `--state` it also saves when
its standard input ends. `--address` is where the API answers by itself: see `local.fixed_address`. `--calls` is
for tests: see `local.recorded_calls`.
"""

from __future__ import annotations

import argparse
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

from local.kept_state import move_to_port

#: How often the emulator's event sources are woken. The emulator does not wake them when the delay of a message runs
#: out, and its own loop may sleep for a second.
WAKE_SECONDS = 0.02
#: How long a save may take before the emulator ends without it.
SAVE_SECONDS = 30
#: How often a service is asked for its state, since its own threads may be changing the state meanwhile.
SAVE_ATTEMPTS = 100


def main() -> None:
    """Set the emulator up by environment variables, then serve until standard input ends."""
    asked = _asked()
    os.environ.update(
        GATEWAY_PORT=asked.port,
        MINISTACK_REGION="us-east-1",
        MINISTACK_HOST="localhost",
        LAMBDA_EXECUTOR="local",
        LOG_LEVEL="WARNING",
        PERSIST_STATE="1",
        STATE_DIR=str(asked.state or asked.folder / "state"),
        SFTP_ENABLED="0",
        IOT_MTLS_ENABLED="0",
    )
    if asked.secure:
        _secure(asked.folder)
    if asked.state:
        move_to_port(asked.state, asked.port)
    threading.Thread(target=_end_with_parent, args=(asked,), daemon=True).start()
    asyncio.run(_serve(asked))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("descriptor")
    parser.add_argument("port")
    parser.add_argument("--secure", action="store_true")
    parser.add_argument("--address")
    parser.add_argument("--state", type=Path)
    parser.add_argument("--calls", type=Path)
    return parser.parse_args()


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


async def _serve(asked: argparse.Namespace) -> None:
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack.app import app
    from ministack.core.concurrency import esm_wake

    from local.fair_queues import make_queues_fair
    from local.fixed_address import at_fixed_address
    from local.lambda_corrections import correct_lambda
    from local.parameter_corrections import correct_parameters
    from local.query_corrections import read_conditions_once
    from local.recorded_calls import record_calls

    correct_lambda(asked.folder / "layers")
    correct_parameters()
    make_queues_fair()
    read_conditions_once()
    if asked.calls:
        record_calls(asked.calls)

    def keep_waking() -> None:
        while True:
            esm_wake.set()
            time.sleep(WAKE_SECONDS)

    threading.Thread(target=keep_waking, daemon=True).start()
    config = Config()
    config.bind = [f"fd://{asked.descriptor}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    if asked.secure:
        config.certfile, config.keyfile = str(asked.folder / "certificate.pem"), str(asked.folder / "key.pem")
    if asked.address:
        descriptor, _, port = asked.address.partition(":")
        config.insecure_bind = [f"fd://{descriptor}"]
        app = at_fixed_address(app, int(port), asked.folder)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _save_and_end)
    await serve(app, config, shutdown_trigger=asyncio.Event().wait)


def _save_and_end() -> None:
    """Save the state of all services, then end the process group.

    This runs in the event loop, which answers no request meanwhile: so the effect of every answered request is saved.
    """
    from ministack.app import _build_persistence_save_dict
    from ministack.core.persistence import save_state

    for name, state_of in _build_persistence_save_dict().items():
        if (state := _patiently(state_of)) is not None:
            save_state(name, state)
    os.killpg(0, signal.SIGKILL)


def _patiently(state_of: Callable[[], Any]) -> Any:
    """The state of a service, tried again while a copy fails since a thread of the service changes the state.

    Raises the RuntimeError of the last attempt.
    """
    for _ in range(SAVE_ATTEMPTS - 1):
        try:
            return state_of()
        except RuntimeError:
            time.sleep(0.01)
    return state_of()


def _end_with_parent(asked: argparse.Namespace) -> None:
    sys.stdin.buffer.read()
    # A graceful end takes half a minute under TLS, and nothing here is worth it. The Lambdas are in this group, too.
    shutil.rmtree(asked.folder, ignore_errors=True)
    if asked.state:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(SAVE_SECONDS)  # the process has ended by then, unless it cannot
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
