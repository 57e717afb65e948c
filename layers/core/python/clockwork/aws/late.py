"""botocore, imported when it is first needed: 140 ms of CPU that a cold start without it is spared.

Only the composition root and modules of this name import inside functions. Deferring an import is worth it for a
package that most environments need late or never, and that takes longer to import than all the others together.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import botocore.session
    from botocore.config import Config


class NeverRaised(Exception):
    """Stands for an exception whose module nobody has imported, so that nobody can have raised it."""


def session() -> botocore.session.Session:
    """A new session, which reads the environment."""
    import botocore.session

    return botocore.session.get_session()


def config(**options: Any) -> Config:
    """The configuration of a client."""
    from botocore.config import Config

    return Config(**options)


def certificates() -> str:
    """The path of the bundle of certificates that botocore brings."""
    from botocore.httpsession import get_cert_path

    return str(get_cert_path(True))


def exception(name: str) -> Any:
    """A class of botocore's exceptions.

    The parsers' class is only looked up in memory, since its import takes 55 ms.
    """
    if name == "ResponseParserError":
        parsers = sys.modules.get("botocore.parsers")
        return NeverRaised if parsers is None else parsers.ResponseParserError
    import botocore.exceptions

    return getattr(botocore.exceptions, name)


def parser_error(message: str) -> Exception:
    """A fault of botocore's parsers, for the data plane, which reads answers in their place."""
    from botocore.parsers import ResponseParserError

    return ResponseParserError(message)
