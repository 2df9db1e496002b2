"""Conversions, filters, plans and calibration against closed forms and independent computation."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from discreet.accounting import Filter, Step, calibrate, epsilon, epsilon_of, epsilon_of_zcdp, zcdp_of_pure
from discreet.core.budget import Budget
from discreet.core.cost import ORDERS, Cost, Distance
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, Laplace


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 3.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.3])
def test_zcdp_to_approximate(rho: float, delta: float) -> None:
    """Against an independent minimisation, and never below the truth for a Gaussian of that rho."""
    from discreet.mechanisms.hockey_stick import epsilon_at

    def value(x: float) -> float:
        a = 1 + math.exp(x)
        return rho * a + math.log(1 / (a * delta)) / (a - 1) + math.log(1 - 1 / a)

    best = max(0.0, minimize_scalar(value, bounds=(-15, 25), method="bounded", options={"xatol": 1e-10}).fun)
    assert epsilon_of_zcdp(rho, delta) == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert epsilon_of_zcdp(rho, delta) >= epsilon_at(delta, math.sqrt(2 * rho)) * (1 - 1e-9)


def test_pure_to_zcdp_is_tight() -> None:
    for e in (1e-6, 0.1, 1.0, 10.0):
        assert float(zcdp_of_pure(e)) == pytest.approx(e * math.tanh(e / 2), rel=1e-12)


def test_epsilon_takes_the_best_statement() -> None:
    assert epsilon(Cost.pure(1), 0) == 1
    assert epsilon(Cost.pure(0.01) * 100, 1e-5) < 0.6
    assert epsilon(Cost.zcdp(0.1), 0) == math.inf
    assert epsilon(Cost.approximate(1, 1e-3), 1e-4) == math.inf
    assert epsilon(Cost.approximate(1, 1e-3), 1e-3) == 1
    assert epsilon(Cost.infinite(), 0.1) == math.inf
    assert epsilon(Cost.nothing()) == 0
    with pytest.raises(InvalidRequest):
        epsilon(Cost.pure(1), 1)


def test_renyi_curves_agree_with_another_accountant() -> None:
    """Composition of 30 Laplace and 20 Gaussian releases, against dp-accounting's Rényi accountant at our orders."""
    ours = Laplace(8).cost(1) * 30 + Gaussian(12).cost(1) * 20
    theirs = RdpAccountant(orders=list(ORDERS))
    theirs.compose(dp_event.LaplaceDpEvent(8), 30).compose(dp_event.GaussianDpEvent(12), 20)
    assert epsilon(Cost(None, Fraction(0), None, Fraction(0), ours.curve), 1e-6) == pytest.approx(
        theirs.get_epsilon(1e-6), rel=1e-6
    )


def test_plans_agree_with_another_accountant() -> None:
    ours = epsilon_of([Step(Laplace(8), 1, 30), Step(Gaussian(12), 1, 20)], 1e-6)
    theirs = PLDAccountant()
    theirs.compose(dp_event.LaplaceDpEvent(8), 30).compose(dp_event.GaussianDpEvent(12), 20)
    assert ours == pytest.approx(theirs.get_epsilon(1e-6), rel=1e-2)


def test_plans_of_gaussians_are_exact() -> None:
    """T releases of scale s are one of scale s / sqrt(T): the published noise multiplier at (1, 1e-5), T = 50."""
    law = calibrate(Gaussian, Budget(epsilon=1, delta=1e-5), times=50)
    assert float(law.scale) == pytest.approx(26.380, abs=1e-3)  # type: ignore[attr-defined]
    assert epsilon_of([Step(law, 1, 50)], 1e-5) <= 1
    vector = epsilon_of([Step(Gaussian(5), Distance.of([3, 4]))], 1e-5)
    assert vector == pytest.approx(epsilon_of([Step(Gaussian(1), 1)], 1e-5))


def test_plans_never_beat_enumeration() -> None:
    """Two discrete Laplace releases, their product enumerated: the plan is above the truth, and not by much."""
    s, delta = 2.0, 1e-3
    k = np.arange(-120, 121)
    p, q = np.exp(-np.abs(k) / s), np.exp(-np.abs(k - 1) / s)
    p, q = np.outer(p / p.sum(), p / p.sum()).ravel(), np.outer(q / q.sum(), q / q.sum()).ravel()
    claimed = epsilon_of([Step(DiscreteLaplace(2), 1, 2)], delta)
    assert np.maximum(p - math.exp(claimed) * q, 0).sum() <= delta
    assert np.maximum(p - math.exp(claimed - 0.01) * q, 0).sum() > delta


def test_plans_of_vectors_fall_back_to_what_is_proved() -> None:
    many = epsilon_of([Step(Laplace(10), Distance.of([Fraction(1, 2), Fraction(1, 2)]), 20)], 1e-6)
    assert epsilon_of([Step(Laplace(10), 1, 20)], 1e-6) <= many <= 2
    assert epsilon_of([Step(Exponential.costing(1, epsilon="0.1"), 1, 50)], 1e-6) < 5
    assert epsilon_of([Step(DiscreteGaussian(10), 1, 10)], 1e-6) < epsilon(DiscreteGaussian(10).cost(1) * 10, 1e-6)
    with pytest.raises(InvalidRequest, match="scalar"):
        epsilon_of([Step(DiscreteGaussian(10), [1, 1])], 1e-6)
    assert epsilon_of([], 1e-6) == 0


