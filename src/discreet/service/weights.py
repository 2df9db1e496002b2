"""What questions weigh: the worst time that each class of them took on a made-up table of the most rows allowed.

The file is public: it was measured without the table. A class is what a question computes, not what it is about: the word
of its statistic or model, how many columns it reads and how many labels they have, by which groups, its options with every
number taken to the next power of the root of two, how long the condition is that chooses rows. So nobody has a class
measured by a light question and then asks one of it that takes longer than its turn: three numbers that grow at once within
a class make a question heavier by less than the margin. A question weighs the sum of its parts, so parts that share a pass
weigh too much, never too little. A class that is not in the file is measured when it is first asked for, by the question
itself, on the made-up table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core import whole_files
from discreet.core.schema import Categories, Schema
from discreet.errors import DiscreetError
from discreet.jobs.fit_file import KINDS, STEPWISE, UNSUPERVISED
from discreet.ledger.events import canonical
from discreet.service.kinds import Asks
from discreet.service.limits import Limits
from discreet.service.outbox import Published
from discreet.service.remote_question import RemoteQuestion, parse, price
from discreet.statistics.question import names

# What does not make an answer take longer.
_LIGHT = ("title", "epsilon", "delta", "rho", "selection_epsilon", "mechanism", "calibration", "target", "weight", "where")
_FEW = 8
_MANY = 1_000_000
NEVER = 1e6  # seconds of what cannot be measured: it is refused until its line is taken out of the file
_HIGHEST = 2047  # halves: the largest power of the root of two below the largest double
_STEADY = 0.002  # seconds for what every request costs besides: the ledger's two commits


class Weights:
    """Seconds by class, in one file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}

    def of(self, parts: Sequence[QuestionPart]) -> float | None:
        """What a question with these parts weighs; None where the class of one was never measured."""
        found = [self._known.get(part.name) for part in parts]
        return None if None in found else _STEADY + sum(weight for weight in found if weight is not None)

    def unknown(self, parts: Sequence[QuestionPart]) -> list[QuestionPart]:
        """The parts of classes that were never measured, one of each."""
        return list({part.name: part for part in parts if part.name not in self._known}.values())

    def note(self, name: str, seconds: float) -> None:
        """Keep the worst time of a class."""
        self._known[name] = max(seconds, self._known.get(name, 0.0))
        whole_files.write_text(self._path, json.dumps(self._known, indent=1, sort_keys=True) + "\n")


@dataclass(frozen=True)
class QuestionPart:
    """A part of a question: the name of its class, and the question that asks for it alone."""

    name: str
    question: RemoteQuestion


def parts(question: RemoteQuestion, table: Published, most_rows: int) -> list[QuestionPart]:
    """The parts of a question."""
    of_table = f"{table.name}, version {table.version}, {most_rows} rows"
    return [QuestionPart(f"{of_table}: {_class(each.document, table.schema)}", each) for each in _alone(question)]


def _alone(question: RemoteQuestion) -> Iterator[RemoteQuestion]:
    asks = question.document.get("ask")
    if asks is None or len(asks) == 1:
        yield question
        return
    assert isinstance(question.kind, Asks)
    for item, each in zip(question.kind.items, asks, strict=True):
        document = {"table": question.table, "ask": [each]}
        yield RemoteQuestion(question.table, Asks((item,)), document, canonical(document), "")


def _class(document: Mapping[str, Any], schema: Schema) -> str:
    """What is computed: every number by its size, every list by its length, and no price, name or label."""
    (word,) = (key for key in document if key != "table")
    doc: Any = document[word][0] if word == "ask" else document[word]
    facts = {key: doc[key] for key in doc if key not in _LIGHT}
    facts |= {
        "columns": doc.get("columns", doc.get("features", ())),
        "by": doc.get("by", ()),
        "where": len(canonical(doc["where"])) if doc.get("where") else 0,
    }
    named = [facts["by"]] if isinstance(facts["by"], str) else facts["by"]
    facts["labels"] = _labels([*facts["columns"], *named], schema, each_by_itself=word != "ask")
    if word == "together":
        facts["questions"] = {f"{place} {each[0]}": each[1:] for place, each in enumerate(doc["questions"])}
        facts["labels"] = sum(_labels(_named(each), schema) for each in doc["questions"])
    rough = {key: _rough(value) for key, value in facts.items()} | {"by": list(named), "kind": doc.get("kind", "")}
    return f"{word} {canonical({key: value for key, value in rough.items() if value not in ([], [0], '', 0, False)})}"


def _labels(named: Sequence[str], schema: Schema, *, each_by_itself: bool = False) -> int:
    """How many cells the labels of some columns make: of a statistic all combinations, of a model each by itself."""
    declared = [schema[name] for name in named]
    counts = [len(column.labels) for column in declared if isinstance(column, Categories) and not column.private]
    return sum(counts) if each_by_itself or not counts else min(math.prod(counts), _MANY)


def _named(question: Sequence[Any]) -> list[str]:
    """The columns that one of several questions is about, and those it goes by."""
    by = next((each.get("by", ()) for each in question if isinstance(each, dict)), ())
    return [*(each for each in question[1:] if isinstance(each, str)), *([by] if isinstance(by, str) else by)]


def _rough(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return _size(abs(value))
    if isinstance(value, list):
        few = len(value) <= _FEW  # layers, say; a long list is one of bins or of coefficients
        inner = [each for each in value if isinstance(each, dict) or (few and isinstance(each, int))]
        return [_size(_length(value)), *map(_rough, inner)]
    if isinstance(value, dict):
        return {key: [inner] if key == "by" else _rough(inner) for key, inner in value.items()}
    return value if isinstance(value, str) and value.isidentifier() else ""


def _length(value: list[Any]) -> int:
    """How many things are in a list, and in the lists within it; an expression counts by its length."""
    return sum(
        _length(each) if isinstance(each, list) else len(each) if isinstance(each, str) and not each.isidentifier() else 1
        for each in value
    )


def _size(number: float) -> int:
    """The next power of the root of two that a double holds, as a whole number; 0 for less than one."""
    return 0 if number < 1 else math.ceil(2 ** (min(math.ceil(2 * math.log2(number) - 1e-9), _HIGHEST) / 2) - 1e-9)


def usual(table: Published, limits: Limits, *, quick: bool = False) -> Iterator[RemoteQuestion]:
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
