"""An answer as a page shows it: sentences, pictures and tables, made from what was released and declared alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.core.codec import written
from discreet.core.release import Release
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest
from discreet.models.protocol import Scorable
from discreet.models.publish.document import document
from discreet.report import answers
from discreet.report.numerals import shown as number
from discreet.service.kinds import Asks, Synthesized
from discreet.service.limits import Limits
from discreet.service.remote_question import RemoteQuestion, blank
from discreet.service.reread_answer import replay

_FEW = 8  # rows of a synthetic table that a page shows


def answer(question: RemoteQuestion, document: Mapping[str, Any], schema: Schema, rows: int | None) -> list[dict[str, Any]]:
    """The parts of an answer from the desk."""
    if document.get("model") is not None and not question.kind.replays:
        return [_published(question, document["model"])]
    return parts(question, _replayed(question, document, schema, rows))


def score(question: RemoteQuestion, document: Mapping[str, Any], schema: Schema, rows: int | None) -> dict[str, Any]:
    """The design and the coefficients of the classifier that an answer holds: what the question of its score is about."""
    model = question.kind.model(_replayed(question, document, schema, rows)) if question.kind.replays else None
    fitted: Any = getattr(model, "fitted_", None)
    if not isinstance(model, Scorable) or not hasattr(fitted, "theta"):
        raise InvalidRequest("classifiers that are fitted at once have a score here", remedy="use the client for others")
    return {"design": written(fitted.design), "theta": np.ravel(fitted.theta).tolist()}


def _replayed(question: RemoteQuestion, document: Mapping[str, Any], schema: Schema, rows: int | None) -> Any:
    source = question.narrowed(blank(schema))
    releases = [Release.from_dict(each) for each in document["releases"]]
    procedure = question.kind.procedure(source, rows, Limits())
    return replay(procedure, releases, schema.neighbors, source.restriction)


def parts(question: RemoteQuestion, returned: Any) -> list[dict[str, Any]]:
    """The parts of what the procedure of a question returned."""
    model = question.kind.model(returned)
    if model is not None:
        return [_fitted(question, model)]
    if isinstance(question.kind, Synthesized):
        return [_synthetic(question, returned)]
    results = question.kind.results(returned)
    asked = question.kind
    names = [item.statistic for item in asked.items] if isinstance(asked, Asks) else [asked.word] * len(results)
    told = [
        {"statistic": name, "title": title, "cost": str(result.cost), "known": False}
        for name, title, result in zip(names, asked.titles(), results, strict=True)
    ]
    return [_plain(each) for each in answers(told, results)]


def _plain(part: dict[str, Any]) -> dict[str, Any]:
    kept = ("title", "sentence", "names", "rows", "left_out", "has_interval", "of_population", "caution", "ranks", "law",
            "cost", "private", "corrected")  # fmt: skip
    return {key: part[key] for key in kept} | {"picture": str(part["picture"])}


def _synthetic(question: RemoteQuestion, made: Any) -> dict[str, Any]:
    """What synthetic tables look like: the first rows of the one that fits best."""
    told = f"{made.count} tables of {made.rows} made-up people each, and one that fits best; these are its first rows."
    first = made.table.slice(0, _FEW).to_pylist()
    lines = [[_cell(row[name]) for name in made.columns] for row in first]
    return {
        "title": _capital(question.kind.titles()[0]),
        "sentence": f"{told} The client draws all of them, and combines what you find in each.",
        "private": made.private,
        "cost": str(made.cost),
        "people": {"names": list(made.columns), "rows": lines},
    }


def _fitted(question: RemoteQuestion, model: Any) -> dict[str, Any]:
    try:
        doc = document(model)
    except InvalidRequest:  # a model of one's own loss, say, which nothing predicts with
        return {"title": question.kind.titles()[0], "sentence": str(model.privacy_), "private": model.privacy_.private}
    made = _published(question, doc)
    if hasattr(model, "coef_"):
        design = model.fitted_.design
        names = [*model.feature_names_, *(["intercept"] if design.intercept else [])]
        values = [*np.ravel(model.coef_).tolist(), *np.ravel(model.intercept_).tolist()][: len(names)]
        lows, highs = [None] * len(names), [None] * len(names)
        if doc["intervals"] is not None:
            lows, highs = (np.ravel(doc["intervals"][end]).tolist() for end in ("lower", "upper"))
        lines = zip(names, values, lows, highs, strict=False)
        made["rows"] = [([n], *("" if v is None else number(v) for v in rest)) for n, *rest in lines]
        made |= {"names": ["coefficient"], "has_interval": doc["intervals"] is not None}
        if doc["intervals"] is not None:
            made["law"] = f"From and to: intervals of 95 %; each covers {doc['intervals']['covers']}."
    return made


def _published(question: RemoteQuestion, doc: Mapping[str, Any]) -> dict[str, Any]:
    """A fitted model, from its document: what it promises and what it is not for."""
    facts = doc["guarantee"]
    return {
        "title": _capital(question.kind.titles()[0]),
        "sentence": f"{doc['name']}, fitted privately: {facts['words']}",
        "private": facts["private"],
        "not_for": list(doc["card"]["not_for"]),
    }


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _cell(value: Any) -> str:
    return "missing" if value is None else number(value) if isinstance(value, float) else str(value)
