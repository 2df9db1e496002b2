"""Formulas between dollar signs become MathML when the documentation is built; browsers need no script to show it."""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

AFTER_CODE = 185  # code between backticks is taken first (190), escapes come later (180)


class Formula(InlineProcessor):
    """One formula, within a line or displayed on its own."""

    def __init__(self, pattern: str, display: str, md: Markdown) -> None:
        super().__init__(pattern, md)
        self.display = display

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str | Element, int, int]:  # type: ignore[override]  # noqa: N802
        """The formula as MathML, out of reach of what else is read in the text."""
        mathml = convert(m[1].strip(), display=self.display)
        return self.md.htmlStash.store(mathml), m.start(0), m.end(0)


class Mathematics(Extension):
    """Both kinds of formula."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Python-Markdown calls this."""
        md.inlinePatterns.register(Formula(r"\$\$(.+?)\$\$", "block", md), "displayed formula", AFTER_CODE + 1)
        md.inlinePatterns.register(Formula(r"\$(?=\S)([^$\n]+?)(?<=\S)\$", "inline", md), "formula", AFTER_CODE)


def on_config(config: Any) -> Any:
    """MkDocs calls this once, before pages are read."""
    config.markdown_extensions.append(Mathematics())
    return config
