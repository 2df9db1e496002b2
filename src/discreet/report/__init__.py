"""The page that explains a release: made from ``releases.json`` alone, so it can say nothing that is not public.

Proof that it costs nothing: its only input is what was released and declared; all else is post-processing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.registry import check_version
from discreet.core.result import Result
from discreet.core.schema import Schema
from discreet.report import meaning, pictures
from discreet.report.numbers import in_words, shown

_MOST_ROWS = 120  # numbers of one answer that are drawn and listed; all of them are in releases.json


def render(doc: Mapping[str, Any], results: Sequence[Result] | None = None) -> str:
    """The page for a document of kind ``releases``: one file, no network, readable by a non-expert.

    ``results`` are its answers, where they are at hand; they are read from the document otherwise.
    """
    from jinja2 import Environment, StrictUndefined

    check_version(doc, "releases")
    here = files("discreet.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(here.joinpath("page.html.j2").read_text(encoding="utf-8"))
    schema = Schema.from_dict(doc["declared"])
    costs = doc["ledger"]["costs"]
    total, price = Cost.from_dict(costs["before"]) + Cost.from_dict(costs["now"]), meaning.price_of(doc["asks"])
    budget = Budget.from_dict(costs["budget"])
    page = template.render(
        title=doc["title"],
        made=doc["made"][:10],
        version=doc["discreet"],
        style=here.joinpath("style.css").read_text(encoding="utf-8"),
        ledger=doc["ledger"],
        budget_picture=pictures.budget(*meaning.shares(budget, total, price)),
        price=str(price),
        paid_now="all of it" if doc["ledger"]["paid_now"] == str(price) else doc["ledger"]["paid_now"],
        who=meaning.protected(schema),
        guesses=meaning.guesses(budget, total, price),
        beliefs=meaning.beliefs(total),
        guess_picture=pictures.guesses([(g.what, g.chance) for g in meaning.guesses(budget, total, price)]),
        answers=answers(doc["asks"], results),
        laws=meaning.law_glossary({_law(ask) for ask in doc["asks"]}),
        columns=[_declared(name, column.to_dict()) for name, column in schema.columns.items()],
        most_rows=schema.max_rows,
    )
    return page.replace(" %", "\u00a0%").replace("± ", "±\u00a0")  # a number and its unit stay on one line


def _law(ask: Mapping[str, Any]) -> str:
    return str(ask["result"]["releases"][0]["mechanism"]["name"])


def answers(asks: Sequence[Mapping[str, Any]], results: Sequence[Result] | None = None) -> list[dict[str, Any]]:
    """What a page shows of every question; tests are corrected for one another."""
    if results is None:
        results = [Result.from_json(json.dumps(ask["result"])) for ask in asks]
    shown = [_answer(number, ask, result) for number, (ask, result) in enumerate(zip(asks, results, strict=True), 1)]
    corrected = meaning.corrections(results)
    return [answer | {"corrected": words} for answer, words in zip(shown, corrected, strict=True)]


def _answer(number: int, ask: Mapping[str, Any], result: Result) -> dict[str, Any]:
    """What the page shows of one question."""
    names, rows = meaning.lines(result)
    listed = list(zip(*rows.values(), strict=True))
    cut = listed[:_MOST_ROWS]
    return {
        "number": number,
        "title": ask["title"],
        "sentence": meaning.sentence(ask, result),
        "picture": pictures.answer(f"answer-{number}", ask, result, _MOST_ROWS),
        "names": names,
        "rows": [([in_words(v) for v in r[: len(names)]], *(shown(v) for v in main_interval(r[len(names) :]))) for r in cut],
        "of_population": result.scope == "population",
        "left_out": len(listed) - len(cut),
        "holds": meaning.holds(result),
        "ranks": meaning.rank_sentence(result),
        "law": meaning.law_sentence(result),
        "cost": ask["cost"],
        "known": ask["known"],
        "entry": result.releases[0].entry,
        "private": result.private,
    }


def main_interval(numbers: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Value, low and high of one line of an answer: of the population where that was asked for, else of the table."""
    value, low, high, _, *population = numbers
    return (value, *population) if population else (value, low, high)


def _declared(name: str, doc: Mapping[str, Any]) -> tuple[str, str]:
    if "private" in (doc.get("values"), doc.get("bounds")):
        outer = "" if "outer" not in doc else f" from {shown(doc['outer'][0])} to {shown(doc['outer'][1])}"
        return name, (
            "labels" if doc["type"] == "category" else f"a number{outer}, with bounds"
        ) + " that were not looked for"
    if doc["type"] in ("text", "boolean"):
        return name, "text that is only matched" if doc["type"] == "text" else "true or false"
    if doc["type"] in ("date", "datetime"):
        return name, f"a {'date' if doc['type'] == 'date' else 'time'} from {doc['bounds'][0]} to {doc['bounds'][1]}"
    if doc["type"] == "category":
        return name, "one of " + ", ".join(map(str, doc["values"]))
    low, high = doc["bounds"]
    return name, f"a {'whole ' if doc['type'] == 'integer' else ''}number from {shown(low)} to {shown(high)}"
