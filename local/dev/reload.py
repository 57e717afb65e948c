"""Makes changed Lambda code live on the running server, without a deployment.

    python -m local.dev.reload

All code of the Lambdas lies in the core layer. The command publishes a new version of the layer, gives it to every
function, and moves each alias to a function version with the new layer. A running event ends on the old code, as on
AWS.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Protocol

from clockwork.settings import LIVE
from infra.packaging.bundle import core
from local import deployer

#: A mark in the folder of a kept state: the functions have other code than their deployment gave them.
MARK = "reloaded"
_CORE = "LayersCore"


class Clients(Protocol):
    """Makes clients of the emulator's services."""

    def client(self, service: str) -> Any: ...


def reload(clients: Clients, state: Path | None) -> int:
    """Give every function the core layer as it lies in the repository; returns how many there are."""
    functions = clients.client("lambda")
    if state is not None:
        (state / MARK).touch()
    content = deployer.zipped(core(local=True))
    published: dict[str, str] = {}
    changed = 0
    for function in functions.list_functions()["Functions"]:
        layers = [layer["Arn"] for layer in function.get("Layers", [])]
        if any(_CORE in arn for arn in layers):
            renewed = [_renewed(functions, arn, content, published) if _CORE in arn else arn for arn in layers]
            name = function["FunctionName"]
            functions.update_function_configuration(FunctionName=name, Layers=renewed)
            _make_live(functions, name)
            changed += 1
    return changed


def _make_live(functions: Any, name: str) -> None:
    """Start the changed function from now on.

    Most are started by an alias, which a deployment moves to the version that it publishes. CloudFormation starts the
    writer of the admins, which has none.
    """
    if LIVE in {one["Name"] for one in functions.list_aliases(FunctionName=name)["Aliases"]}:
        version = functions.publish_version(FunctionName=name)["Version"]
        functions.update_alias(FunctionName=name, Name=LIVE, FunctionVersion=version)


def make_current(clients: Clients, state: Path) -> None:
    """After a start from a kept state: the code of today also where the deployment changed nothing."""
    if (state / MARK).exists():
        reload(clients, state)


def _renewed(functions: Any, arn: str, content: bytes, published: dict[str, str]) -> str:
    name = arn.split(":")[6]
    if name not in published:
        answer = functions.publish_layer_version(LayerName=name, Content={"ZipFile": content})
        published[name] = answer["LayerVersionArn"]
    return published[name]


def main() -> int:
    """Reload on the server of this checkout. Returns 0, or 1 if none runs."""
    from local.dev import files

    parser = argparse.ArgumentParser(prog="python -m local.dev.reload", description=__doc__)
    parser.add_argument("--folder", type=files.folder, default=files.FOLDER, help="of the server's files (.clockwork)")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        facts = files.facts(options.folder)
    except files.NoServer as error:
        print(str(error), file=sys.stderr)
        return 1
    count = reload(facts, Path(facts.state) if facts.state else None)
    print(f"The code of layers/core is live in {count} Lambdas, after {time.monotonic() - began:.1f} s.")
    print("A change of infra/, lambdas/ or requirements wants a new start: Ctrl-C, and `make dev`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
