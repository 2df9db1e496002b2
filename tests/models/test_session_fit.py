"""Models through a session: the ledger pays, only declarations raise, and whatever records hold is answered."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import BudgetExceeded, InvalidRequest, NotPrivate, UnknownName
from discreet.sources.base import BaseSource

m = ds.models
COLUMNS = {
    "age": ds.Real(0, 100),
    "town": ds.Categories(["a", "b", "c"]),
    "ill": ds.Categories(["no", "yes"]),
    "benefit": ds.Real(0, 5),
    "chance": ds.Real(0, 1),
    "three": ds.Categories([1, 2, 3]),
}
SCHEMA = ds.Schema(COLUMNS)
PEOPLE = ds.Schema(COLUMNS, person="id", max_rows=2)
FEATURES = ["age", "town"]
KINDS = [
    (m.LogisticRegression, {}),
    (m.LogisticRegression, {"method": "output", "radius": 1}),
    (m.LinearSVC, {"fit_intercept": False}),
    (m.KernelSVC, {"components": 4, "key": 1}),
    (m.OutcomeWeightedLearner, {"propensity": 0.5, "weight_bound": 3}),
]


def table(rows: int = 500) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    age, town = rng.uniform(0, 100, rows), rng.choice(["a", "b", "c"], rows)
    ill = np.where(age / 60 + (town == "c") + rng.normal(0, 0.2, rows) > 1.2, "yes", "no")
    return {
        "age": age,
        "town": town,
        "ill": ill,
        "benefit": rng.uniform(0, 5, rows),
        "chance": rng.uniform(0.2, 1, rows),
        "three": rng.integers(1, 4, rows),
        "id": rng.integers(0, rows // 2, rows),
    }


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (m.LogisticRegression(epsilon=0.1, bounds=(0, 1)), "bounds come from the schema"),
        (m.LogisticRegression(epsilon=0.1, classes=["no", "yes"]), "classes come from the schema"),
        (m.LinearRegression(epsilon=0.1, target_bounds=(0, 1)), "target_bounds come from the schema"),
        (m.LogisticRegression(epsilon=0.1, neighbors="replace"), "neighbors is that of the schema"),
        (m.LogisticRegression(epsilon=0.1, random_state=1), "noise comes from the session"),
        (m.LogisticRegression(epsilon=0.1, ledger=ds.Ledger("sqlite://", ds.Budget(epsilon=1))), "session's ledger pays"),
        (m.LogisticRegression(rho=0.1), "give epsilon"),
        (m.LogisticRegression, "models of discreet.models"),
        (object(), "models of discreet.models"),
    ],
)
def test_a_model_that_says_what_the_session_says(model: Any, message: str) -> None:
    session = ds.Session(table(), SCHEMA, ds.Budget(epsilon=1))
    with pytest.raises(ds.errors.DiscreetError, match=message):
        session.fit(model, FEATURES, "ill")
    assert str(session.spent()) == "ε=0"


def test_the_ledger_pays() -> None:
    session = ds.Session(table(), SCHEMA, ds.Budget(epsilon=1), version="1")
    model = m.LogisticRegression(epsilon=0.4)
    before = session.preview_fit(model, FEATURES, "ill")
    assert str(before).startswith("costs ε=0.4; ridge raised from 1 to 1.1")
    assert str(before).endswith("; ε=0.6 would be left")
    assert repr(before) == f"FitPreview({before})"
    assert session.preview_fit(m.LogisticRegression(epsilon=0.4, ridge=3), FEATURES, "ill").asked_ridge is None
    assert not hasattr(model, "coef_")
    assert session.fit(model, FEATURES, "ill") is model
    assert str(session.spent()) == "ε=0.4"
    assert model.privacy_.releases[0].entry is not None
    first = model.coef_.copy()
    assert np.array_equal(session.fit(m.LogisticRegression(epsilon=0.4), FEATURES, "ill").coef_, first), "asked again: free"
    assert str(session.spent()) == "ε=0.4"
    assert not session.preview_fit(m.LogisticRegression(epsilon=0.7), FEATURES, "ill").fits
    with pytest.raises(BudgetExceeded):
        session.fit(m.LogisticRegression(epsilon=0.7), FEATURES, "ill")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_ == ["age", "town=b", "town=c"]
    assert model.n_features_in_ == 2


def test_a_preview_looks_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    session = ds.Session(table(), SCHEMA, ds.Budget(epsilon=1))
    monkeypatch.setattr(BaseSource, "fold", lambda *_: pytest.fail("it looked"))
    for kind, options in KINDS:
        weight = "benefit" if kind is m.OutcomeWeightedLearner else None
        seen = session.preview_fit(kind(epsilon=0.3, **options), FEATURES, "ill", weight=weight)
        assert str(seen.cost) == "ε=0.3"
    seen = session.preview_fit(m.LogisticRegression(epsilon=0.3, intervals=True), FEATURES, "ill")
    assert str(seen.cost) == "ε=0.3", "three questions for one price"


def test_without_noise_it_is_the_fit_to_arrays() -> None:
    data = table()
    session = ds.Session(data, SCHEMA, ledger="test")
    one_hot = np.column_stack([data["age"], *[data["town"] == t for t in "bc"]])
    through = session.fit(m.LinearSVC(epsilon=math.inf, ridge=0.1), FEATURES, "ill")
    arrays = m.LinearSVC(epsilon=math.inf, bounds=[(0, 100)] + [(0, 1)] * 2, classes=["no", "yes"], ridge=0.1)
    arrays.fit(one_hot, data["ill"])
    # The town is one block of the norm, not two, and its first label the reference: the same minimiser where the ridge is
    # that of the same scale.
    scale = through.fitted_.design.units[0] / arrays.set_params(ridge=0.1).fitted_.design.units[0]
    arrays.set_params(ridge=0.1 / scale**-2).fit(one_hot, data["ill"])
    assert np.allclose(through.decision_function(data), arrays.decision_function(one_hot), atol=1e-5)
    assert np.array_equal(through.predict(pd.DataFrame(data)), through.predict(data))
    assert through.public_score(data, data["ill"]) > 0.8
    with pytest.raises(InvalidRequest, match="'nowhere'"):
        through.predict({"age": [4], "town": ["nowhere"]})


def test_scores_in_a_session() -> None:
    data = table()
    session = ds.Session(data, SCHEMA, ledger="test")
    model = session.fit(m.LogisticRegression(epsilon=1), FEATURES, "ill")
    assert session.score(model, epsilon=math.inf).value == model.public_score(data, data["ill"])
    assert model.paid_score(data, data["ill"], epsilon=math.inf).value == model.public_score(data, data["ill"])
    paid = session.score(model, epsilon=0.5, where={"town": "a"})
    assert str(paid.cost) == "ε=0.5"
    rule = m.OutcomeWeightedLearner(epsilon=1, weight_bound=4)
    session.fit(rule, ["age"], "ill", weight="benefit", propensity="chance")
    weights = np.clip(data["benefit"] / data["chance"], 0, 4)
    wanted = np.mean(weights * (rule.predict(data) == data["ill"]))
    assert session.score(rule, epsilon=math.inf).value == pytest.approx(wanted, abs=1e-6)
    value = rule.value(data, data["ill"], data["benefit"], data["chance"], epsilon=math.inf)
    assert value.value == pytest.approx(wanted, abs=1e-6)
    other = ds.Session(data, ds.Schema(COLUMNS | {"age": ds.Real(0, 90)}), ledger="test")
    with pytest.raises(InvalidRequest, match="declared as it was for the fit"):
        other.score(model, epsilon=1)
    with pytest.raises(InvalidRequest, match="with two classes"):
        session.score(ds.Laplace(1), epsilon=1)
    another = ds.Session(data, ds.Schema(COLUMNS | {"ill": ds.Categories(["yes", "no"])}), ledger="test")
    with pytest.raises(InvalidRequest, match="with the classes"):
        another.score(model, epsilon=1)


def test_quotients_are_weights() -> None:
    data = table()
    session = ds.Session(data, SCHEMA, ledger="test")
    rule = m.OutcomeWeightedLearner(epsilon=math.inf, weight_bound=4)
    session.fit(rule, ["age"], "ill", weight="benefit", propensity="chance")
    arrays = m.OutcomeWeightedLearner(epsilon=math.inf, bounds=(0, 100), classes=["no", "yes"], weight_bound=4)
    arrays.fit(data["age"][:, None], data["ill"], benefit=data["benefit"], propensity=data["chance"])
    assert np.allclose(rule.coef_, arrays.coef_, atol=1e-7)
    plain = m.LogisticRegression(epsilon=math.inf)
    session.fit(plain, ["age"], "ill", weight="benefit")
    assert plain.fitted_.design.most_weight == 5


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s.fit(m.LogisticRegression(epsilon=1), "age", "ill"), InvalidRequest, "list of columns"),
        (lambda s: s.fit(m.LogisticRegression(epsilon=1), [], "ill"), InvalidRequest, "at least one feature"),
        (lambda s: s.fit(m.LogisticRegression(epsilon=1), ["agee"], "ill"), UnknownName, "did you mean 'age'"),
        (lambda s: s.fit(m.LogisticRegression(epsilon=1), ["age"], "age"), InvalidRequest, "different columns"),
        (lambda s: s.fit(m.LogisticRegression(epsilon=1), ["age"], "three"), InvalidRequest, "two labels"),
        (lambda s: s.fit(m.LogisticRegression(epsilon=1), ["town"], "age"), InvalidRequest, "two labels"),
        (lambda s: s.fit(m.LogisticRegression(), FEATURES, "ill"), InvalidRequest, "needs epsilon"),
        (lambda s: s.fit(m.LogisticRegression(epsilon=1, penalty="l1"), FEATURES, "ill"), InvalidRequest, "strongly convex"),
        (lambda s: s.fit(m.LogisticRegression(epsilon=1, ridge=0), FEATURES, "ill"), InvalidRequest, "ridge must be"),
        (lambda s: s.fit(m.LogisticRegression(epsilon=math.inf), FEATURES, "ill"), NotPrivate, "test"),
        (
            lambda s: s.fit(m.LogisticRegression(epsilon=1), ["age"], "ill", weight="town"),
            InvalidRequest,
            "numbers declared",
        ),
        (lambda s: s.fit(m.LinearSVC(epsilon=1), ["age"], "ill", propensity="chance"), InvalidRequest, "no propensity"),
        (lambda s: s.fit(m.OutcomeWeightedLearner(epsilon=1), ["age"], "ill"), InvalidRequest, "needs weight="),
        (
            lambda s: s.fit(m.OutcomeWeightedLearner(epsilon=1), ["age"], "ill", weight="benefit"),
            InvalidRequest,
            "needs propensity=",
        ),
    ],
)
def test_only_declarations_raise(call: Any, error: type[Exception], words: str) -> None:
    session = ds.Session(table(20), SCHEMA, ds.Budget(epsilon=5))
    with pytest.raises(error, match=words):
        call(session)
    assert str(session.spent()) == "ε=0", "nothing was charged"


NUMBER = st.none() | st.floats(width=64) | st.sampled_from([math.nan, math.inf, -math.inf, 1e308, 50.0])
LABEL = st.none() | st.sampled_from(["a", "b", "c", "yes", "no", "", "stranger"])
ROW = st.tuples(NUMBER, LABEL, st.none() | st.sampled_from(["no", "yes", "perhaps"]), NUMBER, NUMBER, st.integers(0, 3))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ROW, max_size=7), st.sampled_from(KINDS), st.sampled_from(["plain", "people", "replace"]))
def test_whatever_records_hold_is_answered(rows: list[Any], kind: Any, how: str) -> None:
    """Gaps, numbers beyond the bounds, strange labels, several rows of a person, one class, no rows: noise, and no word."""
    names = ("age", "town", "ill", "benefit", "chance", "id")
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    numbers = {"age", "benefit", "chance"}
    made = {
        n: np.array([math.nan if v is None else v for v in c], float) if n in numbers else np.array(c, object)
        for n, c in zip(names, columns, strict=True)
    }
    made["three"] = np.ones(len(rows), int)
    schema = {"plain": SCHEMA, "people": PEOPLE, "replace": ds.Schema(COLUMNS, neighbors="replace")}[how]
    if how == "replace" and not rows:
        return
    model = kind[0](epsilon=1, random_state=None, **kind[1])
    weight = "benefit" if kind[0] is m.OutcomeWeightedLearner else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = ds.Session(made, schema, ds.Budget(epsilon=10), "sqlite://")
        session.fit(model, FEATURES, "ill", weight=weight, propensity="chance" if weight else None)
        score = session.score(model, epsilon=1)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert str(model.privacy_.cost) == "ε=1"
    assert np.isfinite(float(score))


def test_one_person_counts_for_no_more_than_declared() -> None:
    """A person with a hundred rows moves the exact sum as two rows do."""
    data = {n: np.concatenate([v[:50], np.repeat(v[:1], 100)]) for n, v in table().items()}
    data["id"] = np.concatenate([np.arange(50), np.full(100, 99)])
    session = ds.Session(data, PEOPLE, ledger="test")
    many = session.fit(m.LogisticRegression(epsilon=math.inf), FEATURES, "ill")
    two = {n: v[:52] for n, v in data.items()}
    few = ds.Session(two, PEOPLE, ledger="test").fit(m.LogisticRegression(epsilon=math.inf), FEATURES, "ill")
    assert np.allclose(many.coef_, few.coef_, atol=1e-7)
    paid = session.fit(m.LogisticRegression(epsilon=1, method="output"), FEATURES, "ill")
    assert 2 <= paid.privacy_.releases[0].distance.l2 <= 2.01
    assert session.score(paid, epsilon=1).releases[0].distance.l1 == 2


def test_files_and_filters(tmp_path: Path) -> None:
    data = table()
    pd.DataFrame(data).to_parquet(tmp_path / "t.parquet")
    there = ds.Session(tmp_path / "t.parquet", SCHEMA, ledger="test").fit(m.LinearSVC(epsilon=math.inf), FEATURES, "ill")
    here = ds.Session(data, SCHEMA, ledger="test").fit(m.LinearSVC(epsilon=math.inf), FEATURES, "ill")
    assert np.allclose(there.coef_, here.coef_, atol=1e-8)
    some = ds.Session(data, SCHEMA, ledger="test").fit(m.LinearSVC(epsilon=math.inf), ["age"], "ill", where={"town": "c"})
    kept = {n: v[data["town"] == "c"] for n, v in data.items()}
    same = ds.Session(kept, SCHEMA, ledger="test").fit(m.LinearSVC(epsilon=math.inf), ["age"], "ill")
    assert np.allclose(some.coef_, same.coef_, atol=1e-8)


def test_a_loss_of_ones_own_is_paid_for_each_time() -> None:
    """A ledger knows such a loss by its title alone, which is not enough to call a question the same."""
    session = ds.Session(table(), SCHEMA, ds.Budget(epsilon=5), version="1")
    mine = m.own_loss(
        "mine",
        lambda z, t: np.logaddexp(0, -t * z),
        lambda z, t: -t / (1 + np.exp(t * z)),
        lambda z, t: 0.25 / np.cosh(z / 2) ** 2,
        slope=1,
        curvature="1/4",
    )
    for _ in range(2):
        model = session.fit(m.Classifier(loss=mine, epsilon=1), ["age"], "ill")
        assert np.isfinite(model.coef_).all()
    assert str(session.spent()) == "ε=2"
