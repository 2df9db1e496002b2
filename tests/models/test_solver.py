"""Certified minimisers: the certificate is true, and it is reached whatever the data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet.errors import InvalidRequest
from discreet.mechanisms import objective_perturbation as law_module
from discreet.models.design import DesignRows
from discreet.models.losses import Huber, HuberHinge, Logistic, Loss
from discreet.models.solve import newton
from discreet.models.solve import objective as objective_module
from discreet.models.solve.quadratic import factors as factors_of
from tests.models.test_objective_perturbation import objective

TOLERANCE = 2.0**-17
LOSSES: tuple[Loss, ...] = (Logistic(), HuberHinge(), HuberHinge(Fraction(1, 100)), Huber())


def true_gradient(one: Any, theta: Any, linear: Any, ridge: float) -> Any:
    """The gradient in 60 digits."""
    (rows,) = one._rows
    with mpmath.workdps(60):
        total = [mpmath.mpf(float(b)) + mpmath.mpf(ridge) * mpmath.mpf(float(t)) for b, t in zip(linear, theta, strict=True)]
        for i, (x, y) in enumerate(zip(rows.x, rows.y, strict=True)):
            score = sum(mpmath.mpf(float(a)) * mpmath.mpf(float(t)) for a, t in zip(x, theta, strict=True))
            slope = exact_slope(one.loss, score, mpmath.mpf(float(y)))
            if rows.weight is not None:
                slope *= mpmath.mpf(float(rows.weight[i]))
            total = [g + slope * mpmath.mpf(float(a)) for g, a in zip(total, x, strict=True)]
        return mpmath.sqrt(sum(g * g for g in total)), total


def exact_slope(loss: Any, score: Any, y: Any) -> Any:
    """The derivative of a loss in the score, from its definition."""
    if isinstance(loss, Logistic):
        return -y / (1 + mpmath.exp(y * score))
    if isinstance(loss, HuberHinge):
        h = mpmath.mpf(loss.width.numerator) / loss.width.denominator
        return -y * min(max((1 + h - y * score) / (2 * h), mpmath.mpf(0)), mpmath.mpf(1))
    return min(max(score - y, mpmath.mpf(-1)), mpmath.mpf(1))


def table(rng: Any, kind: int, count: int, width: int) -> tuple[Any, Any]:
    """Adversarial rows of norm at most 1: random, duplicated, signs, one huge column, tiny, sorted and separable."""
    x = rng.normal(size=(count, width))
    if kind == 1 and count:
        x[:] = x[0]
    if kind == 2:
        x = np.sign(x)
    if kind == 3:
        x[:, 0] *= 1e6
    if kind == 5:
        x = np.sort(x, axis=0)
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0 if kind != 4 else 1e4)
    y = np.where(x[:, 0] > 0, 1.0, -1.0) if rng.random() < 0.5 else rng.choice([-1.0, 1.0], count)
    if rng.random() < 0.2:
        y[:] = 1.0
    return x, y


def test_every_table_is_minimised_and_the_certificate_is_true() -> None:
    """120 tables, empty and of one class among them, ridges down to 1e-6: certified, and so says exact arithmetic."""
    rng = np.random.default_rng(2)
    for trial in range(120):
        width, count = int(rng.choice([1, 2, 6])), int(rng.choice([0, 1, 3, 30]))
        x, y = table(rng, trial % 6, count, width)
        loss, ridge = LOSSES[trial % 4], float(rng.choice([1e-6, 1e-3, 1.0, 100.0]))
        linear = rng.normal(size=width) * float(rng.choice([0, 1, 100])) * min(1.0, 100 * ridge)
        weight = rng.uniform(0, 1, count) if trial % 3 == 0 else None
        one = objective(x.reshape(count, width), y, loss, weight)
        found = newton.minimise(one, linear, ridge, TOLERANCE)
        assert found.residual <= TOLERANCE
        length, _ = true_gradient(one, found.theta, linear, ridge)
        assert float(length) <= found.residual


def test_larger_tables_are_minimised_too() -> None:
    """Separable, sorted and duplicated rows, more of them than the thinned start takes, wide and narrow."""
    rng = np.random.default_rng(6)
    for trial in range(12):
        x, y = table(rng, trial % 6, 60_000 if trial < 3 else 5000, (4, 20)[trial % 2])
        one = objective(x, y, LOSSES[trial % 4])
        assert newton.minimise(one, np.zeros(x.shape[1]), (1e-6, 0.5)[trial % 2], TOLERANCE).residual <= TOLERANCE


def test_the_error_of_a_pass_is_an_upper_bound() -> None:
    """Gradients in doubles and in extended precision against 60 digits, at points far out as well."""
    rng = np.random.default_rng(9)
    for trial in range(40):
        width, count = int(rng.integers(1, 5)), int(rng.choice([1, 10, 60]))
        x, y = table(rng, trial % 6, count, width)
        one = objective(x, y, LOSSES[trial % 4], rng.uniform(0, 1, count) if trial % 2 else None)
        theta = rng.normal(size=width) * float(rng.choice([1e-3, 1.0, 1e3, 1e6]))
        _, exact = true_gradient(one, theta, np.zeros(width), 0.0)
        for fine in (False, True):
            totals = one.at(theta, "first", fine=fine)
            with mpmath.workdps(60):
                # Extended precision as two doubles, exactly.
                high = totals.gradient.astype(np.float64)
                low = (totals.gradient - high).astype(np.float64)
                parts = zip(high, low, exact, strict=True)
                apart = mpmath.sqrt(sum((mpmath.mpf(float(a)) + mpmath.mpf(float(b)) - e) ** 2 for a, b, e in parts))
            assert float(apart) <= one.error(totals, theta, fine)


def test_extended_precision_takes_over_where_doubles_certify_too_little() -> None:
    """A million rows' worth of weight and a score of a million: doubles alone fail, the whole does not."""
    rng = np.random.default_rng(1)
    x, y = table(rng, 0, 200, 3)
    one = objective(x, y, Logistic(), np.full(200, 5000.0))
    linear = np.array([3.0, 0, 0])
    tilted = newton._Tilted(one, linear, 1e-6)
    alone = newton._newton(tilted, np.zeros(3), 1e-9)
    assert alone.residual > 1e-9
    assert newton.minimise(one, linear, 1e-6, 1e-9).residual <= 1e-9


