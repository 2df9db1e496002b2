"""The page that explains a release: made from ``releases.json`` alone, so it can say nothing that is not public.

Proof that it costs nothing: its only input is what was released and declared; all else is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.registry import check_version
from discreet.core.result import Result
from discreet.core.schema import Schema
from discreet.errors import UnsupportedFormat
from discreet.report import date_columns, meaning, pictures
from discreet.report.language import LANGUAGES, priced, say, spoken
from discreet.report.numerals import in_words, percent, shown
from discreet.statistics.top import Ranking

_MOST_ROWS = 120  # numbers of one answer that are drawn and listed; all of them are in releases.json


def render(doc: Mapping[str, Any], results: Sequence[Result] | None = None) -> str:
    """The page for a document of kind ``releases``: one file, no network, readable by a non-expert.

    ``results`` are its answers, where they are at hand; they are read from the document otherwise.
    """
    check_version(doc, "releases")
    language = doc.get("language", "en")
    if language not in LANGUAGES:
        raise UnsupportedFormat(f"a page is written in one of {', '.join(LANGUAGES)}, got {language!r}")
    with spoken(language):
        return _render(doc, results, language)


def _render(doc: Mapping[str, Any], results: Sequence[Result] | None, language: str) -> str:
    from jinja2 import Environment, StrictUndefined

    here = files("discreet.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(here.joinpath("page.html.j2").read_text(encoding="utf-8"))
    schema = Schema.from_dict(doc["declared"])
    costs = doc["ledger"]["costs"]
    total, price = Cost.from_dict(costs["before"]) + Cost.from_dict(costs["now"]), meaning.price_of(doc["asks"])
    budget = Budget.from_dict(costs["budget"])
    page = template.render(
        say=say,
        priced=priced,
        language=language,
        chances=[percent(1 / (1 + math.exp(-epsilon))) for epsilon in (0.1, 1.0, 3.0)],
        title=doc["title"],
        made=doc["made"][:10],
        version=doc["discreet"],
        style=here.joinpath("style.css").read_text(encoding="utf-8"),
        ledger=doc["ledger"],
        budget_picture=pictures.budget(*meaning.shares(budget, total, price)),
        price=str(price),
        paid_now=say("all_of_it") if doc["ledger"]["paid_now"] == str(price) else doc["ledger"]["paid_now"],
        who=meaning.protected(schema),
        guesses=meaning.guesses(budget, total, price),
        beliefs=meaning.beliefs(total),
        guess_picture=pictures.guesses([(g.what, g.chance) for g in meaning.guesses(budget, total, price)]),
        answers=answers(doc["asks"], results, date_columns.kinds(schema)),
        laws=meaning.law_glossary({_law(ask) for ask in doc["asks"]}),
        columns=[(name, _declared(column.to_dict())) for name, column in schema.columns.items()],
        most_rows=schema.max_rows,
    )
    return page.replace(" %", "\u00a0%").replace("± ", "±\u00a0")  # a number and its unit stay on one line


def _law(ask: Mapping[str, Any]) -> str:
    return str(ask["result"]["releases"][0]["mechanism"]["name"])


def answers(
    asks: Sequence[Mapping[str, Any]], results: Sequence[Result] | None = None, types: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """What a page shows of every question; tests are corrected for one another. ``types``: ``date_columns.kinds``."""
    if results is None:
        results = [Result.from_dict(ask["result"]) for ask in asks]
    shown = []
    doubts = meaning.doubted(asks, results)
    for number, (ask, result, doubt) in enumerate(zip(asks, results, doubts, strict=True), 1):
        with date_columns.about(ask, types or {}):
            made = _answer(number, ask, result) | {"title": date_columns.title(ask, types or {})}
            if doubt is not None:
                made |= {"caution": say("fewer_beside", title=doubt), "sentence": meaning.alone(result)}
            shown.append(made)
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
        "rows": [
            (
                [date_columns.label(*known) for known in zip(r, names, strict=False)],
                *map(date_columns.told, main_interval(r[len(names) :])),
            )
            for r in cut
        ],
        "of_population": result.scope == "population",
        "left_out": len(listed) - len(cut),
        "has_interval": meaning.has_interval(result),
        "ranked": isinstance(result.reading, Ranking),
        "caution": meaning.caution(result),
        "ranks": meaning.rank_sentence(result),
        "law": meaning.law_sentence(result),
        "cost": priced(ask["cost"]),
        "known": ask["known"],
        "entry": result.releases[0].entry,
        "private": result.private,
    }


def main_interval(numbers: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Value, low and high of one line of an answer: of the population where that was asked for, else of the table."""
    value, low, high, _, *population = numbers
    return (value, *population) if population else (value, low, high)


def _declared(doc: Mapping[str, Any]) -> str:
    """What a column was declared as."""
    words = _kind(doc)
    return words if doc.get("formula") is None else say("computed", declared=words, formula=doc["formula"])


def _kind(doc: Mapping[str, Any]) -> str:
    kind = doc["type"]
    if "private" in (doc.get("values"), doc.get("bounds")):
        if kind == "category":
            return say("labels_private")
        return _between("bounds_private_within", doc["outer"]) if "outer" in doc else say("bounds_private")
    if kind in ("text", "boolean"):
        return say(kind)
    if kind == "category":
        return say("category", values=", ".join(map(in_words, doc["values"])))
    if kind == "duration":
        return _between(kind, doc["bounds"], unit=say(f"unit.{doc['unit']}"))
    return _between(kind if kind in ("integer", "date", "datetime") else "number", doc["bounds"])


def _between(phrase: str, ends: Sequence[Any], **words: str) -> str:
    low, high = (date_columns.in_language(end) if isinstance(end, str) else shown(end) for end in ends)
    return say(phrase, low=low, high=high, **words)
