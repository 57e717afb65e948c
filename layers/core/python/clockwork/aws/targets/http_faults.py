"""Faults of HTTP attempts that got no answer, in words that the owner of the target can act on."""

from __future__ import annotations

import errno
import http.client
import os
import socket
import ssl

from clockwork.aws.targets.secrets import SecretUnreadable
from clockwork.aws.targets.wire.connection import HeadCutShort
from clockwork.aws.targets.wire.lookups import LookupTooSlow, NoLookupFree
from clockwork.aws.targets.wire.sockets import AnswerTooLong
from clockwork.domain.executions import Outcome, State
from clockwork.targets.web.urls import InvalidUrl, parse
from clockwork.targets.web.webhooks import InvalidSecret


class Forbidden(Exception):
    """The attempt must not be made, now or later; the message says why."""


class OutOfReach(Exception):
    """No route leads from here to the target.

    The message names the option that the operator of the deployment has to add.
    """


#: The faults that an attempt is expected to meet. Any other exception is a defect of ours and reported as one.
FAULTS = (
    *(OSError, http.client.HTTPException, Forbidden, OutOfReach, InvalidUrl, InvalidSecret),
    SecretUnreadable,
)
_PERMANENT = (Forbidden, InvalidUrl)


def failure_of(fault: Exception, url: str, seconds: float, started_at: int, ended_at: int) -> Outcome:
    """The outcome of an attempt of at most `seconds` that ended in one of FAULTS.

    PENDING if it never began: its client has its share of the lookups.
    """
    if isinstance(fault, NoLookupFree):
        return Outcome(State.PENDING, ended_at, ended_at, error="its client has its share of the lookups of names")
    if isinstance(fault, TimeoutError) and fault.errno is None:
        error = f"no answer within {seconds:g} s" if seconds > 0 else "no time was left to start"
        return Outcome(State.TIMED_OUT, started_at, ended_at, error=error)
    permanent = isinstance(fault, _PERMANENT)
    return Outcome(State.FAILED, started_at, ended_at, permanent=permanent, error=_words(fault, url))


def _words(fault: Exception, url: str) -> str:
    if isinstance(fault, InvalidUrl):
        return f"the URL {fault}"
    if isinstance(fault, Forbidden | OutOfReach | SecretUnreadable):
        return str(fault)
    if isinstance(fault, InvalidSecret):
        return f"a signing secret {fault}"
    endpoint = parse(url)
    return _words_of_network(fault, endpoint.host, endpoint.authority)


def _words_of_network(fault: Exception, host: str, authority: str) -> str:
    match fault:
        case socket.gaierror():
            return f"{host} cannot be resolved: {fault.strerror}"
        case ssl.SSLCertVerificationError():
            return f"the certificate of {host} is not accepted: {fault.verify_message}"
        case ssl.SSLError():
            return f"no TLS connection to {authority}: {fault.reason or 'the handshake failed'}"
        case AnswerTooLong():
            return f"the headers of the answer of {authority} are too long"
        case LookupTooSlow():
            return f"{host} was not resolved in time: DNS gave no answer within {fault.seconds:g} s"
        case HeadCutShort():
            return f"{authority} closed the connection within the head of its answer"
        case http.client.RemoteDisconnected() | ConnectionResetError() | BrokenPipeError():
            return f"{authority} closed the connection without an answer"
        case OSError():
            return f"no connection to {authority}: {os.strerror(fault.errno or errno.EIO)}"
        case _:
            return f"{authority} did not answer in HTTP"
