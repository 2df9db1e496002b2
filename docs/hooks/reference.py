"""One page for each noise law and each statistic, written from the registries when the documentation is built.

A law or a statistic that is registered has a page; nobody has to remember to write one. MkDocs calls ``on_config`` and
``on_files``.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import discreet as ds
from discreet.audit.statistic_claims import ASKED, SCHEMA
from discreet.core.mechanism import mechanisms
from discreet.core.schema import Categories, Schema
from discreet.statistics.question import Question, Table, builder, names

sys.path.insert(0, str(Path(__file__).parent))
import uses

HIDDEN = ("no_noise",)
RELATIONS = ("add_remove", "replace")


def pages() -> dict[str, tuple[str, str]]:
    """Path to title and text of every generated page."""
    ds.Laplace  # noqa: B018  fills the registries
    made = {f"laws/{n}.md": (_name(mechanisms[n]), law_page(n)) for n in mechanisms if not n.startswith(("test_", *HIDDEN))}
    made["laws/index.md"] = ("All laws", _index("Noise laws", _LAWS_ARE, made))
    asked = {f"statistics/{n}.md": (n, statistic_page(n)) for n in names()}
    asked["statistics/index.md"] = ("All statistics", _index("Statistics", _STATISTICS_ARE, asked))
    return made | asked


_LAWS_ARE = (
    "A law has three faces that check one another: `release` draws, `log_prob` says how likely, `cost` says the price."
)
_STATISTICS_ARE = (
    "A statistic is an exact query, the noise that its price buys, and a reading that turns what was released into an "
    "answer with an interval."
)


def on_config(config: Any) -> Any:
    """Add the generated pages to the navigation, and how-to pages that it does not list by themselves."""
    listed = set(_listed(config.nav))
    waiting = [p for p in sorted(Path(config.docs_dir, "how-to").glob("*.md")) if f"how-to/{p.name}" not in listed]
    more = [{page.read_text(encoding="utf-8").partition("\n")[0].lstrip("# "): f"how-to/{page.name}"} for page in waiting]
    section(config.nav, "Publish a table").extend(more)
    by_folder: dict[str, list[Any]] = {"Laws": [], "Statistics": []}
    for path, (title, _) in sorted(pages().items(), key=lambda item: (not item[0].endswith("index.md"), item[0])):
        by_folder[path.split("/")[0].capitalize()].append({title: path})
    section(config.nav, "Reference").extend({name: entries} for name, entries in by_folder.items())
    return config


def section(nav: list[Any], name: str) -> list[Any]:
    """The entries of a section of the navigation."""
    entries: list[Any] = next(entry[name] for entry in nav if name in entry)
    return entries


def _listed(nav: Any) -> Iterator[str]:
    """Every path in the navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from _listed(each)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to the site."""
    from mkdocs.structure.files import File

    for path, (_, text) in pages().items():
        files.append(File.generated(config, path, content=uses.LATER + text))
    return files


def law_page(name: str) -> str:
    """Promise, formula, cost, proof and constructors of a law."""
    law = mechanisms[name]
    promise, _, rest = inspect.cleandoc(law.__doc__ or "").partition("\n\n")
    parts = [
        f"# {_name(law)}",
        prose(promise),
        *formula(name),
        prose(rest),
        *_in_use(uses.shortest(_address(law))),
        "## Made by",
        _signature(_address(law), law.__init__, skip=1),
    ]
    for maker in ("costing", "keeping", "within"):
        if hasattr(law, maker):
            method = getattr(law, maker)
            parts += [_signature(f"{_address(law)}.{maker}", method), prose(method.__doc__)]
    parts.append("## Used by")
    for face in ("release", "log_prob", "cost"):
        method = getattr(law, face)
        parts += [_signature(f"law.{face}", method, skip=1), prose(inspect.getdoc(method))]
    shared = [c for c in law.__mro__[1:-1] if c.__doc__ and "Proof:" in c.__doc__]
    for parent in shared:
        parts += [f"## As every {parent.__name__.lower()} law", prose(parent.__doc__)]
    return "\n\n".join(parts) + "\n"


def formula(name: str) -> list[str]:
    """The density and the cost of a law as formulas, where they are written down."""
    known = tomllib.loads((Path(__file__).parent / "formulas.toml").read_text(encoding="utf-8")).get(name)
    if known is None:
        return []
    return [f"$${known['law']}$$", f"$$\\text{{cost: }} {known['cost']}$$", known["where"]]


def statistic_page(name: str) -> str:
    """Promise, arguments, what one person can change under each relation, and the proof of that."""
    make = builder(name)
    asked = next(filter(None, map(uses.example, (f"session.{name}", f"ds.{name}", f"ds.hypotheses.{name}"))), None)
    parts = [f"# {name}", prose(make.__doc__), *_in_use(asked), "## Asked by", _call(name)]
    parts += ["## How far one person moves it", _TABLE_HEAD]
    questions = {relation: _example(name, relation) for relation in RELATIONS}
    for relation, question in questions.items():
        distance = question.query.distance(relation)
        reach = f"{float(distance.l1):.4g} | {float(distance.l2):.4g} | {float(distance.linf):.4g}"
        parts[-1] += f"\n| `{relation}` | `{question.query.name}` | {reach} |"
    parts.append(_TABLE_FOOT)
    for kind in dict.fromkeys(type(q.query) for q in questions.values()):
        parts += [f"## The query `{kind.name}`", prose(kind.__doc__)]
    for reading in dict.fromkeys(type(q.reading) for q in questions.values()):
        parts += [f"## The reading `{reading.name}`", prose(reading.__doc__)]
    return "\n\n".join(parts) + "\n"


def _in_use(found: uses.Statement | None) -> list[str]:
    """An example, and the page that it is from."""
    return [] if found is None else [f"```python\n{found.code}\n```", found.link and f"From {found.link}."]


_TABLE_HEAD = "| neighbours | query | L1 | L2 | L∞ |\n|---|---|---|---|---|"
_TABLE_FOOT = (
    "For columns scaled to [0, 1], one row per person, and 1000 rows where their number is public. With `max_rows = k` the "
    "distances are k times as large."
)


def _example(name: str, relation: str) -> Question:
    """The statistic as the audit asks it: whatever is registered is asked there."""
    arguments, keywords = ASKED.get(name, (("key",), {}))
    columns = SCHEMA | {"key": Categories("private", price={"epsilon": 1, "delta": "1e-5"})}
    table = Table(Schema(columns, neighbors=relation), 1000 if relation == "replace" else None)
    return builder(name)(table, *arguments, **keywords)


def _call(name: str) -> str:
    parameters = list(inspect.signature(builder(name)).parameters.values())[1:]
    shown = ", ".join(str(p.replace(annotation=p.empty)).replace(" = ", "=") for p in parameters if p.name != "root")
    function = f"ds.{name}(...)" if hasattr(ds, name) else ""
    lines = [f'session.ask("{name}", {shown}, epsilon=...)', function and f"{function}  # for arrays"]
    return "```text\n" + "\n".join(filter(None, lines)) + "\n```"


def _signature(title: str, function: Any, skip: int = 0) -> str:
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    plain = [p.replace(annotation=p.empty) for p in parameters]
    text = str(inspect.Signature(plain, __validate_parameters__=False)).replace(" = ", "=")
    return f"```text\n{title}{text}\n```"


def _index(title: str, words: str, entries: dict[str, tuple[str, str]]) -> str:
    rows = [f"| [{name}]({path.split('/')[1]}) | {_first(text)} |" for path, (name, text) in sorted(entries.items())]
    return f"# {title}\n\n{words}\n\n| name | what it promises |\n|---|---|\n" + "\n".join(rows) + "\n"


def _first(text: str) -> str:
    return text.split("\n\n")[1].replace("\n", " ")


def _name(law: type) -> str:
    return law.__name__


def _address(law: type) -> str:
    """Where a law is imported from."""
    return f"ds.{law.__name__}" if law.__name__ in ds.__all__ else f"{law.__module__}.{law.__name__}"


def prose(doc: str | None) -> str:
    """A docstring as Markdown: ``code`` stays code, everything else is text whatever signs it holds; proofs are folded."""
    paragraphs = [_paragraph(p) for p in inspect.cleandoc(doc or "").split("\n\n")]
    proof = next((i for i, p in enumerate(paragraphs) if p.startswith("**Proof**")), len(paragraphs))
    folded = ['??? abstract "Why this holds"', *(f"    {p}" for p in paragraphs[proof:])]
    return "\n\n".join(paragraphs[:proof] + (folded if proof < len(paragraphs) else []))


def _paragraph(text: str) -> str:
    pieces = re.split(r"``(.+?)``", " ".join(line.strip() for line in text.splitlines()))
    shown = [f"`{piece}`" if i % 2 else _escape(piece) for i, piece in enumerate(pieces)]
    return re.sub(r"^Proof(:| that)", r"**Proof**\1", "".join(shown))


def _escape(text: str) -> str:
    """Signs that Markdown would read, as themselves; powers as ``^``."""
    plain = text.replace("**", "^").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\*_\[\]|#])", r"\\\1", plain)
