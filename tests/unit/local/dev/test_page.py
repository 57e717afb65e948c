"""The page at the root of the development server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from local.dev.page import page_of

LINK = "The console is at http://127.0.0.1:4785/enter?token=a-secret-token"


def page(console: str = LINK, **facts: Any) -> str:
    server: Any = SimpleNamespace(**{"url": "http://127.0.0.1:4780", "kafka": None, **facts})
    return page_of(server, "http://127.0.0.1:4790", console)


def test_it_links_the_console_without_the_key_that_lets_a_reader_in() -> None:
    assert '<a href="http://127.0.0.1:4785/">' in page()
    assert "a-secret-token" not in page()


@pytest.mark.parametrize("word", ["127.0.0.1:4790", "127.0.0.1:4780/v1/", "dev.env", "CLOCKWORKDEVDEMO0000"])
def test_it_says_where_everything_is(word: str) -> None:
    assert word in page()


def test_it_has_the_broker_only_where_there_is_one() -> None:
    assert "Kafka" not in page()
    assert "127.0.0.1:4795" in page(kafka="127.0.0.1:4795")


def test_a_console_that_did_not_start_says_so_and_its_words_are_no_markup() -> None:
    assert "the console did not start: &lt;b&gt;" in page("the console did not start: <b>")
