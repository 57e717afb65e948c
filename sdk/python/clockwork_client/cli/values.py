"""Texts that users type, converted into values of the client."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from clockwork_client import targets
from clockwork_client.answers import Target, instant
from clockwork_client.cli.near import near
from clockwork_client.objects import seconds_of
from clockwork_client.places import maker_of

#: More characters than any token of an attempt has.
_LONGEST_TOKEN = 2_000


class Word(click.ParamType):  # type: ignore[type-arg]
    """One of a few words, in any case. A word that is like one of them is refused; the API judges all others."""

    name = "word"

    def __init__(self, known: Sequence[str]) -> None:
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read it, or fail with the words that are like it."""
        word = str(value).upper()
        if word not in self._known and (alike := near(word, self._known)):
            self.fail(f"{value!r} is unknown.{alike}", param, ctx)
        return word

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        """The words that begin so."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(one) for one in self._known if one.startswith(incomplete.upper())]


class Duration(click.ParamType):  # type: ignore[type-arg]
    """`90`, `90s`, `5m`, `1h30m`, `2d` -> seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it, or fail with what is expected."""
        try:
            return seconds_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Instant(click.ParamType):  # type: ignore[type-arg]
    """RFC 3339 -> a datetime. Without a zone it is in the user's; a date alone is its midnight."""

    name = "instant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read it, or fail with what is expected."""
        text = str(value)
        try:
            return instant(text)
        except ValueError:
            pass
        try:
            return datetime.fromisoformat(text).astimezone()
        except (ValueError, OverflowError, OSError):
            self.fail(f"{text!r} is no instant: 2027-01-31T09:00:00Z, or 2027-01-31T09:00 in your zone", param, ctx)


class Given:
    """A JSON value that was given: null, too."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Json(click.ParamType):  # type: ignore[type-arg]
    """JSON, or `@file`, or `-` for standard input."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it, or fail with the place of the fault."""
        text = str(value)
        try:
            if text == "-":
                text = sys.stdin.read()
            elif text.startswith("@"):
                text = Path(text[1:]).read_text(encoding="utf-8")
            return Given(json.loads(text, parse_constant=_no_number))
        except OSError as error:
            self.fail(f"cannot read {text[1:]!r}: {error.strerror}", param, ctx)
        except RecursionError:
            self.fail("is nested too deeply", param, ctx)
        except ValueError as error:
            self.fail(f"is no JSON ({error}); for plain text use --text", param, ctx)


class Token(click.ParamType):  # type: ignore[type-arg]
    """The name of a file with the token of an attempt, or `-` for standard input."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the token, or fail without any part of the text in the message."""
        name = str(value)
        try:
            with click.open_file(name, encoding="utf-8") as file:
                token = str(file.read(_LONGEST_TOKEN + 1)).strip()
        except OSError as error:
            self.fail(f"cannot read {name!r}: {error.strerror}", param, ctx)
        except ValueError:
            self.fail(f"{name!r} holds no text", param, ctx)
        if not token or len(token) > _LONGEST_TOKEN:
            self.fail(f"{name!r} holds no token", param, ctx)
        return token


def token_of_environment() -> str:
    """The token of an attempt, where no file was named. Raises UsageError if the environment has none either."""
    token = os.environ.get("CLOCKWORK_TOKEN", "").strip()
    if not token:
        raise click.UsageError("whose attempt? --token-file FILE (- is standard input), or set CLOCKWORK_TOKEN")
    return token


class Pair(click.ParamType):  # type: ignore[type-arg]
    """`name=value`."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Read it, or fail with what is expected."""
        name, separator, rest = str(value).partition("=")
        if not separator or not name:
            self.fail(f"{value!r} is not name=value", param, ctx)
        return name, rest


def object_of(option: str, given: Given | None) -> dict[str, Any]:
    """The JSON object that was given, or an empty one if none was. Raises UsageError for any other JSON."""
    if given is None:
        return {}
    if not isinstance(given.value, dict):
        raise click.UsageError(f"{option} is a JSON object")
    return dict(given.value)


DURATION, INSTANT, JSON, PAIR, TOKEN = Duration(), Instant(), Json(), Pair(), Token()


def target(text: str, more: dict[str, Any]) -> Target:
    """`https://...`, an ARN of a resource of AWS, `kafka:topic`, or `pool:name/handler`, as a target.

    `more` are the options of targets that were given: each has to fit the type. Raises UsageError.
    """
    given = {name: value for name, value in more.items() if value not in (None, ())}
    try:
        make, arguments = maker_of(text)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if make is targets.kafka and "message_key" in given:
        given["key"] = given.pop("message_key")
    # By their names alone: `inspect` takes long to load.
    code, defaults = make.__code__, make.__kwdefaults__ or {}
    known = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    if strange := sorted(set(given) - set(known)):
        raise click.UsageError(f"a target of this type has no {_flag(strange[0])}")
    if lacking := [name for name in known if name not in {**defaults, **given}]:
        raise click.UsageError(f"a target of this type needs {' and '.join(map(_flag, lacking))}")
    for pairs in {"headers", "environment"} & given.keys():
        given[pairs] = dict(given[pairs])
    return make(*arguments, **given)


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
