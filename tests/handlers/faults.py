"""Faults that the field of a job may have, and the form of a refusal."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.handlers.handlers import Answer

HTTP = {"type": "http", "url": "https://example.com/hook"}
QUEUE = "arn:aws:sqs:us-east-1:111111111111:jobs"
FIFO = f"{QUEUE}.fifo"
FUNCTION = "arn:aws:lambda:us-east-1:111111111111:function:orders"
BUS = "arn:aws:events:us-east-1:111111111111:event-bus/orders"
TOPIC = "arn:aws:sns:us-east-1:111111111111:orders"
ROLE = "arn:aws:iam::222222222222:role/clockwork-in"
#: The ARNs that the client acme of these tests may target.
LISTED_ARNS = (FUNCTION, BUS, f"{TOPIC}*", ROLE)
LAMBDA = {"type": "lambda", "functionArn": FUNCTION}
EVENTBRIDGE = {"type": "eventbridge", "busArn": BUS, "source": "shop", "detailType": "order due"}
SNS = {"type": "sns", "topicArn": TOPIC}
NOW = "2023-11-14T22:13:20"


class Fault(NamedTuple):
    """A faulty body, or changes of a valid one, and the pointer and text that the answer must contain."""

    id: str
    body: Any
    pointer: str
    says: str


def refused(answer: Answer, status: int) -> None:
    """Assert that the answer is a problem document of this status that discloses nothing of the implementation."""
    assert answer.status == status, answer.text
    assert answer.content_type == "application/problem+json"
    document = answer.body
    assert document["status"] == status
    assert document["title"]
    assert document["type"] == "about:blank"
    for word in ("Traceback", "pydantic", "clockwork.", "botocore", "Input should", "object at 0x"):
        assert word not in answer.text


def schedule(**fields: Any) -> dict[str, Any]:
    """A job with this schedule."""
    return {"schedule": fields}


def target(**fields: Any) -> dict[str, Any]:
    """A job with its target changed."""
    return {"target": {**HTTP, **fields}}


def retry(**fields: Any) -> dict[str, Any]:
    """A job with this retry policy."""
    return {"retryPolicy": fields}


ONE_OF = "must have just one of at, delaySeconds, every, cron"
FIELDS = [
    Fault("an unknown field", {"color": "red"}, "/color", "is not a known field"),
    Fault("an unknown field whose name needs escaping", {"a/b~c": 1}, "/a~1b~0c", "is not a known field"),
    Fault("an unknown field of the schedule", schedule(delaySeconds=1, when=1), "/schedule/when", "not a known field"),
    Fault("an unknown field of the target", target(uri="x"), "/target/uri", "is not a known field"),
    Fault("a field named like the target's type", target(http=1), "/target/http", "is not a known field"),
    Fault("snake_case", target(timeout_seconds=5), "/target/timeout_seconds", "is not a known field"),
    Fault("a clientId that is no string", {"clientId": 5}, "/clientId", "must be a string"),
    Fault("no schedule", {"schedule": None}, "/schedule", "must be a JSON object"),
    Fault("a schedule that is a list", {"schedule": []}, "/schedule", "must be a JSON object"),
    Fault("an empty schedule", schedule(), "/schedule", ONE_OF),
    Fault("at and delaySeconds", schedule(at=f"{NOW}Z", delaySeconds=1), "/schedule", ONE_OF),
    Fault("at as a number", schedule(at=1_700_000_000), "/schedule/at", "must be a string"),
    Fault("at without a zone", schedule(at=NOW), "/schedule/at", "has no time zone"),
    Fault("at as garbage", schedule(at="tomorrow"), "/schedule/at", "RFC 3339"),
    Fault("at that is empty", schedule(at=""), "/schedule/at", "RFC 3339"),
    Fault("at as a date", schedule(at="2023-11-15"), "/schedule/at", "RFC 3339"),
    Fault("at in ISO 8601's basic form", schedule(at="20231115T000000Z"), "/schedule/at", "RFC 3339"),
    Fault("at as a week", schedule(at="2023-W46-3T00:00:00Z"), "/schedule/at", "RFC 3339"),
    Fault("at on 30 February", schedule(at="2024-02-30T00:00:00Z"), "/schedule/at", "RFC 3339"),
    Fault("at 24 o'clock", schedule(at="2023-11-15T24:00:00Z"), "/schedule/at", "RFC 3339"),
    Fault("at in other digits", schedule(at="\u0662023-11-15T00:00:00Z"), "/schedule/at", "RFC 3339"),
    Fault("at with a line break", schedule(at=f"{NOW}Z\n"), "/schedule/at", "RFC 3339"),
    Fault("at over 24 h past", schedule(at="2023-11-13T22:13:19.999Z"), "/schedule/at", "24 hours"),
    Fault("at over 10 years ahead", schedule(at="2033-11-11T22:13:20.001Z"), "/schedule/at", "10 years"),
    Fault("at in year 1", schedule(at="0001-01-01T00:00:00+23:59"), "/schedule/at", "24 hours"),
    Fault("at in year 9999", schedule(at="9999-12-31T23:59:59-23:59"), "/schedule/at", "10 years"),
    Fault("a negative delay", schedule(delaySeconds=-1), "/schedule/delaySeconds", "must be at least 0"),
    Fault("a delay over 10 years", schedule(delaySeconds=315_360_001), "/schedule/delaySeconds", "315360000"),
    Fault("a delay finer than ms", schedule(delaySeconds=0.0005), "/schedule/delaySeconds", "milliseconds"),
    Fault("a delay as text", schedule(delaySeconds="5"), "/schedule/delaySeconds", "must be a number"),
    Fault("a delay that is true", schedule(delaySeconds=True), "/schedule/delaySeconds", "must be a number"),
    Fault("a delay of 900 digits", schedule(delaySeconds=10**899), "/schedule/delaySeconds", "must be a number"),
    *(
        Fault(f"{name} without what recurs", schedule(delaySeconds=1, **{name: value}), f"/schedule/{name}", says)
        for name, value, says in (
            ("anchorAt", f"{NOW}Z", "is for every alone"),
            ("timezone", "Europe/Berlin", "is for every and cron alone"),
            ("dstGap", "skip", "is for cron alone"),
            ("exclude", [], "is for every and cron alone"),
            ("maxFires", 1, "is for every and cron alone"),
            ("catchUp", "all", "is for every and cron alone"),
            ("overlap", "skip", "is for every and cron alone"),
        )
    ),
    Fault("a key that cannot be printed", {"jobKey": "a\nb"}, "/jobKey", "visible characters and plain spaces"),
    Fault("a key of 256 bytes", {"jobKey": "é" * 128}, "/jobKey", "1-255 bytes"),
    Fault("an empty key", {"jobKey": ""}, "/jobKey", "1-255 bytes"),
    Fault("a key that is a number", {"jobKey": 1}, "/jobKey", "must be a string"),
    Fault("what recurs without a key", schedule(every={"seconds": 60}), "/jobKey", "is required"),
    Fault("no target", {"target": None}, "/target", "must be a JSON object"),
    Fault("a target without type", {"target": {}}, "/target/type", "is required"),
    Fault("a target of unknown type", {"target": {"type": "ftp"}}, "/target/type", "must be one of 'http', 'sqs'"),
    Fault("a target whose type is a list", {"target": {"type": []}}, "/target/type", "must be one of 'http', 'sqs'"),
    Fault("a target without url", {"target": {"type": "http"}}, "/target/url", "is required"),
    Fault("url as a number", target(url=5), "/target/url", "must be a string"),
    Fault("url not https", target(url="http://example.com/"), "/target/url", "https://"),
    Fault("url of another scheme", target(url="file:///etc/passwd"), "/target/url", "https://"),
    Fault("url with credentials", target(url="https://u:p@example.com/"), "/target/url", "credentials"),
    Fault("url with a fragment", target(url="https://example.com/#x"), "/target/url", "fragment"),
    Fault("url with a line break", target(url="https://example.com/\r\nx: y"), "/target/url", "control character"),
    Fault("url of 2,049 characters", target(url=f"https://example.com/{'x' * 2_029}"), "/target/url", "2,048"),
    Fault("url to loopback", target(url="https://127.0.0.1/"), "/target/url", "public address"),
    Fault("url to a private network", target(url="https://10.1.2.3/"), "/target/url", "public address"),
    Fault("url to instance metadata", target(url="https://169.254.169.254/"), "/target/url", "public address"),
    Fault("url to IPv6 loopback", target(url="https://[::1]/"), "/target/url", "public address"),
    Fault("url to a mapped address", target(url="https://[::ffff:10.0.0.1]/"), "/target/url", "public address"),
    Fault("url to an octal address", target(url="https://0177.0.0.1/"), "/target/url", "four decimal numbers"),
    Fault("url to a single number", target(url="https://2130706433/"), "/target/url", "four decimal numbers"),
    Fault("url to localhost", target(url="https://localhost/"), "/target/url", "local name"),
    Fault("url without a host", target(url="https:///x"), "/target/url", "names no host"),
    Fault("an unknown method", target(method="TRACE"), "/target/method", "'POST'"),
    Fault("a method in lower case", target(method="post"), "/target/method", "'POST'"),
    Fault("a header injected by its value", target(headers={"x": "a\r\nhost: b"}), "/target/headers/x", "printable"),
    Fault(
        "a header injected by its name", target(headers={"x:y\r\nz": "a"}), "/target/headers/x:y\r\nz", "header name"
    ),
    Fault("a header without a name", target(headers={"": "a"}), "/target/headers", "header name"),
    Fault("a header that is a number", target(headers={"x": 5}), "/target/headers/x", "must be a string"),
    Fault("headers as a list", target(headers=[]), "/target/headers", "must be a JSON object"),
    Fault("21 headers", target(headers={f"x-{n}": "" for n in range(21)}), "/target/headers", "20"),
    Fault("headers of over 4 KiB", target(headers={"x": "a" * 4_096}), "/target/headers", "4,096"),
    *(
        Fault(f"the header {name}", target(headers={name: "a"}), f"/target/headers/{name}", "set by Clockwork")
        for name in ("Host", "content-length", "Transfer-Encoding", "connection", "TE", "webhook-id", "Clockwork-Any")
    ),
    Fault("a timeout below 1 s", target(timeoutSeconds=0.9), "/target/timeoutSeconds", "must be at least 1"),
    Fault(
        "a timeout over the stage's",
        target(timeoutSeconds=15.1),
        "/target/timeoutSeconds",
        "must be at most 15 in this deployment, and 30 in others",
    ),
    Fault(
        "a queue that is not listed",
        {"target": {"type": "sqs", "queueArn": f"{QUEUE}2"}},
        "/target/queueArn",
        "allowedQueueArns",
    ),
    Fault("a queue that is missing", {"target": {"type": "sqs"}}, "/target/queueArn", "is required"),
    Fault(
        "a message group for a standard queue",
        {"target": {"type": "sqs", "queueArn": QUEUE, "messageGroupId": "g"}},
        "/target/messageGroupId",
        "FIFO",
    ),
    Fault(
        "a message group with a blank",
        {"target": {"type": "sqs", "queueArn": FIFO, "messageGroupId": "a b"}},
        "/target/messageGroupId",
        "must match",
    ),
    Fault(
        "a payload that SQS refuses",
        {"target": {"type": "sqs", "queueArn": QUEUE}, "payload": "\x00"},
        "/payload",
        "SQS refuses",
    ),
    Fault(
        "an empty payload for SQS", {"target": {"type": "sqs", "queueArn": QUEUE}, "payload": ""}, "/payload", "empty"
    ),
    *(
        Fault(f"an ARN that is not listed: {name} {arn}", {"target": {**base, name: arn}}, f"/target/{name}", says)
        for base, name, arn, says in (
            (LAMBDA, "functionArn", f"{FUNCTION}2", "allowedTargetArns"),
            (EVENTBRIDGE, "busArn", f"{BUS}2", "allowedTargetArns"),
            (SNS, "topicArn", TOPIC[:-1], "allowedTargetArns"),
            (LAMBDA, "roleArn", f"{ROLE}2", "allowedTargetArns"),
            (LAMBDA, "functionArn", TOPIC, "must match"),
            (EVENTBRIDGE, "busArn", "default", "must match"),
            (SNS, "topicArn", QUEUE, "must match"),
            (SNS, "roleArn", "arn:aws:iam::222222222222:user/x", "must match"),
            ({"type": "sqs", "queueArn": QUEUE}, "roleArn", f"{ROLE}2", "allowedTargetArns"),
        )
    ),
    Fault("a source of AWS", {"target": {**EVENTBRIDGE, "source": "aws.s3"}}, "/target/source", "events of AWS"),
    Fault("no source", {"target": {**EVENTBRIDGE, "source": ""}}, "/target/source", "at least 1"),
    Fault("a group for a standard topic", {"target": {**SNS, "messageGroupId": "g"}}, "/target/messageGroupId", "FIFO"),
    Fault("a payload that SNS refuses", {"target": SNS, "payload": "a\x00"}, "/payload", "SNS refuses"),
    *(
        Fault(f"too much for {base['type']}", {"target": base, "payload": "a" * 245_760}, "/payload", "245,760")
        for base in (LAMBDA, EVENTBRIDGE, SNS)
    ),
    Fault("a text that escapes make too large", {"target": LAMBDA, "payload": '"' * 122_881}, "/payload", "245,760"),
    Fault("a payload over 256 KiB", {"payload": "a" * (256 * 1024 + 1)}, "/payload", "262,144"),
    Fault("a payload over 256 KiB in UTF-8", {"payload": "é" * (128 * 1024 + 1)}, "/payload", "262,144"),
    Fault("record that is unknown", {"record": "some"}, "/record", "'none' or 'full'"),
    Fault("retryPolicy as text", {"retryPolicy": "always"}, "/retryPolicy", "must be a JSON object"),
    Fault("a status that is no failure", retry(retryStatusCodes=[399]), "/retryPolicy/retryStatusCodes/0", "least 400"),
    Fault("a status over 599", retry(retryStatusCodes=[404, 600]), "/retryPolicy/retryStatusCodes/1", "at most 599"),
    Fault(
        "a retry of what is gone", retry(retryStatusCodes=[410]), "/retryPolicy/retryStatusCodes", "gone permanently"
    ),
    Fault("a window of nothing", {"relevancyWindowSeconds": 0}, "/relevancyWindowSeconds", "at least 1"),
    Fault("a window over a year", {"relevancyWindowSeconds": 31_536_001}, "/relevancyWindowSeconds", "31536000"),
    Fault("no attempt", retry(maxAttempts=0), "/retryPolicy/maxAttempts", "at least 1"),
    Fault("101 attempts", retry(maxAttempts=101), "/retryPolicy/maxAttempts", "at most 100"),
    Fault("half an attempt", retry(maxAttempts=1.5), "/retryPolicy/maxAttempts", "whole number"),
    Fault("10^899 attempts", retry(maxAttempts=10**899), "/retryPolicy/maxAttempts", "at most 100"),
    Fault("an unknown backoff", retry(backoff="random"), "/retryPolicy/backoff", "'exponential'"),
    Fault("an unknown jitter", retry(jitter="some"), "/retryPolicy/jitter", "'full'"),
    Fault("initialSeconds of 0", retry(initialSeconds=0), "/retryPolicy/initialSeconds", "at least 1"),
    Fault("initialSeconds over a day", retry(initialSeconds=86_401), "/retryPolicy/initialSeconds", "at most 86400"),
    Fault("maxSeconds over a day", retry(maxSeconds=86_401), "/retryPolicy/maxSeconds", "at most 86400"),
    Fault("maxAgeSeconds over 14 days", retry(maxAgeSeconds=1_209_601), "/retryPolicy/maxAgeSeconds", "1209600"),
    Fault("tags as a list", {"tags": ["a"]}, "/tags", "must be a JSON object"),
    Fault("21 tags", {"tags": {f"t{n}": "" for n in range(21)}}, "/tags", "at most 20"),
    Fault("a tag without a name", {"tags": {"": "v"}}, "/tags/", "at least 1"),
    Fault("a tag's name of 65 characters", {"tags": {"k" * 65: "v"}}, f"/tags/{'k' * 65}", "at most 64"),
    Fault("a tag's value of 257 characters", {"tags": {"k": "v" * 257}}, "/tags/k", "at most 256"),
    Fault("a tag that is a number", {"tags": {"k": 1}}, "/tags/k", "must be a string"),
    Fault("a tag named like its own value", {"tags": {"type": "k", "k": 1}}, "/tags/k", "must be a string"),
]
