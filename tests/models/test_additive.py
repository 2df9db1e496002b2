"""The additive model against logistic regression on columns of bins, and its shapes against closed forms."""

from __future__ import annotations

import json
import math

import matplotlib as mpl
import numpy as np
import pytest

import discreet as ds
from discreet.errors import InvalidRequest, UnknownName

mpl.use("Agg")
RNG = np.random.default_rng(5)
AGE, ARM = RNG.uniform(0, 8, 600), RNG.choice(["a", "b", "c"], 600)
ILL = np.where(np.abs(AGE - 4) + (ARM == "b") + RNG.logistic(0, 0.5, 600) > 2, "yes", "no")
TABLE = {"age": AGE, "arm": ARM, "ill": ILL}
SCHEMA = ds.Schema({"age": ds.Real(0, 8), "arm": ds.Categories(["a", "b", "c"]), "ill": ds.Categories(["no", "yes"])})
CUTS = [1.0, 2.5, 6.0]


def fitted(epsilon: float = math.inf, **more: object) -> ds.models.AdditiveClassifier:
    session = ds.Session(TABLE, SCHEMA, ds.Budget(epsilon=50), ledger="test", seed=3)
    return session.fit(ds.models.AdditiveClassifier(epsilon=epsilon, **more), features=["age", "arm"], target="ill")


def test_it_is_logistic_regression_on_one_column_for_each_bin_and_label() -> None:
    from sklearn.linear_model import LogisticRegression

    model = fitted(ridge=1, bins={"age": CUTS})
    bins = np.searchsorted(CUTS, AGE, side="right")
    one_hot = np.column_stack([np.eye(4)[bins], np.eye(3)[np.searchsorted(["a", "b", "c"], ARM)]]) / math.sqrt(2)
    plain = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(one_hot, ILL)
    assert model.coef_[0] == pytest.approx(plain.coef_[0] / math.sqrt(2), abs=1e-5)
    rows = {"age": AGE[:50], "arm": ARM[:50]}
    assert model.predict_proba(rows) == pytest.approx(plain.predict_proba(one_hot[:50]), abs=1e-5)
    assert model.feature_names_ == ["age 0 to 1", "age 1 to 2.5", "age 2.5 to 6", "age 6 to 8", "arm=a", "arm=b", "arm=c"]


def test_shapes_and_baseline_add_up_to_the_score() -> None:
    model = fitted(bins={"age": CUTS})
    shapes = model.shapes()
    assert all(abs(shape.values.sum()) < 1e-9 and shape.lower is None for shape in shapes)
    bins, arms = np.searchsorted(CUTS, AGE, side="right"), np.searchsorted(["a", "b", "c"], ARM)
    added = shapes.baseline + shapes["age"].values[bins] + shapes["arm"].values[arms]
    assert added == pytest.approx(model.decision_function(TABLE), abs=1e-9)
    assert shapes["age"].values[[0, 3]].min() > shapes["age"].values[2]  # both ends of the age are ill more often
    assert len(shapes.plot().axes) == 2
    with pytest.raises(UnknownName, match="reads"):
        shapes["sex"]


def test_a_value_at_a_cut_lies_in_the_bin_above_it_and_one_outside_the_bounds_in_the_last() -> None:
    model = fitted(bins={"age": CUTS})
    scores = model.decision_function({"age": [-3, 0, 0.999, 1, 2.5, 6, 8, 99], "arm": ["a"] * 8})
    assert (np.diff(scores) == 0).tolist() == [True, True, False, False, False, True, True]


def test_bands_are_intervals_of_centred_coefficients() -> None:
    model = fitted(epsilon=20, intervals=True, bins={"age": CUTS})
    age = model.shapes(0.9)["age"]
    assert age.lower is not None
    names = model.feature_names_[:4]
    lines = [{other: (other == name) - 0.25 for other in names} for name in names]
    found = model.contrast(lines[:3], 0.9)
    assert age.lower[:3] == pytest.approx(found.lower)
    assert age.upper[:3] == pytest.approx(found.upper)
    assert age.to_frame().loc["1 to 2.5", "lower"] == age.lower[1]
    age.plot()


def test_a_published_model_predicts_and_is_judged_like_the_fitted_one(tmp_path) -> None:
    model = fitted(epsilon=5, bins=6)
    path = model.publish(tmp_path / "model.json")
    found = ds.models.load(path)
    rows = {"age": AGE, "arm": ARM}
    assert (found.decision_function(rows) == model.decision_function(rows)).all()
    judged = [ds.models.confusion_matrix(m, rows, ILL, epsilon=math.inf).counts for m in (model, found)]
    assert (judged[0] == judged[1]).all()
    assert np.trace(judged[0]) == (model.predict(rows) == ILL).sum()
    doc = json.loads(path.read_text())
    doc["predictor"]["inputs"][0]["cuts"].reverse()
    path.write_text(json.dumps(doc))
    with pytest.raises(ds.errors.UnsupportedFormat, match="rise"):
        ds.models.load(path)


def test_arrays_are_scored_bin_by_bin() -> None:
    model = ds.models.AdditiveClassifier(epsilon=math.inf, bounds=(0, 8), classes=["no", "yes"], bins={"x0": CUTS})
    x = AGE[:, None]
    model.fit(x, ILL)
    right = (model.predict(x) == ILL).mean()
    assert float(model.paid_score(x, ILL, epsilon=math.inf)) == pytest.approx(right)


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        (1, "from 2"),
        (True, "from 2"),
        ("auto", "from 2"),
        ({"arm": 3}, "numbers"),
        ({"age": []}, "numbers"),
        ({"age": ["x"]}, "numbers"),
        ({"age": [3, 2]}, "rise"),
        ({"age": [0, 2]}, "rise"),
        ({"age": [2, math.nan]}, "rise"),
    ],
)
def test_bins_are_refused_before_anything_is_paid(bins: object, words: str) -> None:
    session = ds.Session(TABLE, SCHEMA, ds.Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match=words):
        session.fit(ds.models.AdditiveClassifier(epsilon=1, bins=bins), features=["age", "arm"], target="ill")
    assert session.ledger.spent().epsilon == 0


def test_missing_and_strange_cells_count_for_nothing_and_raise_nothing() -> None:
    strange = {"age": np.array([1.0, math.nan, math.inf, -1e300] * 5), "arm": ["a", "b", "zz", ""] * 5, "ill": ["no"] * 20}
    session = ds.Session(strange, SCHEMA, ds.Budget(epsilon=1))
    model = session.fit(ds.models.AdditiveClassifier(epsilon=1), features=["age", "arm"], target="ill")
    assert np.isfinite(model.coef_).all()


def test_the_ridge_is_where_the_jacobian_is_free() -> None:
    assert fitted(epsilon=0.5).ridge_ == 4.0
    assert fitted(epsilon=0.5, ridge=7).ridge_ == 7.0
