"""OutPert and its bound against descents that were run; GRPUA for a network."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import discreet as ds
from discreet.core.price import Price
from discreet.errors import InvalidRequest
from discreet.mechanisms import NoNoise
from discreet.mechanisms.priced import law_in_l2
from discreet.models.losses import Logistic
from discreet.models.queries.opera import Descent, Opera
from discreet.models.queries.outpert import OutPert, noise_length, utility_bound
from tests.models.test_objective_perturbation import design, objective

N = 400
PRICE = Price(epsilon=1, delta="1e-6")


def mean_objective(theta: Any, x: Any, y: Any, ridge: float) -> float:
    """Written anew: mean of log(1 + exp(-y x.theta)) + (ridge / n) |theta|^2 / 2."""
    return float(np.mean(np.logaddexp(0, -y * (x @ theta))) + ridge / len(y) * theta @ theta / 2)


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 3))
    x /= np.maximum(1, np.linalg.norm(x, axis=1))[:, None]
    return x, np.where(x[:, 0] + 0.3 * rng.normal(size=N) > 0, 1.0, -1.0)


@pytest.mark.parametrize("ridge", [4, 40])
def test_the_bound_holds_on_runs(ridge: int) -> None:
    """The mean over 4,000 draws of the noise lies below the bound; it is 5 deviations of the mean below at least."""
    x, y = data()
    query = OutPert().query(design(3), Logistic(), Fraction(ridge), "replace", N, PRICE)
    law = law_in_l2(PRICE, query.distance("replace"), 3)
    point = query.descended(objective(x, y, Logistic()))
    least = minimize(mean_objective, np.zeros(3), (x, y, ridge)).fun
    scale = np.sqrt(noise_length(law, 3) / 3)
    noise = np.random.default_rng(1).normal(scale=scale, size=(4000, 3))
    gaps = [mean_objective(point + z, x, y, ridge) - least for z in noise]
    bound = utility_bound(query, law)
    assert bound is not None
    assert np.mean(gaps) + 5 * np.std(gaps) / np.sqrt(4000) < bound
    without = utility_bound(query, NoNoise())
    assert without is not None
    assert mean_objective(point, x, y, ridge) - least <= without


@pytest.mark.parametrize("ridge", [0, 4])
def test_the_steps_are_those_of_the_least_bound(ridge: int) -> None:
    query = OutPert(reach=3).query(design(3), Logistic(), Fraction(ridge), "replace", N, PRICE)

    def at(steps: int) -> float:
        other = Descent(query.design, query.loss, query.ridge, N, steps, query.rate)
        found = utility_bound(other, law_in_l2(PRICE, other.distance("replace"), 3), 3)
        assert found is not None
        return found

    brute = min(range(1, 400), key=at)
    assert abs(query.steps - brute) <= 1
    assert query.rate == 1 / (Fraction(1, 4) + Fraction(ridge, N))


def test_without_a_ridge_the_descent_keeps_its_word() -> None:
    x, y = data()
    query = OutPert(steps=30).query(design(3), Logistic(), Fraction(0), "replace", N, PRICE)
    best = minimize(mean_objective, np.zeros(3), (x, y, 0))
    gap = mean_objective(query.descended(objective(x, y, Logistic())), x, y, 0) - best.fun
    bound = utility_bound(query, NoNoise(), float(np.linalg.norm(best.x)))
    assert bound is not None
    assert gap <= bound
    assert utility_bound(query, NoNoise()) is None
    fast = Opera(30).query(design(3), Logistic(), Fraction(0), "replace", N, PRICE)
    assert utility_bound(fast, NoNoise(), 1) is None  # its rate is above 1 / smoothness


def test_a_preview_shows_steps_and_bound_and_a_fit_takes_them() -> None:
    x, y = data()
    schema = ds.Schema({**{f"x{i}": ds.Real(-1, 1) for i in range(3)}, "y": ds.Categories([-1, 1])}, neighbors="replace")
    rows = {f"x{i}": x[:, i] for i in range(3)} | {"y": y.astype(int)}
    session = ds.Session(rows, schema, ds.Budget(epsilon=4, delta=1e-5))
    model = ds.models.LogisticRegression(epsilon=2, delta=1e-6, ridge=4, method="outpert")
    seen = session.preview_fit(model, ["x0", "x1", "x2"], "y")
    assert seen.steps is not None
    assert f"{seen.steps} steps" in str(seen)
    assert seen.utility_bound is not None
    assert seen.utility_bound > 0
    session.fit(model, ["x0", "x1", "x2"], "y")
    assert session.spent() <= seen.cost
    plain = session.preview_fit(model.set_params(method="output"), ["x0", "x1", "x2"], "y")
    assert (plain.steps, plain.utility_bound) == (None, None)


def test_wrong_words_are_refused() -> None:
    for wrong in ({"steps": 0}, {"steps": 1.5}, {"reach": 0}, {"reach": -1}):
        with pytest.raises(InvalidRequest):
            OutPert(**wrong)
    with pytest.raises(InvalidRequest, match="averages over a public number"):
        OutPert().query(design(3), Logistic(), Fraction(1), "add_remove", N, PRICE)


def test_grpua_for_a_network() -> None:
    x, y = data()
    public: dict[str, Any] = {"epsilon": 8, "delta": 1e-5, "bounds": (-1, 1), "classes": [-1, 1], "expected_rows": N}
    model = ds.models.GRPUANetwork(**public, hidden_layer_sizes=(4,), epochs=1, random_state=0).fit(x, y.astype(int))
    run = model.privacy_.run
    assert (run.rate, run.steps) == (Fraction(1, N), N)
    assert set(model.predict(x)) <= {-1, 1}
    with pytest.raises(InvalidRequest, match="one record"):
        ds.models.GRPUANetwork(**public, lot_size=5).fit(x, y.astype(int))
