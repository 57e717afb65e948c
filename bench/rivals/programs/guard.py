"""Runs a server, and kills it when standard input ends, however the process dies that started it.

python guard.py COMMAND ...

Writes the id of the server's process as its only line. It ends when the server does.
"""

import json
import os
import signal
import subprocess
import sys
import threading


def main() -> None:
    """Start the server, and wait for its end or that of standard input."""
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=sys.stderr)
    threading.Thread(target=_kill_at_end, args=(server.pid,), daemon=True).start()
    print(json.dumps({"pid": server.pid}), flush=True)
    os._exit(server.wait() & 0xFF)  # a thread that waits for input would keep the interpreter from its end


def _kill_at_end(pid: int) -> None:
    sys.stdin.buffer.read()
    os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
