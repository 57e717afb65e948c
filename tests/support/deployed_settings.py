"""Settings with the names that a stack fills in, without which no Lambda works."""

from __future__ import annotations

from clockwork.settings import Settings

TABLES = ("timeline", "jobs", "executions", "shards", "clients")


def deployed(settings: Settings) -> Settings:
    """The settings with names of tables, and with the URL of the release queue."""
    names = {f"{name}_table": f"Stack-{name}" for name in TABLES}
    return settings.with_(**names, release_queue_url="https://sqs.us-east-1.amazonaws.com/123456789012/Release")
