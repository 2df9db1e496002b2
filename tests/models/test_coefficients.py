"""Coefficients together: contrasts, joint covariance and tests, reference levels, odds ratios, summary and picture."""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.models.intervals.error_law import ErrorLaw

mpl.use("agg")
m = ds.models
TOWNS = ["a", "b", "c"]
RNG = np.random.default_rng(11)
N = 4000
TABLE: dict[str, Any] = {"age": RNG.uniform(20, 80, N), "town": RNG.choice(TOWNS, N), "sex": RNG.choice(["f", "m"], N)}
LINEAR = (
    0.05 * (TABLE["age"] - 50) + 1.0 * (TABLE["town"] == "b") - 0.5 * (TABLE["town"] == "c") + 0.8 * (TABLE["sex"] == "m")
)
TABLE["ill"] = np.where(RNG.random(N) < 1 / (1 + np.exp(-LINEAR)), "yes", "no")
TABLE["bp"] = 120 + 5 * LINEAR + RNG.normal(0, 6, N)
SCHEMA = ds.Schema(
    {
        "age": ds.Real(0, 100),
        "town": ds.Categories(TOWNS),
        "sex": ds.Categories(["f", "m"]),
        "ill": ds.Categories(["no", "yes"]),
        "bp": ds.Real(60, 200),
    }
)
FEATURES = ["age", "town", "sex"]


def fitted(model: Any, target: str = "ill") -> Any:
    return ds.Session(TABLE, SCHEMA, ledger="test", seed=3).fit(model, FEATURES, target)


MODELS: list[tuple[Any, str]] = [
    (lambda **more: m.LogisticRegression(intervals=True, **more), "ill"),
    (lambda **more: m.LinearSVC(intervals=True, **more), "ill"),
    (m.LinearRegression, "bp"),
]


@pytest.mark.parametrize(("make", "target"), MODELS)
def test_which_level_is_the_reference_changes_nothing_that_is_said(make: Any, target: str) -> None:
    """Without noise, nearly without ridge: a contrast of two levels is a coefficient where one of them is the reference."""
    first = fitted(make(epsilon=math.inf, ridge="0.001"), target)
    other = fitted(make(epsilon=math.inf, ridge="0.001", reference={"town": "c"}), target)
    assert first.feature_names_ == ["age", "town=b", "town=c", "sex=m"]
    assert other.feature_names_ == ["age", "town=a", "town=b", "sex=m"]
    apart, alone = first.contrast({"town=b": 1, "town=c": -1}), other.contrast("town=b")
    assert apart[0] == pytest.approx(alone[0], rel=1e-3)
    assert apart.middle == pytest.approx(alone.middle, rel=1e-3)
    assert first.test({"town=b": 1, "town=c": -1}, value=float(apart.upper[0])).pvalue == pytest.approx(0.05, abs=2e-2)
    near = (
        first.predict(TABLE) == other.predict(TABLE)
        if target == "ill"
        else abs(first.predict(TABLE) - other.predict(TABLE)) < 1
    )
    assert np.mean(near) > 0.99


