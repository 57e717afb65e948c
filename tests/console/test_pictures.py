"""The pictures of the first page in the README: there for both schemes, and small."""

from __future__ import annotations

import re
import struct

from infra import ROOT
from tests.console.shots import MOST_BYTES


def test_the_readme_has_a_picture_for_each_scheme_and_each_is_small() -> None:
    named = re.findall(r'(?:src|srcset)="([^"]+\.png)"', (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(named) == 2
    for name in named:
        content = (ROOT / name).read_bytes()
        width, height = struct.unpack(">II", content[16:24])
        assert (width, len(content) <= MOST_BYTES, height > 500) == (1440, True, True)
