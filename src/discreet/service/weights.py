"""What questions weigh: the worst time that each class of them took on a made-up table of the most rows allowed.

The file is public: it was measured without the table. A class is what a question computes, not what it is about: the word
of its statistic or model, how many columns it reads, how many numbers it releases (to the next power of four), whether rows
are chosen. A question weighs the sum of its parts, so parts that share a pass weigh too much, never too little. A class
that is not in the file is measured when it is first asked for, by the question itself, on the made-up table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core import files
from discreet.errors import DiscreetError
from discreet.ledger.events import canonical
from discreet.service.limits import Limits
from discreet.service.outbox import Published
from discreet.service.question import Question, parse, price

# Parameters of models that make them take longer.
_HEAVY = ("method", "intervals", "steps", "epochs", "lot_size", "components", "hidden_layer_sizes")
_STEADY = 0.002  # seconds for what every request costs besides: the ledger's two commits


class Weights:
    """Seconds by class, in one file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}

    def of(self, parts: Sequence[Part]) -> float | None:
        """What a question with these parts weighs; None where the class of one was never measured."""
        found = [self._known.get(part.name) for part in parts]
        return None if None in found else _STEADY + sum(weight for weight in found if weight is not None)

    def unknown(self, parts: Sequence[Part]) -> list[Part]:
        """The parts of classes that were never measured, one of each."""
        return list({part.name: part for part in parts if part.name not in self._known}.values())

    def note(self, name: str, seconds: float) -> None:
        """Keep the worst time of a class."""
        self._known[name] = max(seconds, self._known.get(name, 0.0))
        files.write_text(self._path, json.dumps(self._known, indent=1, sort_keys=True) + "\n")


@dataclass(frozen=True)
class Part:
    """A part of a question: the name of its class, and the question that asks for it alone."""

    name: str
    question: Question


def parts(question: Question, table: Published, most_rows: int, limits: Limits) -> list[Part]:
    """The parts of a question."""
    made = []
    for each in _alone(question, limits):
        numbers = max(1, price(each, table.schema, table.rows, limits).numbers)
        size, read = 4 ** math.ceil(math.log(numbers, 4)), len({*each.kind.names()})
        of_table = f"{table.name}, version {table.version}, {most_rows} rows"
        chosen = ", some rows" if _where(each) else ""
        made.append(Part(f"{of_table}: {_word(each)}, {read} columns, {size} numbers{chosen}", each))
    return made


def _alone(question: Question, limits: Limits) -> Iterator[Question]:
    asks = question.document.get("ask")
    if asks is None or len(asks) == 1:
        yield question
        return
    for each in asks:
        yield parse(canonical({"table": question.table, "ask": [each]}), limits)


def _word(part: Question) -> str:
    doc: Any = part.document[part.kind.word]
    if part.kind.word == "ask":
        return str(doc[0]["statistic"])
    facts = [part.kind.word, doc.get("kind", ""), len(doc.get("candidates", doc.get("questions", ())))]
    facts += [doc.get(name, "") for name in _HEAVY]
    return " ".join(str(fact) for fact in facts).strip()


def _where(part: Question) -> Any:
    doc: Any = part.document[part.kind.word]
    return doc[0].get("where") if part.kind.word == "ask" else doc.get("where")


def usual(table: Published, limits: Limits) -> Iterator[Question]:
    """A question of every statistic that the table's columns allow, and a fit of each kind: what is calibrated ahead."""
    from discreet.core.schema import Categories
    from discreet.jobs.fit_file import KINDS
    from discreet.statistics.question import names

    known = [(name, column) for name, column in table.schema.columns.items() if not column.private]
    labels = [name for name, column in known if isinstance(column, Categories)]
    numbers = [name for name, column in known if not isinstance(column, Categories)]
    tried: list[dict[str, Any]] = []
    for statistic in names():
        for columns in ([], numbers[:1], numbers[:2], labels[:1], labels[:2], [*numbers[:1], *labels[:1]]):
            item = {"statistic": statistic, "columns": columns, "epsilon": 1}
            tried += [{"ask": [item]}, {"ask": [item | {"by": labels[-1]}]}] if labels else [{"ask": [item]}]
    for kind in KINDS:
        for target in (*labels[:1], *numbers[:1]):
            features = [name for name in (*numbers, *labels) if name != target][: limits.features]
            spend = {"epsilon": 1, "delta": 1e-6} if kind in ("sgd", "network") else {"epsilon": 1}
            tried.append({"fit": {"kind": kind, "features": features, "target": target, **spend}})
    for doc in tried:
        try:
            question = parse(canonical({"table": table.name, **doc}), limits)
            price(question, table.schema, table.rows, limits)
        except DiscreetError:
            continue  # the columns do not allow it
        yield question
