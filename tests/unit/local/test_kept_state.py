"""A kept state names the emulator's port of today, and what clients stored stays as it was."""

from __future__ import annotations

from pathlib import Path

from local.kept_state import move_to_port


def test_addresses_of_the_emulator_move_and_nothing_else_does(tmp_path: Path) -> None:
    queues = (
        '{"https://localhost:%s/000000000000/jobs": {"host": "https://localhost:%s", "x": "http://localhost:8000"}}'
    )
    message = r'{"body": "{\"url\": \"https://localhost:8443\", \"other\": \"https://localhost:8443/hook\"}"}'
    stored = '{"url": "https://localhost:8443/000000000000/looks-like-a-queue"}'
    (tmp_path / "sqs.json").write_text(queues % (4001, 4001))
    (tmp_path / "messages.json").write_text(message)
    (tmp_path / "dynamodb.json").write_text(stored)
    for port in ("4002", "4003", "4003"):
        move_to_port(tmp_path, port)
    assert (tmp_path / "sqs.json").read_text() == queues % (4003, 4003)
    assert (tmp_path / "messages.json").read_text() == message
    assert (tmp_path / "dynamodb.json").read_text() == stored
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dynamodb.json", "messages.json", "sqs.json"]
