"""The certificates by which this process knows whom it calls."""

from __future__ import annotations

import ssl

from clockwork.aws import late


def trusting_the_system() -> ssl.SSLContext:
    """A TLS context that checks certificates against the machine's trust store, or botocore's if there is none."""
    context = ssl.create_default_context()
    if ssl.get_default_verify_paths().cafile is None:
        context.load_verify_locations(late.certificates())
    return context


def trusting(bundle: str | None) -> ssl.SSLContext:
    """A TLS context that checks certificates against a bundle alone (`AWS_CA_BUNDLE`), or else the system's."""
    return ssl.create_default_context(cafile=bundle) if bundle else trusting_the_system()