@pytest.mark.parametrize("price", [{"epsilon": math.inf}, {"epsilon": 2}, {"rho": "0.5"}])
@pytest.mark.parametrize(("make", "target"), MODELS)
def test_contrasts_summary_and_intervals_are_read_off_one_covariance(make: Any, target: str, price: Any) -> None:
    model = fitted(make(**price), target)
    names = [*model.feature_names_, "intercept"]
    joint, ends, summary = model.covariance(), model.confidence_intervals(), model.summary()
    assert list(joint.index) == list(joint.columns) == names
    frame = summary.to_frame()
    assert frame["standard error"].to_numpy() == pytest.approx(np.sqrt(np.diag(joint)))
    assert frame["coefficient"].to_numpy() == pytest.approx(ends.middle)
    assert frame[["2.5 %", "97.5 %"]].to_numpy() == pytest.approx(np.asarray(ends))
    for name in names:
        assert frame.loc[name, "z"] == pytest.approx(frame.loc[name, "coefficient"] / frame.loc[name, "standard error"])
    both = model.contrast([{"age": 10.0}, {"town=b": 1, "town=c": -1}], level=0.9)
    assert both.lengths[0] == pytest.approx(10 * model.confidence_intervals(0.9).lengths[0])
    if "epsilon" in price and price["epsilon"] == math.inf:  # normal: the length follows from the variance alone
        variance = joint.loc["town=b", "town=b"] + joint.loc["town=c", "town=c"] - 2 * joint.loc["town=b", "town=c"]
        assert both.lengths[1] == pytest.approx(2 * 1.6448536 * math.sqrt(variance), rel=1e-6)
    text = str(summary)
    for word in ("town=b", "standard error", "reference levels: town: a, sex: f", "sampling and noise"):
        assert word in text
    assert list(ends.to_frame().index) == names
    axes = summary.plot()
    assert [t.get_text() for t in axes.get_yticklabels()] == names
    mpl.pyplot.close(axes.figure)


def test_a_category_is_as_certain_as_its_indicator() -> None:
    """A column of 0 and 1 and a category of two labels are one model: equal intervals where there is no noise."""
    bounds = [(0, 100), (0, 1), (0, 1), (0, 1)]
    rows = np.column_stack([TABLE["age"], TABLE["town"] == "b", TABLE["town"] == "c", TABLE["sex"] == "m"]).astype(float)
    made: dict[str, Any] = {"epsilon": math.inf, "ridge": "0.001", "intervals": True}
    arrays = m.LogisticRegression(bounds=bounds, classes=["no", "yes"], **made).fit(rows, TABLE["ill"])
    through = fitted(m.LogisticRegression(**made))
    assert np.asarray(through.confidence_intervals()) == pytest.approx(np.asarray(arrays.confidence_intervals()), rel=1e-3)


def test_odds_ratios() -> None:
    model = fitted(m.LogisticRegression(epsilon=5, intervals=True))
    ratios, logs = model.odds_ratios(0.9), model.confidence_intervals(0.9)
    assert np.log(np.asarray(ratios)) == pytest.approx(np.asarray(logs))
    assert np.log(ratios.middle) == pytest.approx(logs.middle)
    assert "odds ratio" in ratios.to_frame().columns
    axes = ratios.plot()
    assert axes.get_xscale() == "log"
    mpl.pyplot.close(axes.figure)


def test_nothing_more_is_paid_and_what_was_not_paid_for_is_refused() -> None:
    session = ds.Session(TABLE, SCHEMA, ds.Budget(epsilon=3), ledger="test")
    model = session.fit(m.LogisticRegression(epsilon=2, intervals=True), FEATURES, "ill")
    before = str(session.spent())
    model.summary(), model.covariance(), model.contrast("age"), model.odds_ratios(), model.test(["age", "town=b"])
    assert str(session.spent()) == before
    plain = session.fit(m.LogisticRegression(epsilon=1), FEATURES, "ill")
    for call in (plain.summary, plain.covariance, plain.odds_ratios, lambda: plain.contrast("age")):
        with pytest.raises(InvalidRequest, match="intervals=True"):
            call()
    with pytest.raises(InvalidRequest, match="no coefficient"):
        model.contrast({"town=a": 1})


def test_several_together_have_the_level_they_promise() -> None:
    """Draws of the law itself, 40 of them: p below 0.05 more than 14 times has a probability below 1e-9."""
    rng = np.random.default_rng(5)
    states = rng.normal(size=(4, 3, 3))
    law = ErrorLaw(states @ states.swapaxes(1, 2), 0.3 * (states.swapaxes(1, 2) @ states), 5)
    small = 0
    for _ in range(40):
        state, gamma = rng.integers(4), rng.gamma(3.0)
        score = np.linalg.cholesky(law.normal[state] + 2 * gamma * law.laplace[state]) @ rng.normal(size=3)
        small += law.judge(score)[1] < 0.05
    assert small <= 14
