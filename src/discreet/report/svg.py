"""Pieces of pictures as SVG that grows with the page: places in per cent, letters in pixels, also on a telephone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from markupsafe import Markup

BAR, MARK, LINE, SOFT, EARLIER = "#2b6cb0", "#9c2f0f", "#1b2430", "#dfe6ee", "#55606e"
Triple = tuple[float, float, float]  # an answer and the ends of its interval


def svg(key: str, title: str, height: float, parts: Sequence[str]) -> Markup:
    """A picture with its alternative text."""
    head = (
        f'<svg role="img" aria-labelledby="{key}-title" width="100%" height="{height:g}" '
        f'xmlns="http://www.w3.org/2000/svg"><title id="{key}-title">{escape(title)}</title>'
    )
    return Markup(head + "".join(parts) + "</svg>")  # noqa: S704  every text in it was escaped


def text(x: str, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Words at a place."""
    marked = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y:g}" text-anchor="{anchor}"{marked}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, fill: str, edge: str = "") -> str:
    """A filled rectangle."""
    stroke = f' stroke="{edge}"' if edge else ""
    return f'<rect x="{x:.3f}%" y="{y:g}" width="{max(width, 0):.3f}%" height="{height:g}" fill="{fill}"{stroke}/>'


def line(x1: float, y1: float, x2: float, y2: float, color: str = LINE, width: float = 2) -> str:
    """A straight line."""
    return f'<line x1="{x1:.3f}%" y1="{y1:g}" x2="{x2:.3f}%" y2="{y2:g}" stroke="{color}" stroke-width="{width:g}"/>'


def step(width: float) -> float:
    """A round step, 1, 2 or 5 times a power of ten, that goes into ``width`` three to eight times."""
    power = 10.0 ** math.floor(math.log10(width / 3))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= width / 3)
