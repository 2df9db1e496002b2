"""The gallery: every picture and page that the examples of the pages and the scripts made, each with where it is from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
MARK = "<!-- gallery -->"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace the mark; MkDocs calls this for every page."""
    return markdown.replace(MARK, gallery()) if MARK in markdown else markdown


def gallery() -> str:
    """Cards with a picture, the title of its page and a link."""
    cards = []
    for source in sorted(DOCS.rglob("*.md")):
        path = source.relative_to(DOCS).as_posix()
        stem = path.removesuffix(".md").replace("/", "-")
        text = source.read_text(encoding="utf-8")
        title = text.partition("\n")[0].lstrip("# ")
        pictures = [p for p in (DOCS / "outputs").glob(f"{stem}.*") if p.suffix == ".png"]
        for picture in sorted(pictures, key=_number):
            cards.append(_card(title, path, f"![{title}](outputs/{picture.name}){{ loading=lazy }}"))
        for made in sorted((DOCS / "outputs").glob(f"{stem}.*.html"), key=_number):
            frame = f'<iframe src="outputs/{made.name}" title="{title}" loading="lazy"></iframe>'
            cards.append(_card(title, path, f"{frame}\n\n    [Open the page](outputs/{made.name})"))
    for picture in sorted((DOCS / "outputs").glob("example-*.png")):
        name = picture.name.removeprefix("example-").split(".")[0]
        shown = f"![{name}](outputs/{picture.name}){{ loading=lazy }}"
        cards.append(f"-   {shown}\n\n    `examples/{name}.py`, after one of [the five works](works.md)\n")
    return '<div class="grid cards" markdown>\n\n' + "\n".join(cards) + "\n</div>"


def _number(path: Path) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\.(\d+)", path.name))


def _card(title: str, path: str, shown: str) -> str:
    return f"-   {shown}\n\n    [{title}]({path})\n"
