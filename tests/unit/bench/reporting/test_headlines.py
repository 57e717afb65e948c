"""Headlines: the measured figures that the README quotes from the page of results."""

from __future__ import annotations

from bench.reporting.headlines import HEADLINES, headlines
from bench.reporting.report import PAGE, README

_PAGE = """
| units per job | writes |
| --- | ---: |
| `none_batch` | 0.238 |

| dollars per million jobs, everything included | jobs/s |
| --- | ---: |
| a shop's reminders: one a request, recorded | 1 |
| what nobody runs | 7 |

Text.

| an idle month | dollars |
| --- | ---: |
| alarms | 1 |
| sum | 2 |
"""


def test_rows_are_quoted_whole_under_the_heads_of_their_own_tables() -> None:
    assert headlines(_PAGE) == (
        "| dollars per million jobs, everything included | jobs/s |\n| --- | ---: |\n"
        "| a shop's reminders: one a request, recorded | 1 |\n\n"
        "| an idle month | dollars |\n| --- | ---: |\n| sum | 2 |"
    )


def test_the_readme_quotes_the_headlines_of_the_page_as_they_are() -> None:
    quoted = README.read_text(encoding="utf-8").partition("<!-- begin:headlines -->")[2]
    assert quoted.partition("<!-- end:headlines -->")[0].strip() == headlines(PAGE.read_text(encoding="utf-8"))


def test_every_headline_is_on_the_page() -> None:
    quoted = headlines(PAGE.read_text(encoding="utf-8"))
    wanted = [row for rows in HEADLINES.values() for row in rows]
    assert [row for row in wanted if quoted.count(f"\n| {row}") != 1] == []
