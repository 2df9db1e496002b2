"""What questions weigh: the worst time that each class of them took on a made-up table of the most rows allowed.

The file is public: it was measured without the table. A class is what a question computes, not what it is about: the word
of its statistic or model, how many columns it reads, by which groups, its options with every number taken to the next power
of four, whether rows are chosen. A question weighs the sum of its parts, so parts that share a pass weigh too much, never
too little. A class that is not in the file is measured when it is first asked for, by the question itself, on the made-up
table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core import files
from discreet.core.schema import Categories
from discreet.errors import DiscreetError
from discreet.jobs.fit_file import KINDS, STEPWISE, UNSUPERVISED
from discreet.ledger.events import canonical
from discreet.service.kinds import Asked
from discreet.service.limits import Limits
from discreet.service.outbox import Published
from discreet.service.question import Question, parse, price
from discreet.statistics.question import names

# What does not make an answer take longer.
_LIGHT = ("title", "epsilon", "delta", "rho", "selection_epsilon", "mechanism", "calibration", "target", "weight", "where")
NEVER = 1e6  # seconds of what cannot be measured: it is refused until its line is taken out of the file
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


def parts(question: Question, table: Published, most_rows: int) -> list[Part]:
    """The parts of a question."""
    of_table = f"{table.name}, version {table.version}, {most_rows} rows"
    return [Part(f"{of_table}: {_class(each.document)}", each) for each in _alone(question)]


def _alone(question: Question) -> Iterator[Question]:
    asks = question.document.get("ask")
    if asks is None or len(asks) == 1:
        yield question
        return
    assert isinstance(question.kind, Asked)
    for item, each in zip(question.kind.items, asks, strict=True):
        document = {"table": question.table, "ask": [each]}
        yield Question(question.table, Asked((item,)), document, canonical(document), "")


def _class(document: Mapping[str, Any]) -> str:
    """What is computed: every number to the next power of four, every list by its length, and no price, name or label."""
    (word,) = (key for key in document if key != "table")
    doc: Any = document[word][0] if word == "ask" else document[word]
    facts = {key: doc[key] for key in doc if key not in _LIGHT}
    facts |= {
        "columns": doc.get("columns", doc.get("features", ())),
        "by": doc.get("by", ()),
        "where": bool(doc.get("where")),
    }
    named = [facts["by"]] if isinstance(facts["by"], str) else facts["by"]
    if word == "together":
        facts["questions"] = {f"{place} {each[0]}": each[1:] for place, each in enumerate(doc["questions"])}
    rough = {key: _rough(value) for key, value in facts.items()} | {"by": list(named), "kind": doc.get("kind", "")}
    return f"{word} {canonical({key: value for key, value in rough.items() if value not in ([], [0], '', 0, False)})}"


def _rough(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return _four(abs(value))
    if isinstance(value, list):
        return [_four(len(value)), *(_rough(inner) for inner in value if isinstance(inner, dict))]
    if isinstance(value, dict):
        return {key: _rough(inner) for key, inner in value.items()}
    return value if isinstance(value, str) and value.isidentifier() else ""


def _four(number: float) -> int:
    """The next power of four, 0 for less than one."""
    return 0 if number < 1 else int(4 ** math.ceil(math.log(number, 4)))


def usual(table: Published, limits: Limits, *, quick: bool = False) -> Iterator[Question]:
    """A question of every statistic that the table's columns allow, and a fit of each kind: what is calibrated ahead.

    Models that are fitted step by step come last, for they take longest; ``quick`` leaves them out.
    """
    known = [(name, column) for name, column in table.schema.columns.items() if not column.private]
    labels = [name for name, column in known if isinstance(column, Categories)]
    numbers = [name for name, column in known if not isinstance(column, Categories)]
    tried: list[dict[str, Any]] = []
    for statistic in names():
        for columns in ([], numbers[:1], numbers[:2], labels[:1], labels[:2], [*numbers[:1], *labels[:1]]):
            item = {"statistic": statistic, "columns": columns, "epsilon": 1}
            tried += [{"ask": [item]}, {"ask": [item | {"by": labels[-1]}]}] if labels else [{"ask": [item]}]
    stepwise = () if quick else STEPWISE
    for kind in (*(each for each in KINDS if each not in STEPWISE), *stepwise):
        for target in ("",) if kind in UNSUPERVISED else (*labels[:1], *numbers[:1]):
            features = [name for name in (*numbers, *labels) if name != target][: limits.features]
            spend = {"epsilon": 1, "delta": 1e-6} if kind in STEPWISE else {"epsilon": 1}
            named = {"features": features, "target": target} if target else {"features": numbers[: limits.features]}
            tried.append({"fit": {"kind": kind, **named, **spend}})
    for doc in tried:
        try:
            question = parse(canonical({"table": table.name, **doc}), limits)
            price(question, table.schema, table.rows, limits, told=False)
        except DiscreetError:
            continue  # the columns do not allow it
        yield question
