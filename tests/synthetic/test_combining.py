"""The combining rules by hand, and what a function must return."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.synthetic.combining import combined


def test_the_rules_by_hand() -> None:
    q, v = np.array([1.0, 2.0, 3.0, 6.0]), np.array([0.5, 1.0, 0.5, 2.0])
    made = combined(list(zip(q, v, strict=True)), 1.0, None)
    between = 1.25 * q.var(ddof=1)
    spread, degrees = between - v.mean(), 3 * (1 - v.mean() / between) ** 2
    assert made.value == 3
    assert made.error == pytest.approx(np.sqrt(spread))
    assert made.degrees == pytest.approx(degrees)
    low, high = made.interval(0.9)
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.95, degrees) * np.sqrt(spread))
    assert made.pvalue(1.0) == pytest.approx(2 * stats.t.sf(2 / np.sqrt(spread), degrees))
    assert float(made) == 3


def test_where_the_rows_vary_more_than_the_tables() -> None:
    made = combined([(1.0, 9.0), (1.1, 9.0), (0.9, 9.0)], 2.0, None)
    assert made.error == pytest.approx(np.sqrt(18))
    assert made.degrees == 2


def test_without_variances_the_error_is_larger() -> None:
    q = [1.0, 2.0, 4.0]
    alone = combined(q, 1.0, None)
    both = combined([(each, 0.5) for each in q], 1.0, None)
    assert alone.error > both.error
    names = combined([({"a": 1.0, "b": 2.0}, {"a": 0.1, "b": 0.1})] * 2, 1.0, "a note")
    assert names.names == ("a", "b")
    assert "a: 1" in str(names)
    assert "a note" in str(names)
    assert names.rows()["value"] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([1.0], "at least two"),
        ([1.0, np.nan], "finite"),
        ([(1.0, -1.0)] * 2, "not negative"),
        ([(1.0, 2.0, 3.0)] * 2, "estimate and its variance"),
        (["a", "b"], "numbers"),
        ([np.zeros(2), np.zeros(3)], "one shape"),
    ],
)
def test_what_is_refused(answers: list[object], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        combined(answers, 1.0, None)


def test_analyses_are_the_textbooks() -> None:
    """Least squares with robust errors, and logistic regression, against scikit-learn and the formulas."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x, g = rng.normal(size=500), rng.choice(["a", "b"], 500).astype(object)
    y = 1 + 2 * x + (g == "b") + rng.normal(size=500)
    event = np.where(rng.random(500) < 1 / (1 + np.exp(-x)), "yes", "no").astype(object)
    table = {"x": x, "g": g, "y": y, "e": event}
    value, spread = ds.synthetic.regression("y", ["x", "g"])(table)
    design = np.column_stack([x, g == "b", np.ones(500)]).astype(float)
    theta = np.linalg.lstsq(design, y, rcond=None)[0]
    assert list(value.values()) == pytest.approx(theta)
    inverse = np.linalg.inv(design.T @ design)
    robust = inverse @ (design.T * (y - design @ theta) ** 2) @ design @ inverse
    assert list(spread.values()) == pytest.approx(np.diag(robust))
    logit, _ = ds.synthetic.regression("e", ["x", "g"], yes="yes")(table)
    known = LogisticRegression(C=np.inf, tol=1e-9).fit(design[:, :2], event == "yes")
    assert [logit["x"], logit["g = b"]] == pytest.approx(known.coef_[0], abs=1e-4)
    assert ds.synthetic.share("g", "a")(table)[0] == (g == "a").mean()
    assert ds.synthetic.mean("x")(table) == (pytest.approx(x.mean()), pytest.approx(x.var() / 500))
    apart, _ = ds.synthetic.difference("y", by="g", between=("a", "b"))(table)
    assert apart == pytest.approx(y[g == "a"].mean() - y[g == "b"].mean())
    with pytest.raises(InvalidRequest, match="numbers"):
        ds.synthetic.mean("g")(table)
