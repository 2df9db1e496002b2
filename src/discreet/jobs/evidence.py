"""One folder for a review board: what was deployed, under which guarantee, and where each claim can be checked.

Everything but names and purpose is read from the ledger, the declarations and the package. No record is read.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.core import toml
from discreet.core.budget import Budget
from discreet.core.schema import Schema
from discreet.errors import DiscreetError, InvalidRequest, NoSuchLedger
from discreet.jobs import deployment_document, proof_index
from discreet.jobs.deployment_document import NAMES
from discreet.jobs.output import Writer, as_csv
from discreet.jobs.release_file import ReleaseFile, check_keys
from discreet.ledger import Ledger
from discreet.ledger.events import Event, canonical, digest
from discreet.report import for_people
from discreet.report.meaning import best_guess, whole
from discreet.report.numerals import percent

REGISTRY, PROOFS, PEOPLE, AUDIT = "registry.yaml", "proofs.csv", "people.html", "audit.csv"
HEAD, KEY, GUIDE = "ledger_head.json", "public_key.txt", "README.md"
FILES = (GUIDE, REGISTRY, PEOPLE, AUDIT, PROOFS, HEAD, KEY)
_AUDITED = ("kind", "name", "claim", "delta", "certified", "verdict", "note")
_NEEDED = ("author", "short_name", "curator", "purpose")
_KNOWN = dict.fromkeys((*_NEEDED, "justification", "security", "contact", "url"), (str,))
_WHO = {
    "add_remove": "Two tables are neighbours if one has all rows of one more {unit}.",
    "replace": "Two tables are neighbours if all rows of one {unit} are exchanged for others.",
    "both": "Two tables are neighbours if all rows of one {unit} are added, taken away or exchanged.",
}
_OPEN = {
    "add_remove": "None of the table: the number of rows is protected too.",
    "replace": "The number of rows.",
    "both": "None of the table: the number of rows is protected too.",
}


@dataclass(frozen=True)
class About:
    """What a person types: names, the purpose, and whom to write to."""

    author: str
    short_name: str
    curator: str
    purpose: str
    justification: str | None = None
    security: str | None = None
    contact: str | None = None
    url: str | None = None


def read_about(path: Path) -> About:
    """The file with names and purpose; every refusal says its line."""
    doc, place = toml.read(path, "file about the deployment")
    check_keys(doc, _KNOWN, place)
    for key in _NEEDED:
        if not doc.get(key, "").strip():
            raise InvalidRequest(f'{place(key)}{key} must be a few words, and is missing; write {key} = "..."', key=key)
    return About(**doc)


@dataclass(frozen=True)
class Book:
    """What a ledger says of itself, all of it public: counted, never copied."""

    name: str
    budget: Budget
    spent: str
    left: str
    relation: str
    unit: str
    head: dict[str, Any]
    asked: int
    by: int
    days: int
    date: str
    laws: Mapping[str, int]


def read_book(file: ReleaseFile) -> Book:
    """The ledger of a release file, verified from its first event."""
    try:
        ledger = Ledger(file.ledger, None, name=file.name, neighbors=file.schema.neighbors)
    except NoSuchLedger as problem:
        raise problem.remedied("run `discreet release` first, or correct the ledger or the name") from None
    except DiscreetError as problem:
        raise problem.at(file.places["ledger"]) from None
    with ledger:
        count = ledger.verify()
        events = list(ledger.events())
        paid = [e for e in events if e.kind in ("charge", "open", "draw", "step", "use")]
        stored = [e for e in events if e.kind == "store"]
        if ledger.budget is None or not stored:
            raise InvalidRequest(
                f"evidence is of a ledger with a budget and at least one answer, got {ledger.name!r} with "
                f"{len(stored)} answers; run `discreet release` first"
            )
        head = {"ledger": ledger.name, "number": count, "head": ledger.head, "total": ledger.spent().to_dict()}
        return Book(
            ledger.name,
            ledger.budget,
            str(ledger.spent()),
            str(ledger.remaining()),
            ledger.relation,
            str(ledger.unit or "one row"),
            head,
            len([e for e in paid if e.kind != "open"]),
            len({e.who for e in paid}),
            len({e.time[:10] for e in stored}),
            max(e.time for e in stored)[:10],
            Counter(_law(e) for e in paid if e.law is not None),
        )


def _law(event: Event) -> str:
    """A law by its name and the scale or rate it has."""
    doc = json.loads(event.law or "{}")
    size = doc.get("scale", doc.get("rate"))
    sizes = size if isinstance(size, list) else [] if size is None else [size]
    shown = ", ".join(dict.fromkeys(f"{float(Fraction(str(s))):.6g}" for s in sizes))
    return str(doc["name"]).replace("_", " ") + (f" with scale or rate {shown}" if shown else "")


def written(
    file: ReleaseFile,
    about: About,
    audit: Iterable[Mapping[str, Any]],
    sign: Callable[[str], tuple[str, str]],
    write: Writer,
) -> dict[str, Any]:
    """Write the folder; the registry's document. ``sign`` gives the public key and the signature of a text.

    What is signed names the ledger's head and the digest of every file, so none can be exchanged without it showing.
    """
    book = read_book(file)
    document = describe(file, about, book)
    deployment_document.check(document)
    texts = {
        REGISTRY: deployment_document.to_yaml(document),
        PEOPLE: for_people.render(file.title, about, book, file.schema),
        AUDIT: as_csv(_AUDITED, ([row.get(name, "") for name in _AUDITED] for row in audit)),
        PROOFS: proof_index.to_csv(proof_index.entries()),
    }
    fact = canonical(book.head | {"files": {name: digest(text) for name, text in texts.items()}})
    public, signature = sign(fact)
    guide = files("discreet.jobs").joinpath("evidence_guide.md").read_text(encoding="utf-8")
    texts[HEAD] = json.dumps({"fact": fact, "signature": signature}, indent=1) + "\n"
    for name, text in {GUIDE: guide.replace("VERSION", __version__), **texts, KEY: public + "\n"}.items():
        write(name, text)
    return document


def describe(file: ReleaseFile, about: About, book: Book) -> dict[str, Any]:
    """The deployment in the registry's words."""
    details, unit = NAMES["details"], "person" if file.schema.person is not None else "row"
    numbers = {k: float(v) for k in ("epsilon", "rho", "delta") if (v := getattr(book.budget, k))}
    titles = "; ".join(item.title for item in file.items)
    chance = percent(best_guess(whole(book.budget)))
    deployment: dict[str, Any] = {
        "short_name": about.short_name,
        "data_curator": about.curator,
        "intended_use": about.purpose,
        "data_product_type": "Statistics with noise of a published law",
        "data_product_description": f"{file.title}: {titles}.",
        "publication_date": book.date,
        **({} if about.url is None else {"additional_information_url": about.url}),
        NAMES["variant"]: {
            "name": "Zero Concentrated DP" if "rho" in numbers else "Approximate DP" if "delta" in numbers else "Pure DP",
            "data_domain": _domain(file.schema),
            "unprotected_quantities": f"{_OPEN[book.relation]} Declared bounds and labels, the questions and their "
            "prices are public. How long a computation takes is outside what is promised beside the table.",
        },
        NAMES["loss"]: {
            "privacy_unit": unit,
            f"privacy_unit_{details}": f"{book.unit[0].upper()}{book.unit[1:]}. {_WHO[book.relation].format(unit=unit)}",
            "privacy_parameters": numbers,
            f"privacy_parameters_{details}": f"The most that may ever be spent on this population is {book.budget}; "
            f"{book.spent} was spent by {book.date}, and {book.left} is left.",
        },
        "model": {
            "model_type": "Central",
            f"model_type_{details}": f"{about.curator} holds the records and adds the noise.",
            "actors": f"Curator: {about.curator}. Recipients: whoever reads what was released.",
            "release_type": "One-shot" if book.days == 1 else "Continual",
            f"release_type_{details}": f"Answers were stored on {_count(book.days, 'day')}, the last on {book.date}.",
            "interactivity": "Non-interactive" if book.by == 1 else "Interactive",
            f"interactivity_{details}": f"{_count(book.asked, 'question')} by {_count(book.by, 'account')}, paid from one "
            "ledger. The budget is shared by all who ask, so the guarantee holds for all answers together: nobody is "
            "assumed not to collude.",
        },
        NAMES["more"]: {
            "post_processing": "Answers and intervals are computed from what was released and from declarations alone.",
            "composition": "Costs are added as Rényi curves, and a filter refuses what would exceed the budget."
            if book.budget.composition == "renyi"
            else "Costs are added exactly, as rational numbers, and a filter refuses what would exceed the budget.",
        },
        "implementation": {
            NAMES["tuning"]: _looked(file.schema),
            "mechanisms": _mechanisms(book, about),
            "justification": about.justification
            or f"At {book.budget} the strongest attacker, who could otherwise only toss a coin about one {unit}, "
            f"guesses right with probability at most {chance}.",
        },
    }
    return {"approved": False, "registry_author": about.author, "deployment": deployment}


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _domain(schema: Schema) -> str:
    return "; ".join(f"{name}: {_column(column.to_dict())}" for name, column in schema.columns.items()) + "."