@pytest.mark.parametrize(
    ("law", "target", "times", "scale"),
    [
        (Laplace, Budget(epsilon=1), 10, 10),
        (Laplace, Budget(epsilon="0.3"), 1, Fraction(10, 3)),
        (DiscreteLaplace, Budget(epsilon=2), 3, Fraction(3, 2)),
        (Gaussian, Budget(rho="0.5"), 4, 2),
        (DiscreteGaussian, Budget(rho="0.02"), 1, 5),
    ],
)
def test_calibrate_finds_exact_scales(law: Any, target: Budget, times: int, scale: Fraction) -> None:
    assert calibrate(law, target, times=times).scale == scale  # type: ignore[attr-defined]


@pytest.mark.parametrize("law", [Laplace, Gaussian, DiscreteGaussian])
def test_calibrate_meets_an_approximate_target(law: Any) -> None:
    made = calibrate(law, Budget(epsilon=1, delta=1e-6), sensitivity=2, times=8)
    assert epsilon_of([Step(made, 2, 8)], 1e-6) <= 1
    smaller = law(made.scale * Fraction(99, 100))  # type: ignore[attr-defined]
    assert epsilon_of([Step(smaller, 2, 8)], 1e-6) > 1


def test_calibrate_refuses_the_impossible() -> None:
    with pytest.raises(InvalidRequest, match="no scale"):
        calibrate(Gaussian, Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match="times"):
        calibrate(Laplace, Budget(epsilon=1), times=0)


def spend(filter_: Filter, charge: Cost, most: int = 100_000) -> int:
    """How many of one charge fit."""
    total, count = Cost.nothing(), 0
    while count < most and filter_.fits(total + charge):
        total, count = total + charge, count + 1
    return count


def test_filters_of_each_kind() -> None:
    assert spend(Filter.of(Budget(1)), Cost.pure(0.1)) == 10
    assert spend(Filter.of(Budget(1)), Cost.approximate(0.1, 1e-9)) == 0
    assert spend(Filter.of(Budget(1)), Cost.zcdp(0.01)) == 0
    assert spend(Filter.of(Budget(1, 1e-6)), Gaussian.costing(1, epsilon=0.1, delta=1e-7).cost(1)) == 10
    assert spend(Filter.of(Budget(1, 1e-6)), Gaussian.costing(1, epsilon=1, delta=1e-6).cost(1)) == 1
    assert spend(Filter.of(Budget(rho=0.5)), Cost.zcdp(0.05)) == 10
    assert spend(Filter.of(Budget(rho=0.5)), Cost.approximate(0.1, 1e-9)) == 0
    assert spend(Filter.of(Budget(rho=0.5, delta=1e-8)), Cost.approximate(0.1, 1e-9)) == 10
    assert spend(Filter.of(Budget(1)), Cost.infinite()) == 0


def test_a_renyi_filter_gives_gaussian_questions_more_room() -> None:
    """Many small Gaussian questions fit, the total stays within the claim, and order infinity is free."""
    budget = Budget(1, 1e-6, composition="renyi")
    filter_ = Filter.of(budget)
    question = Gaussian.costing(1, epsilon=0.1, delta=1e-7)
    count = spend(filter_, question.cost(1))
    assert count > 40
    from discreet.mechanisms.hockey_stick import hockey_stick

    assert hockey_stick(1.0, math.sqrt(count) / float(question.scale)) <= 1e-6  # type: ignore[arg-type]
    assert spend(filter_, Cost.pure(0.1)) >= 10
    assert spend(filter_, Cost.pure(1)) == 1
    assert spend(filter_, Cost.approximate(0.001, 1e-7)) == 5
    assert filter_.remaining(Cost.nothing()).rho > 0
    assert Filter.from_dict(filter_.to_dict()) == filter_
    with pytest.raises(UnsupportedFormat, match="orders"):
        Filter.from_dict(filter_.to_dict() | {"orders": [1.77]})


@given(
    st.lists(st.sampled_from([Cost.pure(0.07), Cost.pure(0.3), Cost.zcdp(0.01), Cost.approximate(0.05, 1e-8)]), max_size=25)
)
def test_filters_refuse_monotonically(charges: list[Cost]) -> None:
    """A refused total never fits again after more was added, and what remains is never negative."""
    for budget in (Budget(1), Budget(1, 1e-7), Budget(rho=0.2), Budget(1, 1e-6, composition="renyi")):
        filter_ = Filter.of(budget)
        total, fitted = Cost.nothing(), True
        for charge in charges:
            total += charge
            fits = filter_.fits(total)
            assert fitted or not fits
            fitted = fits
            left = filter_.remaining(total)
            assert all(v is None or v >= 0 for v in (left.epsilon, left.delta, left.rho))
        assert str(filter_.remaining(total))
