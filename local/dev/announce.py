"""The server's output once it is up: the address, the keys, and a first job to paste."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from local.broker import TOPIC
from local.dev.files import ENVIRONMENT
from local.dev.keys import ADMIN, DEMO, KEYS
from local.dev.running import Server
from local.emulator import REGION


def announcement(
    server: Server, inbox_url: str, console: str, folder: Path, *, seconds: float, state: Path | None
) -> str:
    """The text, for a server that took so many seconds to start. The commands in it work as they are.

    `console` is what the console says first, which has its link.
    """
    url = server.url
    keeps = f"Its jobs stay in {state}." if state else "Its jobs end with it; STATE=folder keeps them."
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    return f"""
Clockwork is up at {url}, in {seconds:.1f} s. Ctrl-C ends it. {keeps}

  client demo  {_keys(DEMO)}
  admin        {_keys(ADMIN)}
  inbox        {inbox_url} takes webhooks and prints them here; demo may call any port of this machine
  console      {link_in(console)} shows all of it in a browser; p and Enter prints another link{_kafka(server)}

A first job, from another terminal in this folder, by the command line, and by curl (7.75 or newer):

source {shlex.quote(str(shown / ENVIRONMENT))}
clockwork job create --in 2s {inbox_url}/hello --data '{{"order":17}}'

{curl(url, inbox_url)}

`make dev-logs` shows the Lambdas' logs. `make dev-reload` makes changed code live."""


def _kafka(server: Server) -> str:
    if server.kafka is None:
        return ""
    return f"\n  kafka        {server.kafka} has the topic {TOPIC}, and forgets all messages at its end"


def link_in(said: str) -> str:
    """The link in what the console says, or all of it."""
    return next((word for word in said.split() if word.startswith("http") and "token=" in word), said)


def curl(url: str, inbox_url: str) -> str:
    """A command that creates a job, due in two seconds."""
    key = KEYS[DEMO]
    target = {"type": "http", "url": f"{inbox_url}/hello"}
    body = {"clientId": DEMO, "schedule": {"delaySeconds": 2}, "target": target, "payload": {"order": 17}}
    return (
        f"curl -sS --aws-sigv4 aws:amz:{REGION}:execute-api --user {key.access_key}:{key.secret_key} \\\n"
        f"  -H 'content-type: application/json' {url}/v1/jobs \\\n"
        f"  -d {shlex.quote(json.dumps(body))}"
    )


def _keys(user: str) -> str:
    return f"AWS_ACCESS_KEY_ID={KEYS[user].access_key} AWS_SECRET_ACCESS_KEY={KEYS[user].secret_key}"
