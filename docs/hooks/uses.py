"""Where the examples of the pages use a public name: the statement that does, and a link to its page.

Every example is run by the tests, so what stands here runs too. ``docs/hooks/uses.md`` has an example of what no page uses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[1]
PACKAGES = ("models", "hypotheses", "inference", "synthetic", "local", "protect")
COMMENT, NAME = re.compile(r"  # (.*)"), re.compile(r"\bds(?:\.\w+)+")  # "# a ds.Result" says what a statement makes
MODULES = ("ds", "np", "session", "rng", "pd", "pl", *(f"ds.{name}" for name in PACKAGES), *PACKAGES)
LONGEST = 20  # lines of a statement that is shown
LATER = "---\nsearch:\n  boost: 0.01\n---\n\n"  # of a generated page: a search finds the pages for everybody first


class Statement(NamedTuple):
    """A statement of an example, as it stands on its page."""

    link: str
    code: str
    used: frozenset[str]


def example(name: str) -> Statement | None:
    """The first statement of any page that uses ``ds.name``; the shortest, where several of one page do."""
    found = [each for each in _statements() if name in each.used]
    return min(found, key=lambda each: (found[0].link != each.link, len(each.code))) if found else None


def shortest(name: str) -> Statement | None:
    """The shortest statement of all pages that uses ``ds.name``."""
    return min((each for each in _statements() if name in each.used), key=lambda each: len(each.code), default=None)


def pages(name: str) -> list[str]:
    """Links to the pages that use a name, four at most."""
    return list(dict.fromkeys(each.link for each in _statements() if name in each.used and each.link))[:4]


@cache
def _statements() -> list[Statement]:
    found = []
    pages = [p for p in DOCS.rglob("*.md") if p.parent != Path(__file__).parent]
    pages.sort(key=lambda page: (page.parent.name != "how-to", page))  # the pages for everybody come first
    for page in [*pages, Path(__file__).with_suffix(".md")]:
        text = page.read_text(encoding="utf-8")
        own = page.parent == Path(__file__).parent
        link = "" if own else f"[{text.partition(chr(10))[0].lstrip('# ')}](../{page.relative_to(DOCS).as_posix()})"
        names: dict[str, str] = {}
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found += _of_block(block, link, names)
    return found


def _of_block(block: str, link: str, names: dict[str, str]) -> Iterator[Statement]:
    """The statements of a block, each with the public names in it; ``names`` are those that the page imported."""
    lines = block.splitlines()
    for node in ast.parse(block).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
            prefix = node.module.replace("discreet", "ds", 1)  # type: ignore[union-attr]
            names |= {each.asname or each.name: f"{prefix}.{each.name}" for each in node.names}
        elif node.end_lineno is not None and node.end_lineno - node.lineno < LONGEST:
            code = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            yield Statement(
                link, code, frozenset(_used(node, names)) | {n for c in COMMENT.findall(code) for n in NAME.findall(c)}
            )


def _used(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id in names:
            yield names[each.id]
        elif isinstance(each, ast.Attribute):
            dotted = ast.unparse(each)
            first, _, rest = dotted.partition(".")
            yield f"{names[first]}.{rest}" if first in names else dotted
            if ast.unparse(each.value) not in MODULES:
                yield f".{each.attr}"
