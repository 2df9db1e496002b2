"""The gallery: every picture and page that the examples of the pages and the scripts made, each with where it is from."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from markdown.extensions.toc import slugify

sys.path.insert(0, str(Path(__file__).parent))
import examples

DOCS = Path(__file__).parents[1]
MARK = "<!-- gallery -->"


class Made(NamedTuple):
    """A file that an example made, the page and section that it stands in, and the place of that."""

    file: str
    heading: str
    place: str


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace the mark; MkDocs calls this for every page."""
    return markdown.replace(MARK, gallery()) if MARK in markdown else markdown


def gallery() -> str:
    """Pictures first, then pages, of which those of one name are shown once."""
    made = [each for source in sorted(DOCS.rglob("*.md")) for each in _made(source)]
    pictures = [_card(each, f"![{each.heading}](outputs/{each.file}){{ loading=lazy }}") for each in made if _drawn(each)]
    pages = {each.file.split(".", 2)[2]: each for each in reversed(made) if not _drawn(each)}
    framed = [_card(each, _framed(each)) for each in pages.values()]
    for picture in sorted((DOCS / "outputs").glob("example-*.png")):
        name = picture.name.removeprefix("example-").split(".")[0]
        shown = f"![{name}](outputs/{picture.name}){{ loading=lazy }}"
        pictures.append(f"-   {shown}\n\n    `examples/{name}.py`, after one of [the five works](works.md)\n")
    return f"## Pages that are written\n\n{_grid(framed)}\n\n## Pictures\n\n{_grid(pictures)}"


def _made(source: Path) -> Iterator[Made]:
    """What the examples of a page made, in order."""
    path = source.relative_to(DOCS).as_posix()
    text, known = source.read_text(encoding="utf-8"), examples.kept(path)
    for match, example in zip(examples.FENCE.finditer(text), examples.examples(text), strict=True):
        headings = re.findall(r"^##? (.+)$", examples.FENCE.sub("", text[: match.start()]), re.MULTILINE)
        title = headings[0] if len(headings) == 1 else f"{headings[0]}: {headings[-1]}"
        for file in known.get(example.key, {}).get("pictures", []):
            yield Made(file, title, f"{path}#{slugify(headings[-1], '-')}")


def _drawn(made: Made) -> bool:
    return made.file.endswith(".png")


def _framed(made: Made) -> str:
    frame = f'<iframe src="outputs/{made.file}" title="{made.heading}" loading="lazy"></iframe>'
    return f'<span class="page">{frame}</span>'


def _card(made: Made, shown: str) -> str:
    opened = "" if _drawn(made) else f" · [open it](outputs/{made.file})"
    return f"-   {shown}\n\n    [{made.heading}]({made.place}){opened}\n"


def _grid(cards: list[str]) -> str:
    return '<div class="grid cards" markdown>\n\n' + "\n".join(cards) + "\n</div>"
