"""Keeps the stack up after the demonstration: prints commands for another terminal, and shows arrivals."""

from __future__ import annotations

import json
import shlex
import threading
from datetime import UTC, datetime

from local.demo.arrivals import Arrival
from local.demo.call import write_connection
from local.demo.plan import Channel
from local.demo.scene import Scene
from local.demo.screen import Screen
from local.demo.summary import CreatedJob
from local.emulator import REGION


def stay(scene: Scene, screen: Screen, example: CreatedJob) -> None:
    """Keep the stack up until a signal ends the wait; `example` is a job whose executions are worth a look."""
    stack = scene.stack
    ca_bundle = stack.ca_bundle
    assert ca_bundle is not None, "the demonstration's stack speaks TLS"
    write_connection(stack.emulator.folder, stack.api_url, scene.credentials, ca_bundle)
    screen.say(f"\nThe API stays up at {stack.api_url} until Ctrl-C. From another terminal, in this folder, try:")
    for title, command in commands(scene, str(ca_bundle), example):
        screen.say(f"\n# {title}\n{command}")
    screen.say("\nWhat arrives shows here:")
    scene.arrivals.on_arrival = lambda arrival: screen.say(line_of(arrival))
    threading.Event().wait()


def commands(scene: Scene, ca_bundle: str, example: CreatedJob) -> list[tuple[str, str]]:
    """Titles and shell commands that work as they are while the stack is up."""
    python = f".venv/bin/python -m local.demo.call {shlex.quote(str(scene.stack.emulator.folder))}"
    to_queue = json.dumps({"schedule": {"delaySeconds": 3}, "target": scene.target(Channel.QUEUE), "payload": "hello"})
    return [
        ("A webhook in five seconds, the request signed by curl (7.75 or newer)", _curl(scene, ca_bundle)),
        (
            "A message to the SQS queue in three seconds, signed by Python",
            f"{python} POST /v1/jobs {shlex.quote(to_queue)}",
        ),
        ("The attempts of a job whose target failed twice", f"{python} GET /v1/jobs/{example.job_id}/executions"),
    ]


def _curl(scene: Scene, ca_bundle: str) -> str:
    body = {"schedule": {"delaySeconds": 5}, "target": scene.target(Channel.WEBHOOK), "payload": {"hello": "world"}}
    host, port = f"{scene.stack.outputs['ApiId']}.execute-api.localhost", scene.stack.emulator.port
    user = f"{scene.credentials.access_key}:{scene.credentials.secret_key}"
    parts = [
        f"curl -sS --aws-sigv4 aws:amz:{REGION}:execute-api --user {shlex.quote(user)}",
        f"--cacert {shlex.quote(ca_bundle)} --connect-to {host}:{port}:127.0.0.1:{port}",
        f"-H 'content-type: application/json' -d {shlex.quote(json.dumps(body))}",
        f"https://{host}:{port}/v1/jobs",
    ]
    return " \\\n  ".join(parts)


def line_of(arrival: Arrival) -> str:
    """An arrival as a line."""
    at = datetime.fromtimestamp(arrival.at / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    verdict = "accepted" if arrival.accepted else f"refused {arrival.note}".rstrip()
    return f"  {at} UTC  {arrival.channel:7}  {verdict}  {arrival.execution_id}"
