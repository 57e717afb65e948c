"""Calls the API of a demonstration that stays up, from another terminal.

    python -m local.demo.call FOLDER METHOD PATH [BODY]

`FOLDER` is the one that the demonstration names. While the demonstration runs, the folder holds the API's address and
the demo user's key.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

import urllib3

from local.api import SignedApi
from local.emulator import Credentials

#: The file with address and key, in the folder of a running demonstration.
FILE = "demo.json"


def write_connection(folder: Path, url: str, credentials: Credentials, ca_bundle: Path) -> None:
    """Write the file that `main` reads, with the secret key; only this user may read it."""
    path = folder / FILE
    path.touch(mode=0o600)
    keys = {"accessKey": credentials.access_key, "secretKey": credentials.secret_key}
    path.write_text(json.dumps({"url": url, "caBundle": str(ca_bundle), **keys}))


def main(arguments: list[str]) -> int:
    """Send one request and print the answer's body.

    Returns 0 if the API accepted the request, 1 if it refused it, 2 if there was no answer or an argument is wrong.
    """
    if len(arguments) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    folder, method, path = arguments[:3]
    body = arguments[3] if len(arguments) == 4 else None
    try:
        kept = json.loads((Path(folder) / FILE).read_text())
    except FileNotFoundError:
        print(f"No demonstration runs in {folder}: start one with `make run`", file=sys.stderr)
        return 2
    api = SignedApi(
        kept["url"],
        Credentials(kept["accessKey"], kept["secretKey"]),
        connect_to=urlsplit(kept["url"]).port,
        ca_bundle=Path(kept["caBundle"]),
    )
    try:
        answer = api.request(method, path, body)
    except urllib3.exceptions.HTTPError as error:
        print(f"No answer: {error}", file=sys.stderr)
        return 2
    finally:
        api.close()
    print(answer.body if isinstance(answer.body, str) else json.dumps(answer.body, indent=2))
    return 0 if answer.status < 400 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
