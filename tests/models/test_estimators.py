"""Classifiers against brute force, their bad input on arrays, and scores that are paid for."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Fourier
from discreet.models.evaluate.accuracy import Hits
from discreet.models.feature import Feature
from discreet.models.target import Target, Weight
from discreet.sources import open_source

m = ds.models
LABELS = ["no", "yes"]


def data(rows: int = 400, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (rows, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=rows) > 0.2, "yes", "no")
    return X, y


def brute(X: Any, y: Any, loss: Any, ridge: float, weight: Any = 1.0) -> Any:
    """The minimiser by a general optimiser, on columns scaled as documented; coefficients on the scale of the table."""
    x = np.column_stack([X / 2.0, np.ones(len(X))]) / 2.0  # bounds (-2, 2); four blocks
    s = np.where(y == "yes", 1.0, -1.0)

    def goal(theta: Any) -> Any:
        margin = s * (x @ theta)
        return (weight * loss(margin)).sum() + 0.5 * ridge * theta @ theta

    found = minimize(goal, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    return found.x / np.array([4.0, 4.0, 4.0, 2.0])


def hinge(margin: Any, h: float = 0.5) -> Any:
    return np.where(margin > 1 + h, 0, np.where(margin < 1 - h, 1 - margin, (1 + h - margin) ** 2 / (4 * h)))


@pytest.mark.parametrize("width", [0.5, 0.1])
def test_linear_svc_is_the_minimiser(width: float) -> None:
    X, y = data()
    model = m.LinearSVC(epsilon=math.inf, bounds=(-2, 2), classes=LABELS, ridge=0.5, width=width).fit(X, y)
    wanted = brute(X, y, lambda margin: hinge(margin, width), 0.5)
    assert np.allclose([*model.coef_[0], *model.intercept_], wanted, atol=1e-5)
    assert np.array_equal(model.predict(X), np.where(model.decision_function(X) > 0, "yes", "no"))
    assert model.public_score(X, y) > 0.9


def test_a_loss_of_ones_own() -> None:
    X, y = data()
    squared = m.own_loss(
        "soft margin squared",
        lambda z, t: np.sqrt(1 + (1 - t * z) ** 2) - t * z,
        lambda z, t: -t * ((1 - t * z) / np.sqrt(1 + (1 - t * z) ** 2) + 1),
        lambda z, t: (1 + (1 - t * z) ** 2) ** -1.5,
        slope=2,
        curvature=1,
    )
    model = m.Classifier(loss=squared, epsilon=math.inf, bounds=(-2, 2), classes=LABELS).fit(X, y)
    wanted = brute(X, y, lambda k: np.sqrt(1 + (1 - k) ** 2) - k, 1.0)
    assert np.allclose([*model.coef_[0], *model.intercept_], wanted, atol=1e-5)
    model.set_params(epsilon=1, method="output").fit(X, y)
    law, distance = model.privacy_.releases[0].mechanism, model.privacy_.releases[0].distance
    assert 2 <= distance.l2 <= 2.01, "slope 2, ridge 1"
    assert law.cost(distance).epsilon == 1
    with pytest.raises(InvalidRequest, match="loss must be a loss"):
        m.Classifier(epsilon=1, bounds=(-2, 2), classes=LABELS).fit(X, y)


def test_random_features_make_the_gaussian_kernel() -> None:
    """50,000 of them: an entry is wrong by 0.06 with probability below 2 exp(-D t^2 / 8) = 4e-10."""
    X = np.random.default_rng(1).normal(size=(6, 3)) * 2
    design = Design(
        tuple(Feature(f"x{i}", raw=True) for i in range(3)), Target("y", (0, 1)), fourier=Fourier(50_000, 0.3, 7)
    )
    rows = design.rows_of(X)
    z = rows[:, :-1] * design.units[:-1]
    true = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(-1))
    assert np.abs(z @ z.T - true).max() < 0.06
    assert np.abs(z @ z.T - np.exp(-0.6 * ((X[:, None] - X[None]) ** 2).sum(-1))).max() > 0.06


def test_kernel_svc_learns_a_disc() -> None:
    X = np.random.default_rng(2).uniform(-1.5, 1.5, (3000, 2))
    y = (X**2).sum(1) < 1
    model = m.KernelSVC(epsilon=2, components=60, beta=1, classes=[False, True], ridge=2, random_state=1).fit(X, y)
    assert model.public_score(X, y) > 0.85
    assert model.beta_ == 1
    again = m.KernelSVC(epsilon=math.inf, components=60, key=model.key_, beta=1, classes=[False, True]).fit(X, y)
    assert np.array_equal(again.fitted_.design.drawn[0], model.fitted_.design.drawn[0]), "the key says which features"
    fresh = [m.KernelSVC(epsilon=1, components=5, classes=[False, True]).fit(X, y) for _ in range(2)]
    assert fresh[0].key_ != fresh[1].key_
    assert fresh[0].beta_ == 0.5
    wide = m.KernelSVC(epsilon=math.inf, components=2, bounds=(-1.5, 1.5), classes=[False, True]).fit(X, y)
    assert wide.coef_.shape == (1, 2)
    assert np.array_equal(wide.decision_function([[9.0, 9.0]]), wide.decision_function([[1.5, 1.5]])), "bounds are kept"


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(*[st.floats(width=64)] * 2), min_size=1, max_size=8),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from([None, Fraction(1, 3), Fraction(7, 5)]),
)
def test_rows_of_raw_columns_are_short_whatever_they_hold(
    rows: list[Any], size: int, intercept: bool, radius: Fraction | None
) -> None:
    """A row that counts has a norm of at most 1 and no gap; one with a number that is none, or beyond doubles, does not."""
    features = tuple(Feature(n, raw=True) for n in "ab")
    design = Design(features, Target("y", (0, 1)), intercept, radius, fourier=Fourier(size, 0.7, 3))
    table = {"a": [r[0] for r in rows], "b": [r[1] for r in rows], "y": [1] * len(rows)}
    schema = ds.Schema({"a": ds.Real(-1, 1), "b": ds.Real(-1, 1), "y": ds.Categories([0, 1])})
    made = open_source(table, schema).fold(design.block, None, list(design.columns))
    assert np.isfinite(made.x).all()
    assert (np.linalg.norm(made.x, axis=1) <= 1).all()
    assert len(made.x) <= np.isfinite(np.array(rows)).all(axis=1).sum()


def test_raw_columns_are_for_random_features_only() -> None:
    with pytest.raises(InvalidRequest, match="random features only"):
        Design((Feature("a", raw=True),), Target("y", (0, 1)))


def test_weights_are_repeated_rows() -> None:
    X, y = data(60)
    k = np.random.default_rng(3).integers(0, 4, 60)
    common = {"epsilon": math.inf, "bounds": (-2, 2), "classes": LABELS}
    weighted = m.LogisticRegression(weight_bound=3, **common).fit(X, y, sample_weight=k)
    repeated = m.LogisticRegression(**common).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    assert np.allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    one = m.LogisticRegression(epsilon=1, bounds=(-2, 2), classes=LABELS, method="output", weight_bound=3).fit(X, y, k)
    assert 3 <= one.privacy_.releases[0].distance.l2 <= 3.01, "a row of weight 3 moves the minimiser by 3 / ridge"


def trial(rows: int = 500) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (rows, 3))
    chance = rng.uniform(0.2, 0.8, rows)
    treated = rng.uniform(size=rows) < chance
    given = np.where(treated, "drug", "none")
    benefit = 1.0 + 2 * (treated == (X[:, 0] > 0)) + rng.uniform(0, 0.5, rows)
    return X, given, benefit, np.where(treated, chance, 1 - chance)


def test_treatment_rules() -> None:
    X, given, benefit, chance = trial()
    model = m.OutcomeWeightedLearner(epsilon=math.inf, bounds=(-2, 2), classes=["none", "drug"], weight_bound=6)
    model.fit(X, given, benefit=benefit, propensity=chance)
    weight = np.clip(benefit / chance, 0, 6)
    wanted = brute(X, np.where(given == "drug", "yes", "no"), hinge, 1.0, weight)
    assert np.allclose([*model.coef_[0], *model.intercept_], wanted, atol=1e-5)
    assert (model.predict([[1.5, 0, 0], [-1.5, 0, 0]]) == ["drug", "none"]).all()
    true = np.mean(weight * (model.predict(X) == given))
    exact = model.value(X, given, benefit, chance, epsilon=math.inf)
    assert exact.value == pytest.approx(true, abs=1e-6)
    paid = model.value(X, given, benefit, chance, epsilon=0.5)
    assert paid.cost.epsilon == Fraction(1, 2)
    assert abs(paid.value - true) < 3, "Laplace noise of scale 2 on sums near 500: exceeded with probability below 1e-6"
    low, high = paid.interval(0.999999)
    assert low <= true <= high
    assert paid.private
    even = model.set_params(propensity=0.5).fit(X, given, benefit=benefit)
    assert even.fitted_.design.most_weight == 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"benefit": None}, "needs benefit="),
        ({"propensity": None}, "needs propensity="),
        ({"benefit": -1.0}, "0 or more"),
        ({"benefit": math.nan}, "0 or more"),
        ({"propensity": 0.0}, "within"),
        ({"propensity": 1.5}, "within"),
        ({"benefit": np.ones((2, 2))}, "one number for each row"),
        ({"benefit": np.ones(3), "propensity": np.ones(4)}, "one number for each row"),
        ({"benefit": np.ones(3)}, "one number for each of 20 rows"),
    ],
)
def test_bad_treatment_data(change: dict[str, Any], words: str) -> None:
    X, given, benefit, chance = trial(20)
    model = m.OutcomeWeightedLearner(epsilon=1, bounds=(-2, 2), classes=["none", "drug"], weight_bound=6)
    arguments = {"benefit": benefit, "propensity": 0.5 if np.size(change.get("benefit", 0)) == 3 else chance} | change
    with pytest.raises(InvalidRequest, match=words):
        model.fit(X, given, **arguments)


GOOD = {"epsilon": 1, "bounds": (-2, 2), "classes": LABELS}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bounds": None}, "needs public bounds"),
        ({"bounds": (2, 2)}, "lo < hi"),
        ({"bounds": [(0, 1)] * 2}, "each of 3 features"),
        ({"bounds": [(0, 1)] * 4}, "each of 3 features"),
        ({"bounds": [(0, 1), (1, 1), (0, 1)]}, "never varies"),
        ({"bounds": (-math.inf, 1)}, "finite"),
        ({"classes": None}, "needs public classes"),
        ({"classes": ["a"]}, "two different labels"),
        ({"classes": ["no", "perhaps"]}, "declared classes"),
        ({"epsilon": None}, "needs epsilon"),
        ({"epsilon": -1}, "epsilon must be positive"),
        ({"epsilon": 1, "rho": 1}, "either epsilon or rho"),
        ({"delta": 2}, "delta"),
        ({"ridge": 0}, "ridge must be positive"),
        ({"ridge": -1}, "ridge must be positive"),
        ({"method": "magic"}, "method must be one of"),
        ({"radius": 0}, "radius must be positive"),
        ({"penalty": "l1"}, "strongly convex"),
        ({"penalty": None}, "strongly convex"),
        ({"neighbors": "far"}, "neighbors must be one of"),
        ({"weight_bound": 0}, "bounds"),
        ({"ledger": "sqlite:///x.db"}, "must be a discreet.Ledger"),
        ({"random_state": "seed"}, "whole number"),
    ],
)
@pytest.mark.parametrize("kind", [m.LogisticRegression, m.LinearSVC])
def test_bad_parameters(kind: Any, parameters: dict[str, Any], words: str) -> None:
    X, y = data(20)
    model = kind(**GOOD | parameters)
    weights = np.ones(20) if "weight_bound" in parameters else None
    with pytest.raises(InvalidRequest, match=words):
        model.fit(X, y, weights)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"components": 0}, "at least 1"),
        ({"components": 2.5}, "whole number"),
        ({"components": None}, "whole number"),
        ({"key": "k"}, "whole number"),
        ({"beta": 0}, "beta must be positive"),
        ({"width": 0}, "width must be positive"),
    ],
)
def test_bad_kernels(parameters: dict[str, Any], words: str) -> None:
    X, y = data(20)
    with pytest.raises(InvalidRequest, match=words):
        m.KernelSVC(epsilon=1, classes=LABELS, **parameters).fit(X, y)


def test_bad_arrays() -> None:
    X, y = data(20)
    model = m.LogisticRegression(**GOOD)
    for wrong in (np.nan, np.inf):
        bad = X.copy()
        bad[3, 1] = wrong
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.fit(bad, y)
    with pytest.raises(ValueError, match="as many rows"):
        model.fit(X, y[:-1])
    for weights in (np.full(20, 1.5), np.full(20, -0.1), np.ones(19), np.ones((20, 2))):
        with pytest.raises(ValueError, match="weights must be"):
            model.fit(X, y, weights)
    with pytest.raises(ValueError, match="zero"):
        model.fit(X, y, np.zeros(20))
    with pytest.raises(ValueError, match="declared classes"):
        model.fit(X, np.where(np.arange(20) == 3, "perhaps", y))
    assert model.fit(X[:1], y[:1]).coef_.shape == (1, 3), "a single row is a table too"
    assert model.fit(X, np.full(20, "no")).classes_.tolist() == LABELS, "and so is a single class"


def test_scores_are_paid_for() -> None:
    X, y = data(2000)
    model = m.LogisticRegression(**GOOD).fit(X, y)
    with pytest.raises(InvalidRequest, match="paid_score"):
        model.score(X, y)
    exact = model.paid_score(X, y, epsilon=math.inf)
    assert exact.value == model.public_score(X, y) == np.mean(model.predict(X) == y)
    far = X * 3  # outside the bounds, where a prediction clips as a score does
    assert model.paid_score(far, y, epsilon=math.inf).value == model.public_score(far, y)
    assert not exact.private
    paid = model.paid_score(X, y, epsilon=0.1)
    assert paid.cost.epsilon == Fraction(1, 10)
    assert paid.releases[0].query.design.weight is None
    low, high = paid.interval(1 - 1e-7)
    assert low <= exact.value <= high
    again = ds.Result.from_json(paid.to_json())
    assert again.value == paid.value
    assert 0 < paid.expected_error < 0.1
    gaussian = model.paid_score(X, y, rho=0.1)
    assert gaussian.cost.rho == Fraction(1, 10)
    empty = model.set_params(neighbors="replace").paid_score(X[:1], y[:1], epsilon=0.001)
    assert 0 <= empty.value <= 1
    with pytest.raises(InvalidRequest, match="epsilon"):
        model.paid_score(X, y)
    with pytest.raises(InvalidRequest, match="as many rows"):
        model.paid_score(X, y[:-1], epsilon=1)
    with ds.Ledger("sqlite://", ds.Budget(epsilon=0.5)) as ledger:
        model.set_params(ledger=ledger, neighbors="add_remove").paid_score(X, y, epsilon=0.4)
        with pytest.raises(ds.errors.BudgetExceeded):
            model.paid_score(X, y, epsilon=0.4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_how_far_one_row_moves_a_score(weighted: bool, relation: str) -> None:
    """Every pair of small neighbouring tables: the distance holds, and is reached."""
    weight = Weight("w", 2.0) if weighted else None
    query = Hits(Design((Feature("a", -1, 1),), Target("y", (0, 1)), weight=weight), (1.0, 0.1))
    records = list(itertools.product([-1.0, 0.5], [0, 1], [0.0, 0.7, 2.0] if weighted else [1.0]))
    schema = ds.Schema({"a": ds.Real(-1, 1), "y": ds.Categories([0, 1]), "w": ds.Real(0, 2)})

    def total(rows: Any) -> Any:
        a, y, w = zip(*rows, strict=True) if rows else ((), (), ())
        exact = query.evaluate(open_source({"a": np.array(a), "y": np.array(y, int), "w": np.array(w)}, schema))
        return exact.counts * float(query.grid)

    base = [records[0], records[-1]]
    others = [[*base, r] for r in records] if relation == "replace" else [base]
    moves = [total([*base, r]) - total(o) for r in records for o in others]
    distance = query.distance(relation)  # type: ignore[arg-type]
    assert max(np.abs(v).sum() for v in moves) == float(distance.l1)
    assert max(np.sqrt((v**2).sum()) for v in moves) == pytest.approx(float(distance.l2), abs=1e-9)
    assert max(np.abs(v).max() for v in moves) == float(distance.linf)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bounds": "ab"}, "list with a pair for each of 3 features, got 'ab'"),
        ({"bounds": 3}, "got 3"),
        ({"bounds": ([-2, -2, -2], [2, 2, 2])}, r"write list\(zip\(lows, highs\)\)"),
        ({"bounds": [(-2, 2), (-2, 2)]}, "got 2 pairs"),
        ({"bounds": (math.nan, 2)}, "finite lo < hi"),
        ({"delta": 0}, "leave it out for a pure guarantee"),
        ({"epsilon": None, "delta": 1e-6}, "give epsilon beside it"),
        ({"ridge": 0}, "ridge must be positive, got 0; give one such as 1"),
        ({"classes": [0, 1]}, "got 'no'; declare classes=|got 'yes'; declare classes="),
    ],
)
def test_refusals_say_what_to_do(change: Any, message: str) -> None:
    X, y = data(30)
    with pytest.raises(InvalidRequest, match=message):
        m.LogisticRegression(**{"epsilon": 1, "bounds": (-2, 2), "classes": LABELS} | change).fit(X, y)


def test_words_of_other_libraries() -> None:
    with pytest.raises(InvalidRequest, match="takes no 'C'; here it is ridge="):
        m.LogisticRegression(epsilon=1, C=1)  # type: ignore[call-arg]
    with pytest.raises(InvalidRequest, match="did you mean 'neighbors'"):
        m.LinearRegression(epsilon=1, neighbours="replace")  # type: ignore[call-arg]
    with pytest.raises(InvalidRequest, match="has no confidence intervals"):
        m.MLPClassifier(epsilon=1, intervals=True)  # type: ignore[call-arg]


def test_things_that_are_no_rows() -> None:
    X, y = data(30)
    made = m.LogisticRegression(epsilon=1, bounds=(-2, 2), classes=LABELS).fit(X, y)
    for wrong in ({"x0": [1.0]}, "rows.csv"):
        with pytest.raises(InvalidRequest, match="an array or a data frame"):
            made.predict(wrong)
    with pytest.raises(InvalidRequest, match="read the file first"):
        made.predictor.predict("rows.csv")
    X[3, 1] = math.nan
    with pytest.raises(InvalidRequest, match="got NaN in row 3, column 1; leave out"):
        made.fit(X, y)
    with pytest.raises(InvalidRequest, match="Input y contains NaN"):
        made.set_params(classes=[0, 1]).fit(X[:3], [0.0, 1.0, math.nan])


def test_intervals_are_refused_with_the_reason() -> None:
    X, y = data(30)
    with pytest.raises(InvalidRequest, match="random features mean nothing"):
        m.KernelSVC(epsilon=1, intervals=True, classes=LABELS).fit(X, y)
    with pytest.raises(InvalidRequest, match="use method='statistics'"):
        m.LinearRegression(epsilon=1, intervals=True, method="objective", bounds=(-2, 2), target_bounds=(0, 1)).fit(
            X, X[:, 0]
        )


def test_the_largest_weight_of_a_treatment_rule() -> None:
    X, y = data(30)
    with pytest.raises(InvalidRequest, match="needs a public weight_bound="):
        m.OutcomeWeightedLearner(epsilon=1, bounds=(-2, 2), classes=LABELS, propensity=0.5).fit(X, y, benefit=np.ones(30))
    columns = {"x": ds.Real(-2, 2), "good": ds.Real(0, 3), "chance": ds.Real(0.25, 1), "any": ds.Real(0, 1)}
    schema = ds.Schema({**columns, "drug": ds.Categories(LABELS)})
    table = {"x": X[:, 0], "good": np.ones(30), "chance": np.full(30, 0.5), "any": np.full(30, 0.5), "drug": y}
    session = ds.Session(table, schema, ds.Budget(epsilon=5))
    for rule, over, most in (
        (m.OutcomeWeightedLearner(epsilon=1, propensity=0.5), None, 6),
        (m.OutcomeWeightedLearner(epsilon=1), "chance", 12),
        (m.OutcomeWeightedLearner(epsilon=1, weight_bound=4), "any", 4),
    ):
        session.fit(rule, ["x"], "drug", weight="good", propensity=over)
        assert rule.fitted_.design.weight.most == most
    with pytest.raises(InvalidRequest, match="declare a smallest propensity above 0"):
        session.fit(m.OutcomeWeightedLearner(epsilon=1), ["x"], "drug", weight="good", propensity="any")


def test_a_raised_ridge_is_said() -> None:
    X, y = data(30)
    made = m.LogisticRegression(epsilon=0.01, bounds=(-2, 2), classes=LABELS).fit(X, y)
    assert made.privacy_.asked_ridge == 1 < made.ridge_ == made.privacy_.ridge
    assert f"ridge raised from 1 to {made.ridge_:.4g}" in repr(made.privacy_)
    assert made.set_params(ridge=made.ridge_ * 2).fit(X, y).privacy_.asked_ridge is None
