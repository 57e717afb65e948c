"""URLs and headers of targets: accepted ones, and every fault for which one is refused."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.limits.circuits import host_of
from clockwork.targets.http import HttpTarget
from clockwork.targets.web.urls import Endpoint, InvalidUrl, check_headers, check_url, is_listed, parse
from tests.support.examples import ACME
from tests.unit.targets import exhaustive

ACCEPTED = {
    "plain": ("https://example.com/hook", Endpoint("https", "example.com", 443, "/hook")),
    "no path": ("https://example.com", Endpoint("https", "example.com", 443, "/")),
    "port and query": ("https://example.com:8443?a=b", Endpoint("https", "example.com", 8443, "/?a=b")),
    "upper case": ("HTTPS://EXAMPLE.com/A", Endpoint("https", "example.com", 443, "/A")),
    "underscore": ("https://a_b.example.com/", Endpoint("https", "a_b.example.com", 443, "/")),
    "percent-encoded": ("https://example.com/%C3%BC?q=%20", Endpoint("https", "example.com", 443, "/%C3%BC?q=%20")),
    "at sign in the path": ("https://example.com/@a", Endpoint("https", "example.com", 443, "/@a")),
    "international name": ("https://bücher.example.com/", Endpoint("https", "xn--bcher-kva.example.com", 443, "/")),
    "public IPv4": ("https://93.184.215.14/", Endpoint("https", "93.184.215.14", 443, "/")),
    "public IPv6": ("https://[2606:4700::1]:444/", Endpoint("https", "2606:4700::1", 444, "/")),
    "digits in a label": ("https://1.example.com/", Endpoint("https", "1.example.com", 443, "/")),
}

REFUSED = {
    "http": ("http://example.com/", "https://"),
    "another scheme": ("ftp://example.com/", "https://"),
    "a file": ("file:///etc/passwd", "https://"),
    "no scheme": ("example.com/", "https://"),
    "one slash": ("https:/example.com/", "https://"),
    "empty": ("", "https://"),
    "too long": ("https://example.com/" + "a" * 2_029, "2,049 characters"),
    "credentials": ("https://user:word@example.com/", "credentials"),
    "user only": ("https://user@example.com/", "credentials"),
    "host behind an at sign": ("https://example.com:443@127.0.0.1/", "credentials"),
    "fragment": ("https://example.com/#top", "fragment"),
    "fragment before an at sign": ("https://127.0.0.1#@example.com/", "fragment"),
    "space": ("https://example.com/a b", "white space"),
    "leading space": (" https://example.com/", "white space"),
    "line break": ("https://example.com/\r\nX: y", "white space"),
    "tab": ("https://exa\tmple.com/", "white space"),
    "NUL": ("https://example.com/\0", "white space"),
    "delete": ("https://example.com/\x7f", "white space"),
    "backslash in the host": ("https://127.0.0.1\\@example.com/", "credentials"),
    "backslash before the host": ("https://\\127.0.0.1/", "no host name"),
    "backslash in the path": ("https://example.com/\\a", "percent-encode"),
    "not ASCII in the path": ("https://example.com/ü", "percent-encode"),
    "quote in the query": ('https://example.com/?a="b"', "percent-encode"),
    "no host": ("https:///path", "no host"),
    "port only": ("https://:443/", "no host"),
    "empty port": ("https://example.com:/", "form"),
    "port 0": ("https://example.com:0/", "out of 1-65535"),
    "port 65536": ("https://example.com:65536/", "out of 1-65535"),
    "negative port": ("https://example.com:-1/", "form"),
    "port of other digits": ("https://example.com:٤٤٣/", "form"),
    "two ports": ("https://example.com:1:2/", "form"),
    "dot at the end": ("https://example.com./", "no host name"),
    "two dots": ("https://example..com/", "no host name"),
    "hyphen first": ("https://-a.example.com/", "no host name"),
    "label of 64": (f"https://{'a' * 64}.example.com/", "no host name"),
    "name of 254": (f"https://{'a.' * 124}abcdef/", "no host name"),
    "percent-encoded host": ("https://%31%32%37.0.0.1/", "no host name"),
    "sharp s": ("https://straße.example.com/", "xn--"),
    "empty international label": ("https://ü..example.com/", "xn--"),
    "loopback": ("https://127.0.0.1/", "loopback"),
    "loopback in full width": ("https://１２７.0.0.1/", "loopback"),
    "loopback with another full stop": ("https://127。0。0。1/", "loopback"),
    "metadata": ("https://169.254.169.254/latest/meta-data/", "metadata"),
    "decimal": ("https://2130706433/", "four decimal numbers"),
    "hexadecimal": ("https://0x7f000001/", "four decimal numbers"),
    "hexadecimal parts": ("https://0x7f.0.0.0x1/", "four decimal numbers"),
    "octal": ("https://0177.0.0.1/", "four decimal numbers"),
    "short": ("https://127.1/", "four decimal numbers"),
    "five parts": ("https://1.2.3.4.5/", "four decimal numbers"),
    "out of range": ("https://256.0.0.1/", "four decimal numbers"),
    "number at the end": ("https://example.1/", "four decimal numbers"),
    "hexadecimal at the end": ("https://example.0x/", "four decimal numbers"),
    "loopback with a dot at the end": ("https://127.0.0.1./", "no host name"),
    "IPv6 loopback": ("https://[::1]/", "loopback"),
    "IPv4-mapped": ("https://[::ffff:127.0.0.1]/", "mapped"),
    "NAT64 of private": ("https://[64:ff9b::10.0.0.1]/", "private"),
    "IPv6 with a zone": ("https://[fe80::1%25eth0]/", "without a zone"),
    "IPv6 with a bare zone": ("https://[fe80::1%1]/", "without a zone"),
    "brackets around IPv4": ("https://[127.0.0.1]/", "brackets hold an IPv6 address"),
    "brackets around a name": ("https://[example.com]/", "not an IPv6 address"),
    "open bracket": ("https://[::1/", "form"),
    "IPv6 without brackets": ("https://::1/", "form"),
    "localhost": ("https://localhost/", "local name"),
    "one label": ("https://receiver/", "local name"),
    "below localhost": ("https://a.localhost/", "local name"),
    "below local": ("https://printer.local/", "local name"),
    "below internal": ("https://metadata.google.internal/", "local name"),
}


@pytest.mark.parametrize(("url", "endpoint"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_public_https_url_is_accepted(url: str, endpoint: Endpoint) -> None:
    check = check_url(url, ())
    assert (check.reasons, check.private) == ((), False)
    assert parse(url) == endpoint


@pytest.mark.parametrize(("url", "fault"), REFUSED.values(), ids=REFUSED.keys())
def test_any_other_url_is_refused_with_its_fault(url: str, fault: str) -> None:
    reasons = check_url(url, ()).reasons
    assert any(fault in reason for reason in reasons), reasons


def test_a_url_of_2048_characters_is_accepted() -> None:
    assert check_url("https://example.com/" + "a" * 2_028, ()).reasons == ()


def test_a_host_of_253_characters_is_accepted_and_a_longer_one_is_not() -> None:
    host = ".".join(["a" * 62] * 4) + ".a"
    assert len(host) == 253
    assert check_url(f"https://{host}/", ()).reasons == ()
    assert any("no host name" in reason for reason in check_url(f"https://{host}b/", ()).reasons)


def test_all_faults_of_a_readable_url_are_named() -> None:
    scheme, address = check_url("http://10.0.0.1/", ()).reasons
    assert scheme == "must start with https:// (unless the client's allowedPrivateTargets hold 10.0.0.1:80)"
    assert "10.0.0.1 is not public: it is private" in address


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://127.0.0.1:8080/hook", "127.0.0.1:8080"),
        ("http://receiver/", "receiver:80"),
        ("https://receiver.internal/", "Receiver.Internal:443"),
        ("https://[fd00::1]:9/", "[fd00::1]:9"),
        ("http://127.0.0.1:8080/hook", "127.0.0.1:*"),
        ("http://receiver/", "Receiver:*"),
        ("http://[::1]:9/", "[::1]:*"),
    ],
)
def test_an_allowed_host_and_port_may_be_private_and_plain_http(url: str, allowed: str) -> None:
    check = check_url(url, (allowed,))
    assert (check.reasons, check.private) == ((), True)


@pytest.mark.parametrize(
    ("url", "listed"),
    [
        ("https://example.com/hook", True),
        ("https://example.com:8443/hook", True),
        ("https://www.example.com/hook", False),
        ("https://api.example.org/hook", True),
        ("https://a.b.example.org/hook", True),
        ("https://example.org/hook", False),
        ("https://notexample.org/hook", False),
        ("http://10.0.0.7:8080/hook", True),
        ("http://10.0.0.7:8081/hook", False),
        ("no url at all", True),
    ],
)
def test_a_client_that_lists_hosts_calls_these_and_its_private_targets_alone(url: str, listed: bool) -> None:
    hosts, private = ("example.com", "*.example.org"), ("10.0.0.7:8080",)
    client = msgspec.structs.replace(ACME, allowed_target_hosts=hosts, allowed_private_targets=private)
    assert is_listed(url, client) is listed
    assert is_listed(url, ACME)


def test_what_is_allowed_is_host_and_port_not_host() -> None:
    assert not check_url("http://127.0.0.1:8081/", ("127.0.0.1:8080",)).private
    assert not check_url("https://127.0.0.1.example.com:8080/", ("127.0.0.1:8080",)).private


def test_an_odd_spelling_is_refused_even_of_an_allowed_host() -> None:
    assert check_url("http://0x7f.1:80/", ("127.0.0.1:80",)).reasons


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://example.com:443/", "example.com"),
        ("http://example.com:443/", "example.com:443"),
        ("https://[2606:4700::1]/", "[2606:4700::1]"),
    ],
)
def test_the_host_header_leaves_out_the_default_port(url: str, authority: str) -> None:
    assert parse(url).host_header == authority


@given(st.text(max_size=60).map(lambda text: "https://" + text))
def test_whatever_is_accepted_is_plain_ascii_and_means_one_host(url: str) -> None:
    try:
        endpoint = parse(url)
    except InvalidUrl:
        return
    assert f"{endpoint.scheme}{endpoint.host}{endpoint.path}".isascii()
    again = f"{endpoint.scheme}://{endpoint.authority}{endpoint.path}"
    assert parse(again) == endpoint


def test_usual_headers_are_accepted() -> None:
    assert check_headers({"X-A": "b", "Authorization": "Bearer abc", "content-type": "text/csv"}) == []


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "connection",
        "Keep-Alive",
        "TE",
        "trailer",
        "upgrade",
        "Expect",
        "Proxy-Authorization",
        "proxy-connection",
        "Webhook-Id",
        "webhook-signature",
        "Clockwork-Attempt",
        "webhook_id",
        "Clockwork_Attempt",
        "content_length",
    ],
)
def test_a_reserved_header_is_refused(name: str) -> None:
    assert check_headers({name: "x"}) == [(name, "is set by Clockwork or by HTTP itself and cannot be chosen")]


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\nb", "ü", "a\0", "(a)"])
def test_what_is_no_token_is_no_header_name(name: str) -> None:
    ((_, fault),) = check_headers({name: "x"})
    assert fault.startswith("is no header name")


@pytest.mark.parametrize("value", ["a\r\nX-Injected: yes", "a\n", "a\r", "a\0", "\x1b", "\x7f", "ü"])
def test_a_value_cannot_break_out_of_its_line(value: str) -> None:
    assert check_headers({"x-a": value}) == [("x-a", "has a value with other characters than printable ASCII")]


def test_a_name_in_two_cases_is_refused() -> None:
    assert check_headers({"X-A": "1", "x_a": "2"}) == [
        ("x_a", "is there twice: names differ in more than case, `-` and `_`")
    ]


def test_twenty_headers_are_accepted_and_one_more_is_not() -> None:
    headers = {f"x-{number}": "y" for number in range(20)}
    assert check_headers(headers) == []
    assert check_headers(headers | {"x-20": "y"}) == [("", "holds 21 headers, at most 20 are allowed")]


def test_four_kib_in_all_are_accepted_and_one_byte_more_is_not() -> None:
    assert check_headers({"x-a": "y" * 4_093}) == []
    assert check_headers({"x-a": "y" * 4_094}) == [
        ("", "has 4,097 bytes of names and values, at most 4,096 are allowed")
    ]


def _telling() -> Iterator[str]:
    """The characters that Unicode maps to others, and every fiftieth of the rest: all take `make url-exhaustive`."""
    for number in range(0x110000):
        character = chr(number)
        if number % 50 == 0 or (
            unicodedata.normalize("NFKC", character) != character and not 0xAC00 <= number < 0xD7A4
        ):
            yield character


@pytest.mark.long
def test_what_the_check_accepts_every_later_reader_accepts() -> None:
    assert exhaustive.disagreements(_telling()) == []


@pytest.mark.parametrize("character", ["\ufe16", "\ufe13", "\u2100", "\uff0f", "\u2048"])
def test_a_host_that_unicode_reads_as_another_url_is_refused(character: str) -> None:
    assert check_url(f"https://a{character}b.example.com/x", ()).reasons


def test_a_stored_url_that_cannot_be_read_has_no_circuit() -> None:
    assert host_of(HttpTarget("https://a\ufe16b.example.com/x")) is None
