"""Runs the emulator in this process, in its own environment (.venv-stack); started by `local.emulator` only.

    python -m local.launcher FOLDER LISTENING_FD PORT [--secure]

`FOLDER` is for its log, its certificate and whatever its Lambdas leave. It ends, with all of its process group, as soon
as its standard input ends: so it cannot outlive the process that started it, however that one dies.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

#: A message whose delay runs out wakes nobody in the emulator, whose own loop may sleep for a second.
WAKE_SECONDS = 0.02


def main() -> None:
    """Set the emulator up through its environment, then serve until standard input ends."""
    folder, descriptor, port = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    os.environ.update(
        GATEWAY_PORT=port,
        MINISTACK_REGION="us-east-1",
        MINISTACK_HOST="localhost",
        LAMBDA_EXECUTOR="local",
        LOG_LEVEL="WARNING",
        SFTP_ENABLED="0",
        IOT_MTLS_ENABLED="0",
    )
    secure = "--secure" in sys.argv[4:]
    if secure:
        _secure(folder)
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    asyncio.run(_serve(descriptor, folder if secure else None))


def _secure(folder: Path) -> None:
    """Enforce IAM policies and signatures, over TLS: the CDK's bucket policy refuses plain HTTP."""
    from local.tls import write_pair

    certificate, key = write_pair(folder)
    os.environ.update(
        AUTH="true",
        USE_SSL="1",
        MINISTACK_SSL_CERT=str(certificate),
        MINISTACK_SSL_KEY=str(key),
        AWS_CA_BUNDLE=str(certificate),  # for the SDK inside the Lambdas
    )


async def _serve(descriptor: str, tls_folder: Path | None) -> None:
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack.app import app
    from ministack.core.concurrency import esm_wake

    def keep_waking() -> None:
        while True:
            esm_wake.set()
            time.sleep(WAKE_SECONDS)

    threading.Thread(target=keep_waking, daemon=True).start()
    config = Config()
    config.bind = [f"fd://{descriptor}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    if tls_folder:
        config.certfile, config.keyfile = str(tls_folder / "certificate.pem"), str(tls_folder / "key.pem")
    await serve(app, config)


def _end_with_parent(folder: Path) -> None:
    sys.stdin.buffer.read()
    # Nothing in here is worth a graceful end, which takes half a minute under TLS. The Lambdas are in this group too.
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
