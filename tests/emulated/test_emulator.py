"""The emulator ends with its host process, however that one ends, and leaves nothing behind."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local.emulator import Credentials, Emulator, EmulatorFailed, emulator

HOST = """
import json, os, sys, time
from local.emulator import emulator
with emulator(secure=False) as running:
    print(json.dumps([running.process_group, str(running.folder)]), flush=True)
    time.sleep(60)
"""


def await_true(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Waits for a condition; returns whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return met


def is_alive(process_group: int) -> bool:
    """Whether any process of a group is still alive."""
    try:
        os.killpg(process_group, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_emulator_whose_host_is_killed_leaves_neither_process_nor_folder() -> None:
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE) as host:
        assert host.stdout
        process_group, folder = json.loads(host.stdout.readline())
        assert is_alive(process_group)
        os.kill(host.pid, signal.SIGKILL)
    assert await_true(lambda: not is_alive(process_group))
    assert await_true(lambda: not Path(folder).exists())


def test_an_emulator_that_is_left_properly_leaves_neither_process_nor_folder() -> None:
    with emulator(secure=True) as running:
        assert is_alive(running.process_group)
    assert not is_alive(running.process_group)
    assert not running.folder.exists()


def test_a_port_that_is_taken_is_an_error_and_not_another_port() -> None:
    with emulator(secure=False) as first, pytest.raises(OSError, match="in use"), emulator(port=first.port):
        pass


def test_an_emulator_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.emulator.PYTHON", Path("/nonexistent/python"))
    with pytest.raises(EmulatorFailed, match="make setup"), emulator():
        pass


def test_accounts_of_one_emulator_do_not_see_each_other(emulator: Emulator, account: Credentials) -> None:
    emulator.client("sqs", account).create_queue(QueueName="mine")
    other = Credentials.root("999999999999")
    assert emulator.client("sqs", account).list_queues()["QueueUrls"]
    assert not emulator.client("sqs", other).list_queues().get("QueueUrls")


def test_an_emulator_that_is_restarted_knows_what_it_held_and_still_leaves_nothing_behind() -> None:
    with emulator(secure=True) as running:
        sqs = running.client("sqs")
        url = sqs.create_queue(QueueName="kept")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="kept too")
        before = running.process_group
        running.restart()
        assert not is_alive(before)
        assert [m["Body"] for m in sqs.receive_message(QueueUrl=url)["Messages"]] == ["kept too"]
        after = running.process_group
    assert not is_alive(after)
    assert not running.folder.exists()


KEEPING_HOST = """
import sys, time
from pathlib import Path
from local.emulator import emulator
with emulator(secure=False, state=Path(sys.argv[1])) as running:
    sqs = running.client("sqs")
    sqs.send_message(QueueUrl=sqs.create_queue(QueueName="kept")["QueueUrl"], MessageBody="kept too")
    print(running.process_group, running.folder, flush=True)
    time.sleep(60)
"""


def test_an_emulator_whose_host_is_killed_keeps_its_state_at_whatever_port_it_starts_again(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KEEPING_HOST, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout
        process_group, folder = host.stdout.readline().split()
        os.kill(host.pid, signal.SIGKILL)
    assert await_true(lambda: not is_alive(int(process_group)), 30)
    assert not Path(folder).exists()
    with emulator(secure=False, state=tmp_path) as again:
        sqs = again.client("sqs")
        (url,) = sqs.list_queues()["QueueUrls"]
        assert [m["Body"] for m in sqs.receive_message(QueueUrl=url)["Messages"]] == ["kept too"]
        assert f":{again.port}/" in url
    with emulator(secure=False, state=tmp_path) as third:
        assert third.client("sqs").list_queues()["QueueUrls"]


#: A function that reports its start, and answers with its configuration once it may end.
WAITS = """
import os, pathlib, time
def handler(event, context):
    pathlib.Path(event["begun"]).touch()
    while not pathlib.Path(event["may_end"]).exists():
        time.sleep(0.02)
    return os.environ["VERSION"]
"""


def zipped(path: str, source: str) -> dict[str, bytes]:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr(path, source)
    return {"ZipFile": archive.getvalue()}


def create_function(client: Any, name: str, source: str, **more: Any) -> None:
    client.create_function(
        FunctionName=name,
        Runtime="python3.11",
        Role="arn:aws:iam::000000000000:role/any",
        Handler="index.handler",
        Timeout=30,
        Code=zipped("index.py", source),
        **more,
    )


def test_a_function_that_is_updated_ends_the_event_that_it_runs(
    emulator: Emulator, account: Credentials, tmp_path: Path
) -> None:
    client = emulator.client("lambda", account)
    create_function(client, "patient", WAITS, Environment={"Variables": {"VERSION": "old"}})
    begun, may_end = tmp_path / "begun", tmp_path / "may-end"
    payload = json.dumps({"begun": str(begun), "may_end": str(may_end)})
    answers: list[str] = []

    def invoke() -> None:
        answers.append(json.load(client.invoke(FunctionName="patient", Payload=payload)["Payload"]))

    thread = threading.Thread(target=invoke)
    thread.start()
    assert await_true(begun.exists)
    client.update_function_configuration(FunctionName="patient", Environment={"Variables": {"VERSION": "new"}})
    may_end.touch()
    thread.join()
    invoke()
    assert answers == ["old", "new"]


#: A function that answers with a word from its layer, and the path of the layer's file.
READS = """
import said
def handler(event, context):
    return [said.WORD, said.__file__]
"""


def test_functions_share_the_files_of_a_layer_and_a_new_version_of_it_has_its_own(
    emulator: Emulator, account: Credentials
) -> None:
    client = emulator.client("lambda", account)

    def publish(word: str) -> list[str]:
        content = zipped("python/said.py", f"WORD = {word!r}")
        return [client.publish_layer_version(LayerName="words", Content=content)["LayerVersionArn"]]

    def answer(name: str) -> list[str]:
        return list(json.load(client.invoke(FunctionName=name)["Payload"]))

    old = publish("old")
    for name in ("reads", "reads-too"):
        create_function(client, name, READS, Layers=old)
    first, shared = answer("reads"), answer("reads-too")
    client.update_function_configuration(FunctionName="reads", Layers=publish("new"))
    renewed = answer("reads")
    assert (first[0], shared, renewed[0]) == ("old", first, "new")
    assert answer("reads-too") == shared
    assert all(Path(file).is_relative_to(emulator.folder) for _, file in (first, renewed))


def test_a_standard_queue_hands_out_messages_of_quiet_groups_first() -> None:
    with emulator(secure=False) as running:
        sqs = running.client("sqs")
        url = sqs.create_queue(QueueName="shared")["QueueUrl"]
        for _ in range(4):
            entries = [{"Id": str(number), "MessageBody": "loud", "MessageGroupId": "loud"} for number in range(10)]
            sqs.send_message_batch(QueueUrl=url, Entries=entries)
        for _ in range(3):
            sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        sqs.send_message(QueueUrl=url, MessageBody="quiet", MessageGroupId="quiet")
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=3)["Messages"]
    assert [one["Body"] for one in received] == ["quiet", "loud", "loud"]
