"""Texts of other people in every field: a page has no element, attribute or title beyond the template's."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from clockwork.domain.ids import is_job_key
from clockwork_client import Clockwork, http
from clockwork_client.testing import Answer, VirtualClockwork
from tests.console.visitor import Visitor

BASES = [
    "<script>owned()</script>",
    "</script><script>owned()</script>",
    "<img src=x onerror=owned()>",
    "<svg/onload=owned()>",
    "\"><svg onload='owned()'>",
    "' onmouseover='owned()",
    '" autofocus onfocus="owned()',
    "javascript:owned()",
    "{{7*7}}owned{{config}}",
    "{% raw %}owned{% endraw %}",
    "${7*7}#{7*7}<%= 7*7 %>owned",
    "</title><h1>owned</h1>",
    "</bdi></td></tr></table><h1>owned",
    "<!--owned-->-->",
    "]]><owned/>",
    "&lt;owned&gt;&#x3c;owned&#62;",
    "<iframe src=//evil.example>owned",
    "<form action=//evil.example><button>owned",
    "<base href=//evil.example/>owned",
    "<meta http-equiv=refresh content=0>owned",
    '" hx-get="//evil.example/owned',
    "' data-open='owned",
    "<details open ontoggle=owned()>",
    "<a href=//evil.example>owned",
    "<style>*{display:none}</style>owned",
]
#: Characters that act on those who read: directions, joiners, controls, tags, half surrogates, line ends.
INVISIBLE = ["\u202e", "\u2066", "\u200f", "\u200d", "\x1b", "\x00", "\x7f", "\u2028"]
TEXTS = [f"{base}{one}" for base in BASES for one in INVISIBLE]
ALLOWED = set("\n\t\xa0")


class Seen(HTMLParser):
    """The elements of a page with the names of their attributes, and all its text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.told: list[str] = []
        self.values: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag, tuple(sorted(name for name, _ in attrs))] += 1
        self.values += [value or "" for name, value in attrs if name in ("href", "action", "hx-get", "src")]

    def handle_data(self, data: str) -> None:
        self.told.append(data)


def seen(text: str) -> Seen:
    found = Seen()
    found.feed(text)
    found.close()
    return found


Elements = Counter[tuple[str, tuple[str, ...]]]


class Scene:
    """A client whose job has one text in its name, tags, payload, reason, error and answer."""

    def __init__(self, text: str) -> None:
        self.v = VirtualClockwork("2026-03-01T00:00:00Z")
        cw: Clockwork = self.v.client("shop")
        self.v.on_deliver(lambda _: Answer(503, text.replace("\ud800", "")))
        plain = "".join(one for one in text if one.isprintable())
        made = cw.schedule(http("https://example.com/hook?" + "x"), {"text": text}, key=f"k {plain}"[:200],
                           tags={"t": plain[:200]}, every=60)  # fmt: skip
        self.v.advance(minutes=2)
        cw.jobs.pause(made.job_id, plain)
        one = next(iter(cw.executions.list(made.job_id))).execution_id
        self.paths = ["/", "/jobs", f"/jobs/{made.job_id}", f"/jobs/{made.job_id}/cancel", f"/executions/{one}",
                      f"/jobs/{made.job_id}/edit", "/runs", "/upcoming", "/dead",
                      "/changes"]  # fmt: skip
        self.reader = Visitor(cw, self.v).enter()


@pytest.fixture(scope="module")
def harmless() -> dict[int, Elements]:
    """The elements of each page for a text that is harmless."""
    scene = Scene("owned")
    return {number: seen(scene.reader.look(path).text).elements for number, path in enumerate(scene.paths)}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("base", BASES)
def test_a_hostile_text_is_text_wherever_it_stands(base: str, harmless: dict[int, Elements]) -> None:
    scene = Scene(base + "".join(INVISIBLE))
    for number, path in enumerate(scene.paths):
        found = seen(scene.reader.look(path).text)
        assert found.elements == harmless[number], path
        assert all(value.startswith(("/", "#")) for value in found.values), path
        acting = {one for one in "".join(found.told) if not one.isprintable()} - ALLOWED
        assert acting == set(), path
    assert "owned" in "".join(seen(scene.reader.look(scene.paths[2]).text).told)


PATHS = ["/jobs?q={0}&tag={0}", "/dead?prefix={0}&from={0}", "/changes?job={0}&person={0}"]
PATHS += [
    "/runs?state={0}&prefix={0}&tag={0}&from={0}",
    "/jobs/preview?way={0}&cron={0}&timezone={0}",
    "/jobs/preview?way=cron&cron={0}&timezone={0}",
]


@pytest.fixture(scope="module")
def filtered() -> Visitor:
    v = VirtualClockwork("2026-03-01T00:00:00Z")
    return Visitor(v.client("shop"), v).enter()


@pytest.fixture(scope="module")
def plain(filtered: Visitor) -> dict[tuple[str, bool], Elements]:
    """The elements of each page for a harmless text, and for one that is refused wherever a key is meant."""
    texts = {True: "owned", False: "owned%07"}
    return {
        (path, is_key): seen(filtered.get(path.format(text)).text).elements
        for path in PATHS
        for is_key, text in texts.items()
    }


@pytest.mark.sampled(8)
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_two_hundred_hostile_texts_in_the_filters_are_text(
    text: str, filtered: Visitor, plain: dict[tuple[str, bool], Elements]
) -> None:
    for path in PATHS:
        found = seen(filtered.get(path.format(quote(text, errors="surrogatepass"))).text)
        assert found.elements == plain[path, is_job_key(text.strip())], path
        assert all(value.startswith(("/", "#")) for value in found.values), path


def test_there_are_two_hundred() -> None:
    assert len(TEXTS) == len(set(TEXTS)) >= 200


def test_a_payload_of_256_kib_is_cut_and_the_page_says_so() -> None:
    v = VirtualClockwork("2026-03-01T00:00:00Z")
    cw = v.client("shop")
    made = cw.schedule(http("https://example.com/hook"), "<b>" * 80_000, key="long", every=60)
    answer = Visitor(cw, v).enter().look(f"/jobs/{made.job_id}")
    assert "characters more" in answer.words
    assert len(answer.text) < 600_000


@pytest.mark.parametrize(
    "path", ["/%2fevil.example", "/%2f%2fevil.example/x", "/%5cevil.example", "/jobs/%3fq=1", "/%2fevil.example?a=//b"]
)
def test_an_address_that_leads_nowhere_has_no_link_to_another_host(path: str) -> None:
    answer = Scene("owned").reader.get(path)
    assert answer.status == 404
    links = seen(answer.text).values
    assert not [one for one in links if not one.startswith(("/", "#")) or one[1:2] in ("/", "\\")]
    assert not any(one.startswith("/jobs/?") for one in links)
