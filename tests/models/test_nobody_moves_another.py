"""What one person contributes does not depend, to the bit, on who else is there; and what bounds a row bounds it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.schema import Categories, Real, Schema
from discreet.errors import InvalidRequest
from discreet.mechanisms import ObjectivePerturbation
from discreet.mechanisms.objective_perturbation import certifiable
from discreet.models.design import Design, Fourier, scores
from discreet.models.evaluate.accuracy import Hits
from discreet.models.feature import Feature
from discreet.models.losses import HuberHinge, Logistic, Squared
from discreet.models.own_losses import own_loss
from discreet.models.queries.constrained_problem import ConstrainedMinimiser, ConstrainedProblem
from discreet.models.queries.contest import Contest, ScoringRule
from discreet.models.queries.empirical_risk import Minimiser, Problem
from discreet.models.regions import Ball, Box
from discreet.models.solve.newton import minimise
from discreet.models.target import Target
from discreet.sources import open_source

NAMES = [f"x{i}" for i in range(7)]
SCHEMA = Schema({**dict.fromkeys(NAMES, Real(-1, 1)), "y": Categories((0, 1))})
DESIGN = Design.of(SCHEMA, NAMES, "y")


def source(rows: int, seed: int = 1) -> Any:
    """The first ``rows`` of one endless table."""
    x = np.random.default_rng(seed).uniform(-1, 1, (70, 7))[:rows]
    return open_source({**{n: x[:, i] for i, n in enumerate(NAMES)}, "y": np.ones(rows, int)}, SCHEMA)


def test_scores_do_not_feel_their_neighbours() -> None:
    rng = np.random.default_rng(2)
    x, theta = rng.uniform(-1, 1, (70, 8)), rng.normal(size=8)
    whole = scores(x, theta)
    for rows in range(1, 70):
        assert (scores(x[:rows], theta) == whole[:rows]).all()


def test_a_person_moves_hits_and_contests_by_one() -> None:
    """Coefficients that put every score next to 0, where a last digit decides: each table against the next longer one."""
    row = np.random.default_rng(3).uniform(-1, 1, 7)
    wide = DESIGN.rows_of(row[None])[0]
    theta = np.random.default_rng(4).normal(size=8)
    theta[7] -= float(scores(wide[None], theta)[0]) / wide[7]
    hits, contest = Hits(DESIGN, tuple(theta)), Contest((ScoringRule(DESIGN, tuple(theta)),))
    found = []
    for rows in range(40):
        same = {n: np.full(rows, row[i]) for i, n in enumerate(NAMES)} | {"y": np.ones(rows, int)}
        found.append((hits.evaluate(open_source(same, SCHEMA)).value, contest.evaluate(open_source(same, SCHEMA))))
    for (one, before), (two, after) in pairwise(found):
        assert np.abs(np.asarray(two) - np.asarray(one)).sum() == 1
        assert -1 <= after[0] - before[0] <= 0


def test_random_features_do_not_feel_their_neighbours() -> None:
    kernel = Design(tuple(Feature(n, raw=True) for n in NAMES), Target("y", (0, 1)), fourier=Fourier(20, 0.5, 7))
    x = np.random.default_rng(5).uniform(-1, 1, (9, 7)) * 1e6
    whole = kernel.rows_of(x)
    for rows in range(1, 9):
        assert (kernel.rows_of(x[:rows]) == whole[:rows]).all()
    assert np.isnan(kernel.rows_of(np.full((1, 7), 1e17))[0, :-1]).all()  # no digit of such an angle means anything


@pytest.mark.parametrize(
    "model",
    [
        ds.models.LinearRegression(),
        ds.models.PoissonRegressor(),
        ds.models.GammaRegressor(),
        ds.models.SGDRegressor(delta=0.01, expected_rows=200, steps=3),
        ds.models.MLPRegressor(delta=0.01, expected_rows=200, steps=3, hidden_layer_sizes=(37, 11)),
        ds.models.MLPRegressor(delta=0.01, expected_rows=200, steps=3, hidden_layer_sizes=(37,), activation="tanh"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_a_regression_predicts_of_a_row_that_is_scored_is_the_same_beside_any_others(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A BLAS computes the last of an odd number of rows in another way, and a product of many rows in several."""
    rng, seen = np.random.default_rng(5), list[Any]()
    X, y = rng.uniform(-1, 1, (200, 29)), rng.uniform(1, 2, 200)
    model.set_params(epsilon=1, bounds=(-1, 1), target_bounds=(1, 2), random_state=1).fit(X, y)
    desk = type(model).desk

    def watched(self: Any, table: Any, schema: Any) -> Any:
        seen.append(table["guess"])
        return desk(self, table, schema)

    monkeypatch.setattr(type(model), "desk", watched)
    for begin, end in ((0, 200), (1, 200), *((7, end) for end in range(101, 107)), (0, 143)):
        model.paid_score(X[begin:end], y[begin:end], epsilon=1)
        assert (seen[-1] == seen[0][begin:end]).all()


