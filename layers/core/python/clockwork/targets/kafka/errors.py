"""Kafka's errors by their meaning for an attempt.

https://kafka.apache.org/protocol#protocol_error_codes
"""

from __future__ import annotations

from confluent_kafka import KafkaError

from clockwork.domain.executions import Outcome, State

#: Errors after which the message may have been stored or not.
_AMBIGUOUS = frozenset(
    {
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TIMED_OUT,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    }
)
#: Errors of the message itself. Every other cause (permissions, topics not yet made) somebody can put right.
_PERMANENT = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError._INVALID_ARG,
    }
)
_WORDS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "the topic denies access: Clockwork's deliverer must be allowed to write",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "the cluster denies access to Clockwork's deliverer",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "the topic does not exist",
    KafkaError._UNKNOWN_TOPIC: "the topic does not exist",
    KafkaError._QUEUE_FULL: "too many messages wait for Kafka",
}


def failure_of(error: KafkaError, started_at: int, ended_at: int) -> Outcome:
    """The outcome of an attempt that ended with an error."""
    code = error.code()
    if code in _AMBIGUOUS:
        words = f"Kafka did not acknowledge the message in time ({error.name()})"
        return Outcome(State.TIMED_OUT, started_at, ended_at, error=words)
    words = _WORDS.get(code, f"Kafka did not take the message: {error.str()[:300]}") + f" ({error.name()})"
    return Outcome(State.FAILED, started_at, ended_at, permanent=code in _PERMANENT, error=words)
