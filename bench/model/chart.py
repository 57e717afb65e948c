"""Draws a bar chart as SVG, without a plotting package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, LEFT, RIGHT, ROW, TOP = 820, 170, 90, 30, 62
DECADES = (1, 10, 100, 1_000, 10_000, 100_000)
_SHADES = ("#9ecae1", "#4292c6", "#08519c")
_LABELS = ("p50", "p99", "max")


class Bar(NamedTuple):
    """One row: its name, and three values in ms, ascending."""

    name: str
    values: tuple[float, float, float]


def x_of(value: float) -> float:
    """The position of a value (ms) on the logarithmic axis, in pixels; a value below 1 ms lies at its beginning."""
    share = math.log10(max(1.0, min(value, DECADES[-1]))) / math.log10(DECADES[-1])
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def chart(title: str, bars: Sequence[Bar]) -> str:
    """The SVG of all rows."""
    height = TOP + ROW * len(bars) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="10" y="20" font-size="14">{escape(title)}</text>',
        *_legend(),
        *_axis(height),
        *(line for number, bar in enumerate(bars) for line in _row(number, bar)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _legend() -> list[str]:
    return [
        f'<rect x="{WIDTH - 190 + 60 * place}" y="10" width="12" height="12" fill="{shade}"/>'
        f'<text x="{WIDTH - 174 + 60 * place}" y="20">{label}</text>'
        for place, (shade, label) in enumerate(zip(_SHADES, _LABELS, strict=True))
    ]


def _axis(height: int) -> list[str]:
    return [
        f'<line x1="{x_of(ms)}" y1="{TOP - 12}" x2="{x_of(ms)}" y2="{height - 15}" stroke="#ddd"/>'
        f'<text x="{x_of(ms)}" y="{TOP - 16}" text-anchor="middle" fill="#666">{_told(ms)}</text>'
        for ms in DECADES
    ]


def _row(number: int, bar: Bar) -> list[str]:
    """The shapes of one row, the longest bar first, so that the shorter ones lie on it."""
    y = TOP + ROW * number
    lines = [f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(bar.name)}</text>']
    for value, shade, inset in sorted(zip(bar.values, _SHADES, (6, 3, 0), strict=True), key=lambda one: one[2]):
        width = max(1.0, x_of(value) - LEFT)
        lines.append(f'<rect x="{LEFT}" y="{y + inset}" width="{width}" height="{18 - 2 * inset}" fill="{shade}"/>')
    lines.append(f'<text x="{x_of(bar.values[2]) + 5}" y="{y + 13}" fill="#333">{_told(bar.values[1])}</text>')
    return lines


def _told(ms: float) -> str:
    return f"{ms / 1000:g} s" if ms >= 1_000 else f"{ms:g} ms"
