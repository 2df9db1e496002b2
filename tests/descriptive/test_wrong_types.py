"""Arguments of any Python type, in every place of every question: answered or refused in our words, and then not charged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.audit.statistic_claims import ASKED
from discreet.audit.statistic_claims import SCHEMA as COLUMNS
from discreet.errors import DiscreetError

ODD: list[Any] = [
    7, 1.5, b"g", None, object(), abs, {"g": 1}, ["g", "g"], [7], (), math.nan, True, "nobody", {"g"}, [["g"]], -1, 10**400,
    np.array(["g"]), 1j, "", "a\x00", [b"g"], [None], math.inf,
]  # fmt: skip


def asked() -> ds.Session:
    table = {"x": [0.5] * 20, "y": [0.1] * 20, "n": [3] * 20, "g": ["a", "b"] * 10, "arm": ["a", "b"] * 10}
    return ds.Session(table, ds.Schema(COLUMNS, expected_rows=20), ledger="test", seed=1)


def refused_or_answered(session: ds.Session, what: Any, call: Any) -> None:
    before, refused = session.spent(), ""
    try:
        call()
    except DiscreetError as problem:
        refused = str(problem)
    except Exception as problem:
        pytest.fail(f"{what}: {type(problem).__name__}: {problem}")
    assert not refused or session.spent() == before, f"{what} was refused and charged"


@pytest.mark.parametrize("name", sorted(ASKED))
def test_arguments_of_statistics(name: str) -> None:
    args, options = ASKED[name]
    session = asked()
    for odd in ODD:
        for place in range(len(args)):
            changed = [*args[:place], odd, *args[place + 1 :]]
            refused_or_answered(session, (name, changed), lambda c=changed: session.ask(name, *c, epsilon=1, **options))
        for word in {*options, "by", "where", "epsilon", "of", "delta"}:
            changed = {"epsilon": 1} | options | {word: odd}
            refused_or_answered(session, (name, changed), lambda c=changed: session.ask(name, *args, **c))


def test_arguments_of_questions_about_several_things() -> None:
    session = asked()
    for odd in ODD:
        calls = {
            "quantiles, q": lambda o=odd: session.quantiles("x", o, epsilon=1),
            "quantiles, one q": lambda o=odd: session.quantiles("x", [0.5, o], epsilon=1),
            "quantiles, by": lambda o=odd: session.quantiles("x", [0.5], by=o, epsilon=1),
            "together": lambda o=odd: session.together(o, epsilon=1),
            "together, one": lambda o=odd: session.together([o], epsilon=1),
            "together, columns": lambda o=odd: session.together([("mean", o)], epsilon=1),
            "together, by": lambda o=odd: session.together([("mean", "x")], by=o, epsilon=1),
            "together, shares": lambda o=odd: session.together([("mean", "x"), ("count",)], shares=o, epsilon=1),
            "preview": lambda o=odd: session.preview("mean", o, epsilon=1),
            "preview, by": lambda o=odd: session.preview("mean", "x", by=o, epsilon=1),
            "the statistic": lambda o=odd: session.ask(o, "x", epsilon=1),
            "sql": lambda o=odd: session.sql(o, epsilon=1),
        }
        for what, call in calls.items():
            refused_or_answered(session, (what, odd), call)


def test_arguments_of_what_is_read_off_an_answer() -> None:
    """A finite number of odd values in every place of every method; what is read off costs nothing either way."""
    session = asked()
    means = session.mean("x", by="g", epsilon=1, of="population")
    curve = session.distribution("x", bins=4, epsilon=1)
    for odd in ODD:
        calls = {
            "difference": lambda o=odd: means.difference("a", o),
            "ratio": lambda o=odd: means.ratio(o, "b", within=(0.5, 2)),
            "ratio, within": lambda o=odd: means.ratio("a", "b", within=o),
            "contrast": lambda o=odd: means.contrast(o),
            "contrast, one": lambda o=odd: means.contrast({"a": o, "b": -1}),
            "interval": lambda o=odd: means.interval(o, of="population"),
            "interval, of": lambda o=odd: means.interval(of=o),
            "test": lambda o=odd: means.test(o, between=("a", "b")),
            "quantile": lambda o=odd: curve.quantile(o),
            "band": lambda o=odd: curve.band(o),
            "to_frame": lambda o=odd: means.to_frame(o),
            "plot": lambda o=odd: means.plot(o),
        }
        for what, call in calls.items():
            refused_or_answered(session, (what, odd), call)
    with pytest.raises(DiscreetError, match="two groups are compared"):
        means.difference("a", "a")
    with pytest.raises(DiscreetError, match="at least one quantile"):
        session.quantiles("x", [], epsilon=1)
