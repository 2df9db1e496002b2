"""Long names and paths in the cells of tables may be folded behind their parts, so that no table is wider than its page."""

from __future__ import annotations

import re
from typing import Any

CELL = re.compile(r"<td.*?</td>", re.DOTALL)
CODE = re.compile(r"<code>([^<]+)</code>")
PART = re.compile(r"(?<=\w)([/._](?=\w))")


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """MkDocs calls this for every page, when it is HTML."""
    return CELL.sub(lambda cell: CODE.sub(_folded, cell[0]), html)


def _folded(code: re.Match[str]) -> str:
    return "<code>" + PART.sub(r"\1<wbr>", code[1]) + "</code>"