def _column(doc: Mapping[str, Any]) -> str:
    bounds, values = doc.get("bounds"), doc.get("values")
    if isinstance(bounds, list):
        return f"{doc['type']} from {bounds[0]} to {bounds[1]}"
    if isinstance(values, Iterable) and not isinstance(values, str):
        return f"{doc['type']}, one of {', '.join(map(str, values))}"
    return str(doc["type"]) + (" with private bounds or labels" if "private" in (bounds, values) else "")


def _looked(schema: Schema) -> str:
    found = [name for name, column in schema.columns.items() if column.price is not None]
    private = f"Bounds or labels of {', '.join(found)} were found privately, for a price in the ledger. " if found else ""
    return (
        f"{private}All {'other ' if found else ''}bounds and labels were declared, not read off the data. Every question "
        "that this ledger paid for is in it; what the custodian saw of the table otherwise is not known to it."
    )


def _mechanisms(book: Book, about: About) -> str:
    laws = "; ".join(f"{law} ({'once' if times == 1 else f'{times} times'})" for law, times in sorted(book.laws.items()))
    return (
        f"{laws}. Library: discreet {__version__}, Python {platform.python_version()} on {platform.system()}. Floating "
        "point: records are mapped to whole numbers on a public grid, sums are exact, and noise is drawn on whole numbers "
        "or is the ideal noise rounded to the grid, with the rounding certified. Randomness: the operating system's, "
        "expanded by a stream cipher. Timing: outside what is promised beside the table; behind the service answers leave "
        "on a schedule. "
        f"Security of the raw data: {about.security or 'as the curator keeps it; this command read no record'}."
    )
