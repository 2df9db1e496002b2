"""Tests that share one release with other questions: all that can be read off an answer can be read off it there as well."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.reading import Reading
from discreet.core.result import Result
from discreet.statistics.reading import Part

RNG = np.random.default_rng(2)
TABLE: dict[str, Any] = {
    "x": RNG.random(90),
    "t": RNG.random(90),
    "e": RNG.integers(0, 2, 90),
    "arm": RNG.choice(["a", "b"], 90),
    "g": RNG.choice(["a", "b", "c"], 90),
}
COLUMNS = {
    "x": ds.Real(0, 1),
    "t": ds.Real(0, 1),
    "e": ds.Integer(0, 1),
    "arm": ds.Categories(["a", "b"], missing="a"),
    "g": ds.Categories(["a", "b", "c"], missing="a"),
}
TESTS: list[tuple[Any, ...]] = [
    ("binomtest", "arm"),
    ("mannwhitneyu", "x", {"by": "arm"}),
    ("kruskal", "x", {"by": "g"}),
    ("ks_2samp", "x", {"by": "arm"}),
    ("compare", "x", {"by": "g"}),
    ("chi2_contingency", "arm", "g"),
    ("logrank", "t", "e", {"by": "arm", "bins": 3}),
]
WHOLE: list[tuple[Any, ...]] = [
    ("crosstab", "arm", "g"),
    ("survival", "t", "e", {"by": "arm", "bins": 3}),
    ("distribution", "x", {"by": "arm", "bins": 8}),
]


def asked(relation: Any, questions: list[tuple[Any, ...]], epsilon: float) -> list[Result]:
    session = ds.Session(TABLE, ds.Schema(COLUMNS, neighbors=relation), ledger="test", seed=1)
    return session.together(questions, epsilon=epsilon)


def test_a_part_hands_on_whatever_can_be_read() -> None:
    """Nothing of ``Reading`` is left to its default, which refuses or says nothing."""
    public = {name for name, made in vars(Reading).items() if callable(made) or isinstance(made, property)}
    assert {name for name in public if not name.startswith("_")} - {"registry"} <= set(vars(Part))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_tests_that_share_a_release(relation: Any) -> None:
    for result in asked(relation, TESTS, 3):
        assert 0 <= result.pvalue <= 1
        assert all(f"p-value {result.pvalue:.4g}" in shown for shown in (str(result), repr(result)))
        assert "p " in ds.hypotheses.describe(result)
        assert result.plot() is not None
        assert Result.from_json(result.to_json()).pvalue == result.pvalue
    compared = asked(relation, TESTS, 3)[4]
    assert len(ds.hypotheses.differences(compared)) == 3
    assert ds.hypotheses.comparison(compared).axes


def test_what_is_read_off_a_part_is_what_is_read_off_the_answer_alone() -> None:
    """Without noise a joint release holds the same numbers."""
    session = ds.Session(TABLE, ds.Schema(COLUMNS), ledger="test", seed=1)
    crosstab, survival, distribution = asked("add_remove", WHOLE, math.inf)
    alone = [session.ask(name, *args[:-1], **args[-1], epsilon=math.inf) for name, *args in WHOLE[1:]]
    counts = session.crosstab("arm", "g", epsilon=math.inf)
    assert crosstab.test("chi2_contingency").pvalue == counts.test("chi2_contingency").pvalue
    assert survival.logrank().pvalue == alone[0].logrank().pvalue
    assert survival.quantile("0.5").value == pytest.approx(alone[0].quantile("0.5").value)
    assert survival.restricted_mean().value == pytest.approx(alone[0].restricted_mean().value)
    assert np.asarray(survival.numbers_at_risk()) == pytest.approx(np.asarray(alone[0].numbers_at_risk()))
    assert survival.plot() is not None
    assert distribution.quantile("0.5").value == pytest.approx(alone[1].quantile("0.5").value)
    assert distribution.curve() == pytest.approx(alone[1].curve())
    assert np.shape(distribution.band()) == np.shape(alone[1].band())
    assert distribution.test("ks_2samp").value == pytest.approx(alone[1].test("ks_2samp").value)
    assert distribution.plot() is not None