def test_newton_and_the_method_for_many_features_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 450))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(x[:, 0] + 0.1 * rng.normal(size=300) > 0, 1.0, -1.0)
    linear = rng.normal(size=450)
    for loss in (Logistic(), HuberHinge()):
        one = objective(x, y, loss)
        many = newton.minimise(one, linear, 0.5, 1e-7)
        monkeypatch.setattr(newton, "_FEW", 1000)
        few = newton.minimise(one, linear, 0.5, 1e-7)
        monkeypatch.undo()
        assert max(many.residual, few.residual) <= 1e-7
        assert np.linalg.norm(many.theta - few.theta) <= 2 * 1e-7 / 0.5


def test_many_features_are_minimised_by_gradients_in_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even columns in a dozen passes; columns of very different lengths and a hinge all the same, without a Hessian."""
    rng = np.random.default_rng(8)
    even = rng.uniform(-1, 1, (2000, 500)) / np.sqrt(500)
    long = even * 10.0 ** rng.uniform(-3, 0, 500)
    y = np.where(even @ rng.normal(0, 30, 500) > 0, 1.0, -1.0)
    passes = []
    look = objective_module.Objective.at
    monkeypatch.setattr(
        objective_module.Objective, "at", lambda self, *more, **named: passes.append(more[1]) or look(self, *more, **named)
    )
    for x, loss, most in ((even, Logistic(), 16), (long, Logistic(), 300), (long, HuberHinge(), 300)):
        passes.clear()
        found = newton.minimise(objective(x, y, loss), 5 * rng.normal(size=500), 1.0, TOLERANCE)
        assert found.residual <= TOLERANCE
        assert len(passes) <= most
        assert "second" not in passes
        assert "rough" not in passes


def test_a_start_is_no_more_accurate_than_it_has_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 60,000 rows 4,000 are looked at a few times only before all of them are."""
    x, y = table(np.random.default_rng(3), 0, 60_000, 20)
    passes = []
    look = objective_module.Objective.at
    monkeypatch.setattr(
        objective_module.Objective,
        "at",
        lambda self, *more, **named: passes.append(self.size) or look(self, *more, **named),
    )
    assert newton.minimise(objective(x, y, Logistic()), np.zeros(20), 1.0, TOLERANCE).residual <= TOLERANCE
    assert 1 <= sum(size < 60_000 for size in passes) <= 8
    assert sum(size == 60_000 for size in passes) <= 12


def test_a_hessian_that_rounding_spoils_does_not_stop_anything() -> None:
    spoiled = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-16]])
    factors = factors_of(spoiled - 1e-13 * np.eye(2))
    assert np.isfinite(factors).all()


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 2.0**-60, reason="no extended precision here")
def test_long_sums_stay_certified() -> None:
    """10 million rows of slope 1/2: the bound of a table of that length, in batches, is below the tolerance."""
    one = objective([[1.0]], [1.0], Logistic())
    totals = objective_module.Totals(0.0, np.zeros(1), None, 5e6, 1e7, 512 + 10_000_000 // 65536)
    assert one.error(totals, np.array([5.0]), fine=True) < float(law_module.TOLERANCE) / 2


def test_the_depth_of_a_sum_is_counted() -> None:
    """No term of a tree of short sums goes through more additions than are counted, and far fewer than there are rows."""
    rows = DesignRows(np.ones((65_536 + 37, 1)), np.ones(65_536 + 37), None, None)
    totals = objective_module.pass_over(rows, Logistic(), np.zeros(1), "first")
    assert totals.gradient == pytest.approx([-(65_536 + 37) / 2])
    assert 3 * objective_module.TWIG <= totals.depth <= 8 * objective_module.TWIG
    assert (totals + totals).depth == totals.depth + 1


def test_narrow_corners_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="width must be at least"):
        HuberHinge(Fraction(1, 10**6))
    assert isinstance(HuberHinge(Fraction(1, 100)).smoother(), HuberHinge)
    assert HuberHinge().smoother() is None
    assert DesignRows(np.zeros((1, 1)), np.zeros(1), None, None).people is None
