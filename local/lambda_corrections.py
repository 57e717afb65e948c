"""Corrections to the emulator's Lambda, made in its process: throttled events, updated functions, shared layers."""

from __future__ import annotations

import contextvars
import hashlib
import io
import os
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

#: Lambda's first repeat of an event that met a concurrency limit.
#: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
THROTTLED_SECONDS = 1
#: Our asynchronous invocations live that long.
EVENT_AGE_SECONDS = 60
LAYERS_VARIABLE = "_LAMBDA_LAYERS_DIRS"


def correct_lambda(layers: Path) -> None:
    """Call this before the emulator serves. `layers` is a folder for unpacked layers."""
    from ministack.core import lambda_runtime
    from ministack.services import lambda_svc

    _repeat_throttled_events(lambda_svc)
    _let_running_events_end(lambda_svc, lambda_runtime)
    _unpack_layers_once(lambda_svc, lambda_runtime, layers)


def _repeat_throttled_events(lambda_svc: Any) -> None:
    """Lambda returns an asynchronous event that meets a concurrency limit, whatever its retry attempts.

    The emulator drops the event after those, and the shard of that poller waits for a tick.
    """
    is_event = contextvars.ContextVar("is_event", default=False)
    execute, invoke = lambda_svc._execute_function, lambda_svc.invoke_async_with_retry

    def execute_patiently(function: Any, event: Any) -> Any:
        give_up_at = time.monotonic() + EVENT_AGE_SECONDS
        result = execute(function, event)
        while is_event.get() and result.get("throttle") and time.monotonic() < give_up_at:
            time.sleep(THROTTLED_SECONDS)
            result = execute(function, event)
        return result

    def invoke_asynchronously(function: Any, event: Any) -> None:
        token = is_event.set(True)
        try:
            invoke(function, event)  # runs in a copy of this context
        finally:
            is_event.reset(token)

    lambda_svc._execute_function = execute_patiently
    lambda_svc.invoke_async_with_retry = invoke_asynchronously


def _let_running_events_end(lambda_svc: Any, lambda_runtime: Any) -> None:
    """Lambda lets an environment finish its event before an update replaces it.

    The emulator kills the environment, and together with it all others of its function.
    """
    kill_all, release = lambda_svc.invalidate_worker, lambda_svc.release_worker
    replaced: set[Any] = set()

    def replace(function: str, qualifier: str | None = None, **of: str | None) -> None:
        with lambda_runtime._lock:
            for key, environments in lambda_runtime._workers.items():
                if key.split(":")[2] == function:
                    replaced.update(one for one in environments if one.in_use)
                    lambda_runtime._workers[key] = [one for one in environments if not one.in_use]
        kill_all(function, qualifier, **of)

    def release_or_kill(environment: Any) -> None:
        release(environment)
        if environment in replaced:
            replaced.discard(environment)
            lambda_runtime.kill_workers([environment])

    lambda_svc.invalidate_worker, lambda_svc.release_worker = replace, release_or_kill


def _unpack_layers_once(lambda_svc: Any, lambda_runtime: Any, folder: Path) -> None:
    """All environments share one folder per layer, as they may: Lambda's /opt is read-only.

    The emulator unpacks a copy for each, of thousands of files. When many start at once, or all are removed, everybody
    then waits for the disk.
    """
    spawn, unpacking = lambda_runtime.Worker._spawn, threading.Lock()

    def unpacked(layer: Any) -> str:
        content = lambda_svc._resolve_layer_zip(layer)
        if content is None:
            raise RuntimeError(f"There is no layer {layer}")
        into = folder / hashlib.sha256(content).hexdigest()
        with unpacking:
            if not into.exists():
                partly = into.with_suffix(".partly")
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    archive.extractall(partly)
                partly.rename(into)
        return str(into)

    def spawn_on_shared_layers(environment: Any) -> None:
        config = environment.config
        folders = os.pathsep.join(unpacked(layer) for layer in config.get("Layers", []))
        variables = {**config.get("Environment", {}).get("Variables", {}), LAYERS_VARIABLE: folders}
        environment.config = {**config, "Layers": [], "Environment": {"Variables": variables}}
        try:
            spawn(environment)
        finally:
            environment.config = config

    lambda_runtime.Worker._spawn = spawn_on_shared_layers
