"""A request of a session, written as the closed question that a service takes."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.codec import written
from discreet.core.price import Price
from discreet.errors import InvalidRequest
from discreet.jobs.fit_file import KINDS
from discreet.jobs.release_file import SPENDING
from discreet.request import Where

_OWN = ("statistic", "columns", "by", "of", "title", *SPENDING)
_ELSEWHERE = ("bounds", "target_bounds", "classes", "neighbors", "ledger", "random_state", "verbose")


def written_question(table: str, words: Mapping[str, Any], where: Where) -> str:
    """The JSON of a request's words; refuses what would have to be code."""
    ((word, given),) = words.items()
    if word not in _WRITERS:
        raise InvalidRequest(f"a service takes {', '.join(_WRITERS)}, got {word!r}", remedy="ask the custodian to run it")
    made = _WRITERS[word](given)
    rows = {"where": _plain(where, "where")} if where else {}
    if word == "ask":
        return json.dumps({"table": table, word: [each | rows for each in made]}, allow_nan=False)
    return json.dumps({"table": table, word: made | rows}, allow_nan=False)


def _asks(asks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [_ask(each) for each in asks]


def _ask(given: Mapping[str, Any]) -> dict[str, Any]:
    words = {key: value for key, value in given.items() if value is not None and key != "price"}
    if "price" in given:
        words |= _spent(given["price"])
    own = {key: _plain(words[key], key) for key in _OWN if key in words}
    options = {key: _plain(value, key) for key, value in words.items() if key not in _OWN}
    return own | ({"options": options} if options else {})


def _spent(price: Price) -> dict[str, Any]:
    found = {each.name: getattr(price, each.name) for each in fields(Price) if each.name in SPENDING}
    usual = {"delta": 0, "calibration": "analytic"}
    return {key: value for key, value in found.items() if value is not None and value != usual.get(key)}


def _together(given: Mapping[str, Any]) -> dict[str, Any]:
    questions = [[_plain(word, "questions") for word in question] for question in given["questions"]]
    rest = {key: _plain(value, key) for key, value in given.items() if key != "questions" and value is not None}
    return {"questions": questions} | rest


def _fit(given: Mapping[str, Any]) -> dict[str, Any]:
    kind, parameters = _model(given["model"])
    return {"kind": kind} | _about(given) | parameters


def _tune(given: Mapping[str, Any]) -> dict[str, Any]:
    models = [_model(each) for each in given["candidates"]]
    kinds = {kind for kind, _ in models}
    if len(kinds) > 1:
        raise InvalidRequest(f"a service tunes candidates of one kind, got {', '.join(sorted(kinds))}; tune them one by one")
    chosen = given["selection_epsilon"]
    more = {} if chosen is None else {"selection_epsilon": _plain(chosen, "selection_epsilon")}
    return {"kind": models[0][0], "candidates": [each for _, each in models]} | _about(given) | more


def _about(given: Mapping[str, Any]) -> dict[str, Any]:
    named = {key: given[key] for key in ("features", "target", "weight", "propensity")}
    return {key: _plain(value, key) for key, value in named.items() if value not in (None, "")}


def _score(given: Mapping[str, Any]) -> dict[str, Any]:
    fitted = given["model"].fitted_
    price = {key: _plain(given[key], key) for key in ("epsilon", "delta", "rho") if given[key] is not None}
    return {"design": written(fitted.design), "theta": np.ravel(fitted.theta).tolist()} | price


def _synthesize(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain(value, key) for key, value in given.items() if value is not None}


def _model(model: Any) -> tuple[str, dict[str, Any]]:
    """The word of a fit file for a model, and the parameters that differ from their defaults."""
    name = type(model).__name__
    kind = next((word for word, known in KINDS.items() if known == name), None)
    if kind is None or not type(model).__module__.startswith("discreet."):
        raise InvalidRequest(f"a service fits models of the kinds {', '.join(KINDS)}, got {name}; it runs nobody's code")
    given = model.get_params(deep=False)
    made: dict[str, Any] = {}
    for each in inspect.signature(type(model)).parameters.values():
        value = given[each.name]
        if each.name not in _ELSEWHERE and value is not None and not _same(value, each.default):
            made[each.name] = _plain(value, each.name)
    return kind, made


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def _plain(value: Any, name: str) -> Any:
    """A value as JSON has it: names, numbers, truth, and lists and objects of these."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidRequest(f"{name} must be finite, got {value}", key=name)
    if isinstance(value, int | float):
        return value
    if isinstance(value, Fraction) or type(value).__name__ == "Decimal":
        return numbers.write(numbers.rational(value, name))
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, name) for key, inner in value.items()}
    if isinstance(value, Sequence | np.ndarray | set | frozenset | range):
        return [_plain(inner, name) for inner in value]
    raise InvalidRequest(
        f"{name} must be names and numbers, got {type(value).__name__}: a service runs nobody's code", key=name
    )


_WRITERS: dict[str, Any] = {
    "ask": _asks,
    "together": _together,
    "fit": _fit,
    "tune": _tune,
    "score": _score,
    "synthesize": _synthesize,
}
