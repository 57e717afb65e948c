"""`python -m tests.console.shots FOLDER`: pictures of all pages, light and dark, wide and narrow.

`--only NAME` makes those of some pages. Each picture has at most 150 KB.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.console.browsing import ALL, Reader, View, browser
from tests.console.stage import playing

MOST_BYTES = 150_000
#: A picture with too many bytes is cut to so many pixels, and again if it has still too many.
_LOWER = (820, 700, 600)
_VIEWS = [one for one in ALL if one.width != 768]


def main(folder: Path, only: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with playing() as stage, browser() as opened:
        pages = {name: path for name, path in stage.pages().items() if not only or name in only}
        for view in _VIEWS:
            reader = Reader(opened, stage, view)
            for name, path in pages.items():
                print(shot(reader, view, name, path, folder))
            reader.close()


def shot(reader: Reader, view: View, name: str, path: str, folder: Path) -> str:
    """Make one picture. A long page is shown as far as a picture may have bytes."""
    reader.stage.catch_up()
    page = reader.open(path)
    file = folder / f"{name}-{view}.png"
    if name == "job":
        page.evaluate("document.querySelector('.history details')?.setAttribute('open', '')")
    page.screenshot(path=file, full_page=view.width == 360 and len(page.content()) < 60_000)
    size = file.stat().st_size
    for height in _LOWER:
        if size > MOST_BYTES:
            page.screenshot(path=file, clip={"x": 0, "y": 0, "width": view.width, "height": height})
            size = file.stat().st_size
    assert size <= MOST_BYTES, f"{file} has {size:,} bytes"
    return f"{file}  {size:,} bytes"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.console.shots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[])
    chosen = parser.parse_args()
    main(chosen.folder, chosen.only)
