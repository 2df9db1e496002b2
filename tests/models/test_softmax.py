"""Multinomial logistic regression: published oracles, brute force, neighbours, and what it costs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import discreet as ds
from discreet.core.query import Relation
from discreet.core.smoothness import Smoothness
from discreet.errors import InvalidRequest
from discreet.mechanisms import softmax_profile
from discreet.mechanisms.hockey_stick import hockey_stick
from discreet.mechanisms.objective_perturbation import ObjectivePerturbation, _jacobian, _ratio_for, _rho
from discreet.models.design import Design, DesignRows
from discreet.models.queries.softmax_problem import SoftmaxObjective, SoftmaxProblem
from discreet.models.softmax import Softmax, pass_over
from discreet.sources import open_source

m = ds.models
X, Y = load_iris(return_X_y=True)
BOUNDS = [(4, 8), (2, 5), (1, 7), (0, 3)]
S = (X - np.mean(BOUNDS, axis=1)) / (np.diff(BOUNDS, axis=1)[:, 0] / 2)


def bent(classes: int, replaced: bool, rows: int = 1) -> Smoothness:
    return Smoothness(Fraction(1, 2), rows, replaced, True, True, width=classes, classes=classes)


@pytest.mark.parametrize(
    ("classes", "ridge", "replaced", "scale"),
    [(3, 8, False, 5.9364), (3, 8, True, 12.340), (10, 24, False, 6.1468), (10, 24, True, 13.598)],
)
def test_normal_noise_of_the_oracles(classes: int, ridge: int, replaced: bool, scale: float) -> None:
    ratio = _ratio_for(bent(classes, replaced), Fraction(ridge), 1.0, 1e-5, None)
    assert ratio is not None
    assert float(ratio) * math.sqrt(2) * (2 if replaced else 1) == pytest.approx(scale, rel=1e-4)


def test_concentrated_privacy_under_replace_is_that_of_two_steps() -> None:
    problem = bent(10, True)
    found = _rho(problem, 2 * math.sqrt(2) / 13.6, float(_jacobian(problem, Fraction(24))))
    assert found == pytest.approx(0.109, abs=1e-3)


def test_the_profile_is_that_of_the_largest_of_correlated_normals() -> None:
    """400,000 draws: the mean of numbers in [0, 1] is wrong by 0.0051 once in a million (Hoeffding)."""
    rng = np.random.default_rng(0)
    for classes, t, above in ((3, 0.7, 0.3), (6, 1.5, 1.0)):
        noise = rng.normal(size=(400_000, classes))
        largest = ((noise[:, 1:] - noise[:, :1]) / math.sqrt(2)).max(axis=1)
        drawn = np.maximum(0, 1 - np.exp(above - t * t / 2 - t * largest)).mean()
        found = softmax_profile.profile(above + 0.1, t, 0.1, classes, False)
        assert found == pytest.approx(drawn, abs=0.0051)
        assert found <= (classes - 1) * hockey_stick(above, t)
    two = softmax_profile.profile(1.0, 0.5, 0.2, 2, False)
    assert two == pytest.approx(hockey_stick(0.8, 0.5), rel=1e-7), "with two classes it is the Gaussian's own"


def test_the_golden_minimum_and_coefficients_by_brute_force() -> None:
    rows = np.column_stack([S / 2, np.ones(150)]) / math.sqrt(2)
    schema = ds.Schema({**{n: ds.Real(0, 1) for n in "abcd"}, "y": ds.Categories([0, 1, 2])})
    objective = SoftmaxObjective(
        Design.of(schema, "abcd", "y"), Softmax(3), rows=[DesignRows(rows, Y.astype(float), None, None)]
    )
    phi = objective.minimise(np.zeros(10), 8.0, 1e-7)
    assert objective.at(phi, "value").value + 4 * phi @ phi == pytest.approx(138.293468, abs=1e-6)
    model = m.SoftmaxRegression(epsilon=math.inf, bounds=BOUNDS, classes=["s", "v", "w"], ridge=8)
    model.fit(X, np.array(["s", "v", "w"])[Y])
    z = np.column_stack([S, np.ones(150)]) / math.sqrt(5)

    def loss(flat: Any) -> Any:
        score = z @ flat.reshape(3, 5).T
        return (np.log(np.exp(score).sum(1)) - score[np.arange(150), Y]).sum() + 4 * flat @ flat

    wanted = minimize(loss, np.zeros(15), method="BFGS", options={"gtol": 1e-7}).x.reshape(3, 5)
    assert np.allclose(model.fitted_.lines, wanted, atol=1e-5)
    assert np.allclose(model.coef_.sum(0), 0, atol=1e-9)
    assert np.allclose(model.decision_function(X), z @ wanted.T, atol=1e-4)
    assert np.allclose(model.predict_proba(X).sum(1), 1)


@pytest.mark.parametrize("margin", [0, "1.7"])
def test_derivatives_are_those_of_the_value(margin: Any) -> None:
    rng = np.random.default_rng(1)
    rows = DesignRows(rng.normal(size=(40, 3)) / 3, rng.integers(0, 4, 40).astype(float), rng.random(40), None)
    loss, phi = Softmax(4, margin), rng.normal(size=9)
    found = pass_over(rows, loss, phi, "second")
    fine = pass_over(rows, loss, phi, "first", fine=True)
    assert np.allclose(np.asarray(fine.gradient, float), found.gradient, atol=1e-13)
    step = 1e-5
    for place in range(9):
        move = step * np.eye(9)[place]
        up, down = (pass_over(rows, loss, phi + sign * move, "first") for sign in (1, -1))
        assert np.allclose((up.gradient - down.gradient) / (2 * step), found.hessian[place], atol=1e-7)
        ends = [pass_over(rows, loss, phi + sign * move, "value").value for sign in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(found.gradient[place], abs=1e-7)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_one_row_moves_gradient_and_determinant_within_what_is_claimed(relation: Relation) -> None:
    """Rows of length 1 at random coefficients and at the worst ones, K = 3 to 6, with and without a margin."""
    rng = np.random.default_rng(2)
    closest = 0.0
    for trial in range(300):
        classes = 3 + trial % 4
        loss, ridge = Softmax(classes, int(trial % 3 == 1) * 2), float(rng.choice([0.3, 2.0, 8.0]))
        x = rng.normal(size=(2, 2))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        phi = rng.normal(size=2 * (classes - 1)) * rng.choice([0.0, 1.0, 60.0])
        made = [
            pass_over(DesignRows(x[[i]], np.array([float(rng.integers(classes))]), None, None), loss, phi, "second")
            for i in (0, 1)
        ]
        move = np.linalg.norm(made[0].gradient - (made[1].gradient if relation == "replace" else 0))
        assert move <= math.sqrt(2) * (2 if relation == "replace" else 1) + 1e-12
        _, ratio = np.linalg.slogdet(np.eye(len(phi)) + made[0].hessian / ridge)
        most = (classes - 1) * math.log1p(1 / (classes * ridge))
        assert ratio <= most + 1e-12
        closest = max(closest, ratio / most)
        # Where the Jacobian is free, gradient and determinant together cost no more than the gradient alone may.
        scale = ridge / math.sqrt(8)
        assert np.linalg.norm(made[0].gradient) / scale + ratio <= math.sqrt(2) / scale + 1e-9
    assert closest > 1 - 1e-9, "tight at equal shares"


def test_price_ridge_and_rows_of_a_person() -> None:
    one = m.SoftmaxRegression(epsilon=2, bounds=BOUNDS, classes=[0, 1, 2], random_state=1).fit(X, Y)
    assert one.ridge_ == pytest.approx(2.0, rel=0.01), "4 / epsilon: the Jacobian is free"
    law: ObjectivePerturbation = one.privacy_.releases[0].mechanism
    assert float(law.scale) == pytest.approx(math.sqrt(2) / 2, rel=0.01)
    assert one.privacy_.cost.epsilon == 2
    both = m.SoftmaxRegression(epsilon=1, delta=1e-5, bounds=BOUNDS, classes=[0, 1, 2], ridge=8, random_state=1).fit(X, Y)
    assert both.privacy_.cost.epsilon == 1
    people = {n: X[:, i] for i, n in enumerate("abcd")} | {"y": Y, "who": np.arange(150) // 3}
    schema = ds.Schema(
        {n: ds.Real(*b) for n, b in zip("abcd", BOUNDS, strict=True)} | {"y": ds.Categories([0, 1, 2])},
        person="who", max_rows=3,
    )  # fmt: skip
    session = ds.Session(people, schema, ledger="test", seed=1)
    assert session.preview_fit(m.SoftmaxRegression(epsilon=2), list("abcd"), "y").ridge == pytest.approx(6.0, rel=0.01)
    several = session.fit(m.SoftmaxRegression(epsilon=2, delta=1e-5), list("abcd"), "y")
    assert several.privacy_.releases[0].distance.l2 == pytest.approx(3 * math.sqrt(2), rel=1e-9)
    assert several.privacy_.releases[0].mechanism.noise == "spherical_laplace", "normal noise is for one row a person"
    assert 0 <= float(session.score(several, epsilon=1)) <= 1
    assert m.confusion_matrix(several, session, epsilon=1).counts.shape == (3, 3)
    assert SoftmaxProblem(several.fitted_.design).evaluate(open_source(people, schema)).at(np.zeros(10), "value").value == (
        pytest.approx(150 * math.log(3))
    )


def test_published_and_refused(tmp_path: Any) -> None:
    model = m.SoftmaxRegression(epsilon=5, bounds=BOUNDS, classes=["s", "v", "w"], random_state=1)
    model.fit(X, np.array(["s", "v", "w"])[Y], sample_weight=np.ones(150))
    loaded = m.load(model.publish(tmp_path / "model.json"))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.allclose(loaded.predict_proba(X), model.predict_proba(X))
    for words, made in [
        ("three declared", lambda: m.SoftmaxRegression(epsilon=1, bounds=BOUNDS, classes=[0, 1]).fit(X[:99], Y[:99])),
        ("SoftmaxRegression", lambda: m.LogisticRegression(epsilon=1, bounds=BOUNDS, classes=[0, 1, 2]).fit(X, Y)),
        ("method", lambda: m.SoftmaxRegression(epsilon=1, bounds=BOUNDS, classes=[0, 1, 2], method="opera").fit(X, Y)),
        ("ridge", lambda: m.SoftmaxRegression(epsilon=1, bounds=BOUNDS, classes=[0, 1, 2], ridge=0).fit(X, Y)),
        ("150 classes", lambda: Softmax(151)),
    ]:
        with pytest.raises(InvalidRequest, match=words):
            made()


def hinge(score: Any, y: Any, width: float) -> Any:
    """The hinge of Crammer and Singer with its maximum rounded over ``width``, row by row, as it is written in books."""
    short = score + 1.0
    short[np.arange(len(y)), y] -= 1.0
    most = short.max(1)
    return most + width * np.log(np.exp((short - most[:, None]) / width).sum(1)) - score[np.arange(len(y)), y]


@pytest.mark.parametrize("width", [0.1, 0.5, 3.0])
def test_a_support_vector_machine_of_three_classes_by_brute_force(width: float) -> None:
    model = m.LinearSVC(epsilon=math.inf, bounds=BOUNDS, classes=["s", "v", "w"], ridge=2, width=width)
    model.fit(X, np.array(["s", "v", "w"])[Y])
    z = np.column_stack([S, np.ones(150)]) / math.sqrt(5)

    def loss(flat: Any) -> Any:
        return hinge(z @ flat.reshape(3, 5).T, Y, width).sum() + flat @ flat

    wanted = minimize(loss, np.zeros(15), method="BFGS", options={"gtol": 1e-6}).x.reshape(3, 5)
    assert np.allclose(model.fitted_.lines, wanted, atol=2e-4)
    assert np.allclose(model.decision_function(X), z @ wanted.T, atol=2e-3)
    assert model.coef_.shape == (3, 4)
    assert not hasattr(model, "predict_proba")
    plain = np.maximum(0, 1 + np.where(np.eye(3)[Y] > 0, -np.inf, z @ wanted.T).max(1) - (z @ wanted.T)[np.arange(150), Y])
    over = hinge(z @ wanted.T, Y, width) - plain
    assert over.min() >= -1e-12
    assert over.max() <= width * math.log(3) + 1e-12, "it passes the hinge by at most h ln K"


def test_price_and_judgement_of_a_support_vector_machine_of_three_classes(tmp_path: Any) -> None:
    facts = {"bounds": BOUNDS, "classes": [0, 1, 2], "random_state": 1}
    ledger = ds.Ledger("test", ds.Budget(epsilon=200))
    free = m.LinearSVC(epsilon=2, ridge="auto", ledger=ledger, **facts).fit(X, Y)
    assert ledger.spent().epsilon == 2, "once, not once for each class"
    assert free.ridge_ == pytest.approx(4 / (2 * 0.5), rel=0.01), "4 / (h epsilon): the Jacobian is free"
    law: ObjectivePerturbation = free.privacy_.releases[0].mechanism
    assert float(law.scale) == pytest.approx(math.sqrt(2) / 2, rel=0.01), "the noise of one softmax, not of three fits"
    twice = m.LinearSVC(epsilon=2, ridge="auto", neighbors="replace", **facts).fit(X, Y)
    assert twice.ridge_ == pytest.approx(8 / (2 * 0.5), rel=0.01)
    normal = m.LinearSVC(epsilon=1, delta=1e-5, ridge=16, **facts).fit(X, Y)
    assert normal.privacy_.cost.epsilon == 1
    outside = m.LinearSVC(epsilon=5, method="output", ridge=4, **facts).fit(X, Y)
    assert outside.privacy_.method == "output"
    loaded = m.load(free.publish(tmp_path / "model.json"))
    assert np.array_equal(loaded.predict(X), free.predict(X))
    with pytest.raises(InvalidRequest, match="no probabilities"):
        loaded.predict_proba(X)
    assert m.confusion_matrix(free, X, Y, epsilon=50).counts.shape == (3, 3)
    other = ds.Ledger("test", ds.Budget(epsilon=9))
    m.confusion_matrix(free, X, Y, epsilon=1, ledger=other)
    assert other.spent().epsilon == 1, "the ledger that is given pays"
    assert float(free.paid_score(X, Y, epsilon=100)) == pytest.approx(free.public_score(X, Y), abs=0.05)
    for words, made in [
        ("two classes, got 3", free.confidence_intervals),
        ("two classes, got 3", lambda: free.test("x0")),
        ("two classes", lambda: free.decide_at(0.3)),
        ("two classes", lambda: m.LinearSVC(epsilon=1, intervals=True, **facts).fit(X, Y)),
        ("method", lambda: m.LinearSVC(epsilon=1, method="opera", neighbors="replace", **facts).fit(X, Y)),
        ("at most 50", lambda: m.LinearSVC(epsilon=1, width="0.01", **facts).fit(X, Y)),
        ("declared classes", lambda: m.LinearSVC(epsilon=1, **facts).fit(X, Y + 1)),
        ("different labels", lambda: m.LinearSVC(epsilon=1, **facts | {"classes": [0, 1, 1]}).fit(X, Y)),
    ]:
        with pytest.raises(InvalidRequest, match=words):
            made()


def test_a_table_of_one_class_is_answered_with_noise() -> None:
    """Through a session what a record holds refuses nothing: labels not declared, one class only, nobody at all."""
    schema = ds.Schema({n: ds.Real(*b) for n, b in zip("abcd", BOUNDS, strict=True)} | {"y": ds.Categories([0, 1, 2])})
    columns = {n: X[:, i] for i, n in enumerate("abcd")}
    strange = np.where(Y == 1, 7, Y)
    empty = {n: v[:0] for n, v in columns.items()} | {"y": Y[:0]}
    for table in (columns | {"y": np.zeros(150, int)}, columns | {"y": strange}, empty):
        session = ds.Session(table, schema, ledger="test", seed=1)
        for model in (m.LinearSVC(epsilon=1), m.SoftmaxRegression(epsilon=1)):
            assert np.isfinite(session.fit(model, list("abcd"), "y").coef_).all()
        descent = m.SGDClassifier(epsilon=1, delta=1e-5, expected_rows=150, steps=3)
        assert session.fit(descent, list("abcd"), "y").coef_.shape == (3, 4)