@pytest.mark.parametrize(
    "model", [ds.models.PCA(n_components=20), ds.models.StandardScaler(), ds.models.KMeans(n_clusters=3)]
)
def test_what_a_later_private_model_reads_of_a_row_is_the_same_beside_any_others(model: Any) -> None:
    X = np.random.default_rng(6).uniform(-1, 1, (200, 29))
    whole = model.set_params(epsilon=1, bounds=(-1, 1), random_state=1).fit(X).transform(X)
    back = model.inverse_transform(whole) if hasattr(model, "inverse_transform") else whole
    for begin, end in ((1, 200), *((7, end) for end in range(101, 107)), (0, 143)):
        assert (model.transform(X[begin:end]) == whole[begin:end]).all()
        assert back is whole or (model.inverse_transform(whole[begin:end]) == back[begin:end]).all()


def test_a_loss_without_a_bound_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no bound on its slope"):
        Problem(DESIGN, Squared())
    with pytest.raises(InvalidRequest, match="no bound on its slope"):
        ds.models.Classifier(loss=Squared(), epsilon=1, bounds=(-1, 1), classes=[0, 1]).fit(np.eye(2), [0, 1])
    with pytest.raises(InvalidRequest, match="no bound on its slope"):
        ConstrainedProblem(DESIGN, Squared(), Box(Fraction(0)))
    assert ConstrainedProblem(DESIGN, Squared(Fraction(3)), Ball(Fraction(2))).distance("add_remove").l2 == 3
    made = ds.models.ConstrainedRegression(loss=Squared(), region=Ball(2), epsilon=1, bounds=(-1, 1), target_bounds=(-1, 1))
    assert made._loss.slope == 3


def test_a_loss_that_is_no_number_pulls_nowhere() -> None:
    def first(z: Any, y: Any) -> Any:
        e = np.exp(-y * z)
        return -y * e / (1 + e)

    def second(z: Any, y: Any) -> Any:
        e = np.exp(-y * z)
        return e / (1 + e) ** 2

    own = own_loss("textbook", lambda z, y: np.log1p(np.exp(-y * z)), first, second, slope=1, curvature="0.25")
    far = np.array([-900.0, 0.0, 900.0])
    assert np.isfinite(own.first(far, np.ones(3))).all()
    assert np.isfinite(own.second(far, np.ones(3))).all()
    assert not own.extended


@pytest.mark.parametrize("ridge", ["1e-7", "0.01", "1", "1000"])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(Fraction(1, 20))], ids=["logistic", "hinge"])
def test_the_tolerance_can_be_reached(loss: Any, ridge: str) -> None:
    """By an empty table, by one row and by many that can be told apart, where coefficients grow without end."""
    for rows in (0, 1, 60):
        problem = Problem(DESIGN, loss).evaluate(source(rows))
        for epsilon in (0.1, 40):
            distance = Problem(DESIGN, loss).distance("add_remove")
            law = ObjectivePerturbation.costing(distance, ridge=ridge, epsilon=epsilon)
            linear = np.full(8, float(law.scale) * 3)
            assert minimise(problem, linear, float(law.ridge), float(law.tolerance) / 2).residual <= law.tolerance / 2
        query = Minimiser(DESIGN, loss, Fraction(ridge))
        assert minimise(problem, np.zeros(8), float(query.ridge), float(query._residual) / 2).residual <= query._residual / 2


def test_the_tolerance_grows_with_what_has_to_be_certified() -> None:
    short = Problem(DESIGN, Logistic()).distance("add_remove")
    long = Problem(Design(DESIGN.features, DESIGN.target, most_rows=1 << 30), Logistic()).distance("add_remove")
    assert short.problem is not None
    assert long.problem is not None
    near, far = (certifiable(d.problem, d.l2, Fraction(1), Fraction(0)) for d in (short, long))  # type: ignore[arg-type]
    assert near < far
    expecting = Schema(dict(SCHEMA.columns), expected_rows=10**7)
    assert Design.of(expecting, NAMES, "y").most_rows == 4 * 10**7


def test_minimisers_over_a_set_lie_in_it() -> None:
    problem = ConstrainedProblem(DESIGN, Logistic(), Box(Fraction(1), Fraction(2)))
    found = ConstrainedMinimiser(problem, Fraction(1)).evaluate(source(60))
    assert ((found >= 1) & (found <= 2)).all()
