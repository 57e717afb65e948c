"""HTTP deliveries against real receivers: good, bad, slow and hostile ones."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import format_datetime
from functools import partial

import pytest
from standardwebhooks import Webhook

from clockwork.aws.targets.http import HttpTransport
from clockwork.aws.targets.secrets import SecretUnreadable
from clockwork.aws.targets.wire.lookups import MOST_LOOKUPS, Lookups, LookupTooSlow, NoLookupFree
from clockwork.aws.targets.wire.pool import IDLE_SECONDS, MOST_IDLE
from clockwork.domain.executions import Outcome, State
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from clockwork.targets.web.addresses import check_own
from clockwork.targets.web.urls import check_url, parse
from tests.contract.authority import Authority
from tests.contract.receiver import Exchange, Receiver, Script, WallClock, answer, answering, delivery_to
from tests.support.promptness import promptly

SECRET = "whsec_" + "c2VjcmV0LW9mLXRoaXJ0eS10d28tYnl0ZXMtMDEyMzQ1"
OK = answer("200 OK", b"thanks")


class NamedSecrets:
    def get(self, name: str) -> str:
        if name == "clockwork/gone":
            raise SecretUnreadable(name, "ResourceNotFoundException")
        return SECRET


@pytest.fixture
def transport() -> Iterator[HttpTransport]:
    transport = HttpTransport(WallClock(), NamedSecrets())
    yield transport
    transport.close()


def to(receiver: Receiver, path: str = "/hook", timeout_seconds: float = 5, **fields: object) -> HttpTarget:
    url = f"http://127.0.0.1:{receiver.port}{path}"
    return HttpTarget(url=url, timeout_seconds=timeout_seconds, private=True, **fields)  # type: ignore[arg-type]


def timed(transport: HttpTransport, target: HttpTarget, within: float) -> tuple[Outcome, float]:
    return promptly(lambda: transport.deliver(delivery_to(target)), within)


# The request that a receiver gets


def test_a_traced_webhook_tells_its_own_trace_or_that_of_its_create_and_none_of_its_target() -> None:
    own = "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01"
    transport = HttpTransport(WallClock(), NamedSecrets(), traced=lambda _, kept: {"traceparent": kept or own})
    with Receiver(answering(OK, OK, OK)) as receiver:
        theirs = {"Traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-00"}
        kept = "00-" + "c" * 32 + "-" + "d" * 16 + "-01"
        transport.deliver(delivery_to(to(receiver, headers=theirs)))
        transport.deliver(delivery_to(to(receiver, headers=theirs, traceparent=kept)))
        transport.close()
        plain = HttpTransport(WallClock(), NamedSecrets())
        plain.deliver(delivery_to(to(receiver, headers=theirs, traceparent=kept)))
        plain.close()
    assert [one.headers["traceparent"] for one in receiver.requests] == [own, kept, theirs["Traceparent"]]


def test_a_delivery_carries_the_payload_and_the_facts_and_a_2xx_is_success(transport: HttpTransport) -> None:
    with Receiver(answering(OK)) as receiver:
        delivery = delivery_to(to(receiver, "/hook?a=b%20c"), attempt=3)
        before = WallClock().now()
        outcome = transport.deliver(delivery)
        after = WallClock().now()
    assert outcome == Outcome(State.SUCCEEDED, outcome.started_at, outcome.ended_at, status_code=200)
    assert before <= outcome.started_at <= outcome.ended_at <= after
    (request,) = receiver.requests
    assert request.line == "POST /hook?a=b%20c HTTP/1.1"
    assert request.body == b'{"n":1}'
    sent = request.headers
    assert sent["host"] == f"127.0.0.1:{receiver.port}"
    assert (sent["content-type"], sent["user-agent"]) == ("application/json", "Clockwork")
    assert (sent["webhook-id"], sent["clockwork-job-id"]) == (delivery.execution_id, "ajob")
    assert sent["clockwork-attempt"] == "3"
    assert sent["webhook-timestamp"] == str(outcome.started_at // 1000)
    assert "webhook-signature" not in sent


def test_the_signature_is_verified_by_the_standard_library_of_receivers(transport: HttpTransport) -> None:
    with Receiver(answering(OK)) as receiver:
        transport.deliver(delivery_to(to(receiver), secrets=("clockwork/acme",)))
    (request,) = receiver.requests
    assert Webhook(SECRET).verify(request.body, request.headers) == {"n": 1}


def test_text_goes_out_as_plain_text_and_a_header_of_the_user_wins_over_a_default(transport: HttpTransport) -> None:
    with Receiver(answering(OK)) as receiver:
        transport.deliver(delivery_to(to(receiver), Payload("grüße".encode(), is_text=True)))
        transport.deliver(delivery_to(to(receiver, headers={"Content-Type": "text/csv", "X-A": "b"}, method="PUT")))
    plain, custom = receiver.requests
    assert plain.body.decode() == "grüße"
    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    assert custom.line.startswith("PUT ")
    assert (custom.headers["content-type"], custom.headers["x-a"]) == ("text/csv", "b")


def test_no_proxy_of_the_environment_is_used(transport: HttpTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Receiver(answering(OK)) as receiver:
        assert transport.deliver(delivery_to(to(receiver))).state is State.SUCCEEDED


# The meaning of an answer


@pytest.mark.parametrize(
    ("status", "permanent"),
    [
        ("400 Bad Request", True),
        ("404 Not Found", True),
        ("408 Request Timeout", False),
        ("410 Gone", True),
        ("425 Too Early", False),
        ("429 Too Many Requests", False),
        ("500 Internal Server Error", False),
        ("503 Service Unavailable", False),
    ],
)
def test_a_refusal_is_permanent_or_not_by_its_status(transport: HttpTransport, status: str, permanent: bool) -> None:
    with Receiver(answering(answer(status, b"because"))) as receiver:
        outcome = transport.deliver(delivery_to(to(receiver)))
    assert (outcome.state, outcome.permanent, outcome.excerpt) == (State.FAILED, permanent, "because")
    assert (outcome.status_code, outcome.error) == (int(status[:3]), f"answered {status[:3]}")


def test_a_redirect_is_not_followed(transport: HttpTransport) -> None:
    with Receiver(answering(OK)) as elsewhere:
        location = f"location: http://127.0.0.1:{elsewhere.port}/"
        with Receiver(answering(answer("307 Temporary Redirect", b"", location))) as receiver:
            outcome = transport.deliver(delivery_to(to(receiver)))
        assert elsewhere.connections == 0
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert outcome.error == "answered 307: redirects are not followed"


def test_retry_after_is_taken_in_seconds_and_as_a_date(transport: HttpTransport) -> None:
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
    dated = answer("503 Service Unavailable", b"", f"retry-after: {format_datetime(soon, usegmt=True)}")
    counted = answer("429 Too Many Requests", b"", "retry-after: 7")
    with Receiver(answering(counted, dated)) as receiver:
        first = transport.deliver(delivery_to(to(receiver)))
        second = transport.deliver(delivery_to(to(receiver)))
    assert first.retry_after_seconds == 7
    assert second.retry_after_seconds == pytest.approx(90, abs=3)


def test_of_a_failure_the_first_kib_is_kept_as_text(transport: HttpTransport) -> None:
    with Receiver(answering(answer("500 Oops", b"\xff" + b"x" * 5000))) as receiver:
        outcome = transport.deliver(delivery_to(to(receiver)))
    assert outcome.excerpt == "\ufffd" + "x" * 1023


# Slow, long and broken answers


def drip_headers(exchange: Exchange) -> None:
    exchange.read_request()
    exchange.drip(b"HTTP/1.1 200 OK\r\n" + b"x-slow: yes\r\n" * 1000)


def drip_status_line(exchange: Exchange) -> None:
    exchange.read_request()
    exchange.drip(b"HTTP/1.1 200 " + b"O" * 10_000)


def say_nothing(exchange: Exchange) -> None:
    exchange.stall()


def early_hints_forever(exchange: Exchange) -> None:
    exchange.read_request()
    while not exchange.closing.wait(0.02):
        exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize("script", [say_nothing, drip_status_line, drip_headers, early_hints_forever])
def test_an_attempt_ends_by_its_timeout_whatever_the_receiver_does(transport: HttpTransport, script: Script) -> None:
    with Receiver(script) as receiver:
        outcome, seconds = timed(transport, to(receiver, timeout_seconds=0.4), 0.9)
    assert (outcome.state, outcome.permanent, outcome.error) == (State.TIMED_OUT, False, "no answer within 0.4 s")
    assert 0.4 <= seconds < 0.9


def test_a_receiver_that_does_not_read_is_left_at_the_timeout(transport: HttpTransport) -> None:
    def deaf(exchange: Exchange) -> None:
        exchange.closing.wait(10)

    with Receiver(deaf) as receiver:
        target = to(receiver, timeout_seconds=0.4)
        delivery = delivery_to(target, Payload(b"1" * 50_000_000))
        outcome, seconds = promptly(lambda: transport.deliver(delivery), 0.9)
    assert outcome.state is State.TIMED_OUT
    assert seconds < 0.9


def test_a_deadline_before_the_timeout_ends_the_attempt(transport: HttpTransport) -> None:
    with Receiver(say_nothing) as receiver:
        target = to(receiver, timeout_seconds=30)
        outcome, seconds = promptly(lambda: transport.deliver(delivery_to(target, seconds=0.3)), 0.9)
        assert seconds < 0.9
        connections = receiver.connections
        late = transport.deliver(delivery_to(to(receiver), seconds=-1))
        assert receiver.connections == connections
    assert outcome.state is State.TIMED_OUT
    assert (late.state, late.error) == (State.TIMED_OUT, "no time was left to start")


@pytest.mark.parametrize(("status", "state"), [("200 OK", State.SUCCEEDED), ("500 Oops", State.FAILED)])
def test_once_the_status_is_known_a_slow_body_costs_a_second_and_changes_nothing(
    transport: HttpTransport, status: str, state: State
) -> None:
    def slow(exchange: Exchange) -> None:
        exchange.read_request()
        exchange.send(f"HTTP/1.1 {status}\r\ncontent-length: 10000\r\n\r\nso ".encode())
        exchange.drip(b"z" * 10_000)

    with Receiver(slow) as receiver:
        outcome, seconds = timed(transport, to(receiver), 1.6)
    assert outcome.state is state
    assert seconds < 1.6
    assert (outcome.excerpt or "so z")[:4] == "so z"


@pytest.mark.parametrize("chunked", [False, True])
def test_of_a_huge_answer_64_kib_are_read(transport: HttpTransport, chunked: bool) -> None:
    sent = 0

    def huge(exchange: Exchange) -> None:
        nonlocal sent
        sent = 0
        exchange.read_request()
        kind = "transfer-encoding: chunked" if chunked else "content-length: 100000000"
        exchange.send(f"HTTP/1.1 500 Oops\r\n{kind}\r\n\r\n".encode())
        block = b"8000\r\n" + b"y" * 0x8000 + b"\r\n" if chunked else b"y" * 0x8000
        while sent < 100_000_000:
            exchange.send(block)
            sent += len(block)

    with Receiver(huge) as receiver:
        outcome, seconds = timed(transport, to(receiver), 1)
    assert (outcome.state, outcome.excerpt) == (State.FAILED, "y" * 1024)
    assert seconds < 1
    assert sent < 20_000_000  # the bytes that the kernel's buffers took; far fewer were read


def test_headers_beyond_64_kib_are_not_read(transport: HttpTransport) -> None:
    def verbose(exchange: Exchange) -> None:
        exchange.read_request()
        exchange.send(b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: " % n + b"v" * 40_000 + b"\r\n" for n in range(50)))

    with Receiver(verbose) as receiver:
        outcome = transport.deliver(delivery_to(to(receiver)))
        error = f"the headers of the answer of 127.0.0.1:{receiver.port} are too long"
    assert (outcome.state, outcome.permanent, outcome.error) == (State.FAILED, False, error)


def test_nobody_listening_is_a_transient_failure(transport: HttpTransport) -> None:
    with Receiver(answering(OK)) as receiver:
        target = to(receiver)
    outcome = transport.deliver(delivery_to(target))
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert outcome.error == f"no connection to 127.0.0.1:{receiver.port}: Connection refused"


def test_a_connection_closed_without_an_answer_is_a_transient_failure(transport: HttpTransport) -> None:
    with Receiver(Exchange.read_request) as receiver:
        outcome = transport.deliver(delivery_to(to(receiver)))
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert outcome.error == f"127.0.0.1:{receiver.port} closed the connection without an answer"


def test_an_answer_that_is_not_http_is_a_transient_failure(transport: HttpTransport) -> None:
    with Receiver(answering(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")) as receiver:
        outcome = transport.deliver(delivery_to(to(receiver)))
    assert (outcome.state, outcome.error) == (State.FAILED, f"127.0.0.1:{receiver.port} did not answer in HTTP")


def test_a_success_whose_body_breaks_off_is_a_success(transport: HttpTransport) -> None:
    def brief(exchange: Exchange) -> None:
        exchange.read_request()
        exchange.send(b"HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\npartial")

    with Receiver(brief) as receiver:
        outcome = transport.deliver(delivery_to(to(receiver)))
    assert (outcome.state, outcome.status_code) == (State.SUCCEEDED, 202)


# Connections


def test_a_connection_is_used_again(transport: HttpTransport) -> None:
    with Receiver(answering(OK, answer("500 Oops", b"no"), answer("204 No Content"), OK)) as receiver:
        statuses = [transport.deliver(delivery_to(to(receiver))).status_code for _ in range(4)]
        assert (statuses, receiver.connections) == ([200, 500, 204, 200], 1)


def test_a_connection_that_the_receiver_closes_is_not_used_again(transport: HttpTransport) -> None:
    def polite(exchange: Exchange) -> None:
        exchange.read_request()
        exchange.send(answer("200 OK", b"bye", "connection: close"))

    def rude(exchange: Exchange) -> None:
        exchange.read_request()
        exchange.send(OK)

    for script in (polite, rude):
        with Receiver(script) as receiver:
            outcomes = []
            for _ in range(3):
                outcomes.append(transport.deliver(delivery_to(to(receiver))).state)
                receiver.wait_for_hang_up()
            assert (outcomes, receiver.connections) == ([State.SUCCEEDED] * 3, 3)


@pytest.mark.parametrize("interim", ["100 Continue", "101 Switching Protocols", "102 Processing", "103 Early Hints"])
@pytest.mark.parametrize(("final", "state"), [(OK, State.SUCCEEDED), (answer("500 Oops"), State.FAILED)])
def test_what_follows_an_interim_answer_is_the_answer(
    transport: HttpTransport, interim: str, final: bytes, state: State
) -> None:
    def hinting(exchange: Exchange) -> None:
        while exchange.read_request() is not None:
            exchange.send(f"HTTP/1.1 {interim}\r\nlink: </x>\r\n\r\n".encode() * 3)
            exchange.send(final)

    with Receiver(hinting) as receiver:
        outcomes = [transport.deliver(delivery_to(to(receiver))).state for _ in range(3)]
        assert (outcomes, receiver.connections) == ([state] * 3, 1)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


@pytest.mark.parametrize("sent", [HEAD[:end] for end in (8, 12, 13, 15, 16, 17, 20, 35, 36, -1)])
@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"])
def test_a_head_that_ends_early_is_no_answer_and_may_be_tried_again(
    transport: HttpTransport, sent: bytes, before: bytes
) -> None:
    def cut_short(exchange: Exchange) -> None:
        exchange.read_request()
        exchange.send(before + sent)

    with Receiver(cut_short) as receiver:
        outcome = transport.deliver(delivery_to(to(receiver)))
        assert (outcome.state, outcome.permanent, outcome.status_code) == (State.FAILED, False, None)
        assert outcome.error == f"127.0.0.1:{receiver.port} closed the connection within the head of its answer"


@pytest.mark.parametrize("start", [HEAD.replace(b"0", b"9", 1), b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000])
def test_a_body_that_is_cut_short_or_a_head_without_end_is_as_before(transport: HttpTransport, start: bytes) -> None:
    def cut_short(exchange: Exchange) -> None:
        exchange.read_request()
        exchange.send(start)

    with Receiver(cut_short) as receiver:
        outcome = transport.deliver(delivery_to(to(receiver)))
        assert outcome.state is (State.FAILED if len(start) > 100 or start[:8] != b"HTTP/1.1" else State.SUCCEEDED)


def test_a_slow_lookup_ends_as_a_failure_that_may_be_tried_again_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clockwork.aws.targets.http.LOOKUP_SECONDS", 0.3)
    answered, asked = threading.Event(), list[str]()

    def resolver(host: str, _: int) -> Sequence[str]:
        asked.append(host)
        if host == "slow.example.com":
            answered.wait(10)
        return ["127.0.0.1"]

    transport = HttpTransport(WallClock(), NamedSecrets(), resolver=resolver)
    slow = HttpTarget(url="http://slow.example.com:1/", private=True)
    try:
        with Receiver(answering(OK)) as receiver, ThreadPoolExecutor() as threads:
            waiting = [threads.submit(transport.deliver, delivery_to(slow)) for _ in range(20)]
            quick = HttpTarget(url=f"http://quick.example.com:{receiver.port}/", private=True)
            outcome, _ = timed(transport, quick, 0.25)
            assert outcome.state is State.SUCCEEDED
            ended = [one.result(5) for one in waiting]
        assert {(one.state, one.permanent) for one in ended} == {(State.FAILED, False)}
        assert ended[0].error == "slow.example.com was not resolved in time: DNS gave no answer within 0.3 s"
        assert asked.count("slow.example.com") == 1, "one thread for one name"
    finally:
        answered.set()
        transport.close()


def hang(lookups: Lookups, client_id: str) -> int:
    """Let a client ask for names that do not answer until it gets no lookup any more; returns how many it got."""
    for number in range(100):
        try:
            lookups.find(client_id, f"{number}.{client_id}.example.com", 1, 0.001)
        except LookupTooSlow:
            continue
        except NoLookupFree:
            return number
    return 100


def test_a_client_holds_a_share_of_the_lookups_and_gets_it_anew_once_its_names_answer() -> None:
    answered = threading.Event()
    lookups = Lookups(lambda host, _: [host] if host == "x" or answered.wait(10) else [])
    assert hang(lookups, "acme") == MOST_LOOKUPS // 4
    with pytest.raises(NoLookupFree):
        lookups.find("acme", "x", 1, 5)
    assert lookups.find("globex", "x", 1, 5) == ["x"]
    with pytest.raises(LookupTooSlow):
        lookups.find("acme", "0.acme.example.com", 1, 0.01)  # a name that is being looked up takes no other thread
    answered.set()
    while lookups._under_way:
        time.sleep(0.01)
    assert lookups.find("acme", "x", 1, 5) == ["x"]
    assert not lookups._held
    lookups.close()


def test_when_many_names_of_twelve_clients_hang_the_next_client_has_a_lookup() -> None:
    answered = threading.Event()
    lookups = Lookups(lambda host, _: [host] if host == "x" or answered.wait(10) else [])
    held = [hang(lookups, f"client-{number}") for number in range(12)]
    assert (held[0], sum(held)) == (MOST_LOOKUPS // 4, len(lookups._under_way))
    assert sum(held) == MOST_LOOKUPS - 1
    assert lookups.find("quick", "x", 1, 5) == ["x"]
    answered.set()
    lookups.close()


def test_names_that_hang_for_one_client_fail_no_attempt_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.aws.targets.http.LOOKUP_SECONDS", 0.01)
    answered = threading.Event()

    def resolver(host: str, _: int) -> Sequence[str]:
        if host.endswith("hangs.example.com"):
            answered.wait(10)
        return ["127.0.0.1"]

    transport = HttpTransport(WallClock(), NamedSecrets(), resolver=resolver)
    with Receiver(answering(OK)) as receiver:
        try:
            of_one = [
                transport.deliver(delivery_to(to_host(receiver, f"{number}.hangs.example.com"), client_id="acme"))
                for number in range(70)
            ]
            of_another = transport.deliver(delivery_to(to_host(receiver, "fine.example.com"), client_id="globex"))
        finally:
            answered.set()
            transport.close()
    states = Counter(one.state for one in of_one)
    assert states == {State.FAILED: MOST_LOOKUPS // 4, State.PENDING: 70 - MOST_LOOKUPS // 4}
    assert {one.error for one in of_one if one.state is State.PENDING} == {
        "its client has its share of the lookups of names"
    }
    assert of_another.state is State.SUCCEEDED


def to_host(receiver: Receiver, host: str) -> HttpTarget:
    return HttpTarget(url=f"http://{host}:{receiver.port}/", private=True)


def test_a_connection_that_idled_for_long_is_not_used_again(
    transport: HttpTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Receiver(answering(OK)) as receiver:
        transport.deliver(delivery_to(to(receiver)))
        real = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: real() + IDLE_SECONDS)
        assert transport.deliver(delivery_to(to(receiver))).state is State.SUCCEEDED
        assert receiver.connections == 2


def test_idle_connections_are_bounded_and_the_one_unused_for_longest_goes_first() -> None:
    transport = HttpTransport(WallClock(), NamedSecrets(), resolver=lambda host, port: ["127.0.0.1"])
    names = [f"host-{number}.example.com" for number in range(MOST_IDLE + 1)]
    with Receiver(answering(OK)) as receiver:

        def send_to(name: str) -> None:
            target = HttpTarget(url=f"http://{name}:{receiver.port}/", private=True)
            assert transport.deliver(delivery_to(target)).state is State.SUCCEEDED

        for name in names:
            send_to(name)
        assert receiver.connections == len(names)  # never shared between names
        send_to(names[-1])
        assert receiver.connections == len(names)
        send_to(names[0])
        assert receiver.connections == len(names) + 1
    transport.close()


def test_a_name_is_resolved_once_per_attempt_and_its_addresses_are_tried_in_turn() -> None:
    asked: list[tuple[str, int]] = []

    def resolver(host: str, port: int) -> Sequence[str]:
        asked.append((host, port))
        return ["127.0.0.2", "127.0.0.1"]

    transport = HttpTransport(WallClock(), NamedSecrets(), resolver=resolver)
    with Receiver(answering(OK)) as receiver:
        target = HttpTarget(url=f"http://hooks.example.com:{receiver.port}/", private=True)
        outcome = transport.deliver(delivery_to(target))
        assert (outcome.state, asked) == (State.SUCCEEDED, [("hooks.example.com", receiver.port)])
        assert receiver.requests[0].headers["host"] == f"hooks.example.com:{receiver.port}"
    transport.close()


# Addresses that must not be reached


@pytest.mark.parametrize("rebound", [["127.0.0.1"], ["93.184.215.14", "127.0.0.1"], ["fd00:ec2::254"]])
def test_a_name_that_turned_private_after_the_create_is_refused(rebound: list[str]) -> None:
    with Receiver(answering(OK)) as receiver:
        url = f"https://rebinding.example.com:{receiver.port}/"
        assert check_url(url, ()).reasons == ()
        transport = HttpTransport(WallClock(), NamedSecrets(), resolver=lambda host, port: rebound)
        outcome = transport.deliver(delivery_to(HttpTarget(url=url)))
        assert receiver.connections == 0
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert (outcome.error or "").startswith("rebinding.example.com must not be connected to: ")
    assert rebound[-1] in (outcome.error or "")


def test_outside_of_a_network_a_private_target_fails_at_once_and_may_be_tried_again() -> None:
    asked = {"inside.example.com": ["10.0.0.7", "fd00::7"], "mixed.example.com": ["10.0.0.7", "93.184.215.14"]}
    transport = HttpTransport(
        WallClock(), NamedSecrets(), reaches_private=False, resolver=lambda host, port: asked[host]
    )
    outcome = transport.deliver(delivery_to(HttpTarget(url="http://inside.example.com:8080/", private=True)))
    # Once the deployment has a network, its release goes to the deliverer in there.
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert outcome.error == "inside.example.com:8080 is at private addresses: the deployment needs option `network`"
    target = HttpTarget(url="http://mixed.example.com:8080/", private=True)
    assert transport._addresses(parse(target.url), target, "acme") == ["93.184.215.14"]
    transport.close()


OWN = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.100.1"),
    *("::1", "::", "fe80::1", "febf::1", "fe80::1%eth0", "fd00:ec2::254"),
    *("::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1"),
    *("64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::127.0.0.1", "2002:7f00:1::", "2002:a9fe:a9fe::1"),
]


@pytest.mark.parametrize("ip", [*OWN, "10.99.0.1", "::ffff:10.99.0.1"])
def test_a_private_target_is_never_the_machine_itself_whatever_its_name_resolves_to(ip: str) -> None:
    asked = [["10.0.0.7"], ["10.0.0.7", ip]]
    refuses = partial(check_own, runtime="10.99.0.1:9001")
    transport = HttpTransport(WallClock(), NamedSecrets(), refuses=refuses, resolver=lambda *_: asked.pop(0))
    target = HttpTarget(url="http://rebinding.internal:8080/", private=True)
    assert transport._addresses(parse(target.url), target, "acme") == ["10.0.0.7"]
    outcome = transport.deliver(delivery_to(target))
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert (outcome.error or "").startswith(f"rebinding.internal must not be connected to: {ip} ")
    transport.close()


def test_a_private_target_on_another_machine_is_reached() -> None:
    refuses = partial(check_own, runtime="169.254.100.1:9001")
    for ip in ("10.0.0.7", "192.168.1.1", "fd00::7", "::ffff:10.0.0.7", "64:ff9b::10.0.0.7", "2002:a00:7::", "1.1.1.1"):
        assert refuses(ip) is None


def test_an_http_url_that_was_never_allowed_is_refused(transport: HttpTransport) -> None:
    outcome = transport.deliver(delivery_to(HttpTarget(url="http://example.com/")))
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert outcome.error == "the URL must start with https://"


def test_a_name_that_does_not_resolve_is_a_transient_failure() -> None:
    def resolver(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    transport = HttpTransport(WallClock(), NamedSecrets(), resolver=resolver)
    outcome = transport.deliver(delivery_to(HttpTarget(url="https://gone.example.com/")))
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert outcome.error == "gone.example.com cannot be resolved: Name or service not known"


def test_a_secret_that_cannot_be_read_is_a_transient_failure_and_nothing_is_sent(transport: HttpTransport) -> None:
    with Receiver(answering(OK)) as receiver:
        outcome = transport.deliver(delivery_to(to(receiver), secrets=("clockwork/gone",)))
        assert receiver.connections == 0
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert outcome.error == "signing secret clockwork/gone cannot be read: ResourceNotFoundException"


# TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "hooks.example.com")


@pytest.fixture
def trusting(authority: Authority) -> Iterator[HttpTransport]:
    tls = ssl.create_default_context(cafile=authority.path)
    transport = HttpTransport(WallClock(), NamedSecrets(), resolver=lambda host, port: ["127.0.0.1"], tls=tls)
    yield transport
    transport.close()


def test_over_tls_the_name_is_asked_for_checked_and_the_connection_kept(
    authority: Authority, trusting: HttpTransport
) -> None:
    with Receiver(answering(OK), authority.server) as receiver:
        target = HttpTarget(url=f"https://hooks.example.com:{receiver.port}/", private=True)
        states = [trusting.deliver(delivery_to(target)).state for _ in range(3)]
        assert (states, receiver.connections) == ([State.SUCCEEDED] * 3, 1)
        assert receiver.requests[0].headers["host"] == f"hooks.example.com:{receiver.port}"
    assert authority.names[-1] == "hooks.example.com"


def test_a_certificate_for_another_name_is_refused(authority: Authority, trusting: HttpTransport) -> None:
    with Receiver(answering(OK), authority.server) as receiver:
        target = HttpTarget(url=f"https://other.example.com:{receiver.port}/", private=True)
        outcome = trusting.deliver(delivery_to(target))
        assert receiver.requests == []
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert (outcome.error or "").startswith("the certificate of other.example.com is not accepted: Hostname mismatch")


def test_a_certificate_of_an_unknown_authority_is_refused(authority: Authority) -> None:
    transport = HttpTransport(WallClock(), NamedSecrets(), resolver=lambda host, port: ["127.0.0.1"])
    with Receiver(answering(OK), authority.server) as receiver:
        target = HttpTarget(url=f"https://hooks.example.com:{receiver.port}/", private=True)
        outcome = transport.deliver(delivery_to(target))
        assert receiver.requests == []
    assert (outcome.error or "").startswith("the certificate of hooks.example.com is not accepted: ")


def test_a_receiver_that_does_not_speak_tls_is_a_transient_failure(trusting: HttpTransport) -> None:
    def plain(exchange: Exchange) -> None:
        exchange.sock.recv(100)
        exchange.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with Receiver(plain) as receiver:
        target = HttpTarget(url=f"https://hooks.example.com:{receiver.port}/", private=True)
        outcome = trusting.deliver(delivery_to(target))
        error = f"no TLS connection to hooks.example.com:{receiver.port}: "
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert (outcome.error or "").startswith(error)


@pytest.mark.parametrize("script", [say_nothing, drip_headers])
def test_over_tls_an_attempt_ends_by_its_timeout_too(
    authority: Authority, trusting: HttpTransport, script: Script
) -> None:
    with Receiver(script, authority.server) as receiver:
        target = HttpTarget(url=f"https://hooks.example.com:{receiver.port}/", private=True, timeout_seconds=0.4)
        outcome, seconds = timed(trusting, target, 0.9)
    assert outcome.state is State.TIMED_OUT
    assert 0.4 <= seconds < 0.9


def test_a_handshake_that_hangs_ends_at_the_timeout(trusting: HttpTransport) -> None:
    with Receiver(say_nothing) as receiver:
        target = HttpTarget(url=f"https://hooks.example.com:{receiver.port}/", private=True, timeout_seconds=0.4)
        outcome, seconds = timed(trusting, target, 0.9)
    assert outcome.state is State.TIMED_OUT
    assert 0.4 <= seconds < 0.9


class ThawedClock(WallClock):
    """A clock that goes on while its environment, with the monotonic clock, stands still."""

    frozen_ms = 0

    def now(self) -> int:
        return super().now() + self.frozen_ms


def test_what_is_thawed_after_its_deadline_is_not_sent() -> None:
    """Frozen while a name was resolved: a minute later its claim has ended, and a cancel may have been answered."""
    clock = ThawedClock()

    def resolve_and_freeze(_host: str, _port: int) -> list[str]:
        clock.frozen_ms = 60_000
        return ["127.0.0.1"]

    thawed = HttpTransport(clock, NamedSecrets(), resolver=resolve_and_freeze)
    with Receiver(answering(answer("200 OK"))) as receiver:
        outcome = thawed.deliver(delivery_to(to(receiver)))
        assert receiver.requests == []
        thawed.close()
    assert outcome.state is State.TIMED_OUT
