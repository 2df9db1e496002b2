"""Noise multipliers of lots, against known values, closed forms and quadrature."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld.common import compute_self_convolve_bounds
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom, norm

from discreet.accounting.loss_distribution import _TAIL, _above, _one, _window, profiles
from discreet.accounting.lots import Lots, noise_multiplier, renyi
from discreet.core.cost import ORDERS
from discreet.core.query import Relation
from discreet.errors import InvalidRequest
from discreet.mechanisms.hockey_stick import largest_shift

ORACLES = [
    (0.1, 1e-3, "0.032", 1000, "add_remove", 17.652),
    (1, 1e-5, "0.032", 1000, "add_remove", 3.8907),
    (1, 1e-5, 1, 50, "add_remove", 26.380),
    (1, 1e-5, "0.01", 10_000, "add_remove", 3.8128),
    (0.1, 1e-3, "0.032", 1000, "replace", 35.262),
    (1, 1e-5, "0.032", 1000, "replace", 7.654),
]


@pytest.mark.parametrize(("epsilon", "delta", "rate", "steps", "relation", "expected"), ORACLES)
def test_known_multipliers(epsilon: float, delta: float, rate: str, steps: int, relation: Relation, expected: float) -> None:
    found = noise_multiplier(epsilon, delta, rate, steps, relation)
    assert float(found) == pytest.approx(expected, rel=1e-3)
    lots = Lots(Fraction(rate), steps, found, relation)
    assert lots.epsilon(delta) <= epsilon * (1 + 1e-8)
    cost = lots.cost(epsilon, delta)
    assert (cost.epsilon, cost.delta) == (Fraction(repr(epsilon)), Fraction(repr(delta)))


def test_what_printed_settings_are_worth() -> None:
    """A published thesis claims (15.67, 0.1) and (8.09, 1e-4) for these: rate 1/100, ten thousand steps."""
    rate, steps = Fraction(1, 100), 10_000
    assert Lots(rate, steps, Fraction(1, 20)).epsilon(0.1) == pytest.approx(21966, rel=2e-3)
    assert Lots(rate, steps, Fraction(1, 5)).epsilon(1e-4) == pytest.approx(1088, rel=2e-3)
    assert float(noise_multiplier(15.67, 0.1, rate, steps)) == pytest.approx(0.534, rel=2e-3)
    assert float(noise_multiplier(8.09, 1e-4, rate, steps)) == pytest.approx(0.829, rel=2e-3)


@pytest.mark.parametrize("relation", ["add_remove", "replace", "both"])
def test_whole_lots_are_one_gaussian(relation: Relation) -> None:
    times = 1 if relation == "add_remove" else 2
    for steps in (1, 7, 400):
        found = float(noise_multiplier(0.7, 1e-6, 1, steps, relation))
        assert found == pytest.approx(times * math.sqrt(steps) / largest_shift(0.7, 1e-6), rel=1e-8)


def test_the_renyi_accountant_is_an_upper_bound_and_close() -> None:
    tight = noise_multiplier(1, 1e-5, "0.032", 1000)
    loose = noise_multiplier(1, 1e-5, "0.032", 1000, accountant="renyi")
    assert tight < loose < tight * Fraction(5, 4)
    lots = Lots(Fraction("0.032"), 1000, loose)
    assert lots.epsilon(1e-5) < lots.epsilon(1e-5, "renyi") <= 1


def test_the_renyi_curve_is_that_of_the_mixture() -> None:
    """E over N(0, z^2) of ((1 - q) + q exp((2x - 1) / 2z^2))^a, by quadrature."""
    q, z = 0.05, 1.3
    found = dict(zip(ORDERS, renyi(q, z), strict=True))
    for order in (1.5, 2.0, 6.0, 16.0):

        def moment(x: float, a: float = order) -> float:
            return float(norm.pdf(x, 0, z)) * ((1 - q) + q * math.exp((2 * x - 1) / (2 * z * z))) ** a

        value = quad(moment, -12 * z, 30 * z, limit=400, epsabs=0, epsrel=1e-11)[0]
        true = math.log(value) / (order - 1)
        assert true * (1 - 1e-6) <= found[order] <= true * (1 + 1e-6 if order.is_integer() else 1.4)  # else a chord


def summed(noise: float, rate: float, steps: int, delta: float) -> float:
    """From below: the epsilon of the sum of all outputs, a binomial mixture of normals, in sums of positive terms only."""
    deviation, mean = noise * math.sqrt(steps), steps * rate
    spread = 14 * math.sqrt(steps * rate * (1 - rate)) + 5
    counts = np.arange(max(0, int(mean - spread)), min(steps, int(mean + spread)) + 1)
    x = np.linspace(-10 * deviation, counts[-1] + 10 * deviation, 10_001)
    mixed = np.full(x.size, -np.inf)
    for count, weight in zip(counts, binom.logpmf(counts, steps, rate), strict=True):
        mixed = np.logaddexp(mixed, weight - ((x - count) / deviation) ** 2 / 2)
    alone = -((x / deviation) ** 2) / 2
    unit, best = (x[1] - x[0]) / (deviation * math.sqrt(2 * math.pi)), 0.0
    for loss, mass in ((mixed - alone, np.exp(mixed) * unit), (alone - mixed, np.exp(alone) * unit)):
        low, high = 0.0, 60.0
        for _ in range(40):
            middle = (low + high) / 2
            above = loss > middle
            found = float((mass[above] * -np.expm1(middle - loss[above])).sum())
            low, high = (middle, high) if found > delta else (low, middle)
        best = max(best, low)
    return best


@pytest.mark.parametrize(("rate", "steps", "noise"), [("0.5", 10_000, 50), ("0.9", 10_000, 90), ("0.05", 10_000, 20)])
def test_claims_hold_at_small_deltas(rate: str, steps: int, noise: int) -> None:
    """Where the rounding of a Fourier transform is as large as delta, a claim must not rest on it."""
    lots = Lots(Fraction(rate), steps, Fraction(noise))
    for delta in (1e-6, 1e-9, 1e-11, 1e-13, 1e-14):
        true = summed(float(noise), float(rate), steps, delta)
        assert true < lots.epsilon(delta) < 1.08 * true


@pytest.mark.parametrize("interval", [1e-3, 2e-2])
def test_the_law_on_the_grid_lies_above_the_profile(interval: float) -> None:
    """Between the losses of the grid too, for one step; and a run is that of an independent implementation, to 1e-3."""
    from dp_accounting.pld import privacy_loss_distribution

    for noise, rate in ((0.9, 0.2), (0.2, 0.01), (3.0, 0.7)):
        peer = privacy_loss_distribution.from_gaussian_mechanism(
            noise, sampling_prob=rate, value_discretization_interval=interval
        ).self_compose(7)
        for profile, removed in zip(profiles(noise, rate, 1, interval), (True, False), strict=True):
            for delta in np.geomspace(1e-10, 0.3, 30):
                found = profile.epsilon(float(delta))
                true = _above(np.array([found]), noise, rate, removed)[0]
                assert true <= delta * (1 + 1e-12)
                assert found == 0 or true >= delta - 2 * interval
        for delta in (1e-8, 1e-5, 1e-2):
            found = max(p.epsilon(delta) for p in profiles(noise, rate, 7, interval))
            assert found == pytest.approx(peer.get_epsilon_for_delta(delta), rel=1e-3, abs=interval)


def test_one_step_matches_the_profile_of_the_mixture() -> None:
    """The larger of the two hockey-stick divergences of (1-q) N(0,z^2) + q N(1,z^2) against N(0,z^2), by quadrature."""
    q, z, epsilon = 0.2, 0.9, 0.4
    x = np.linspace(-14, 16, 600_001)
    mixed = (1 - q) * norm.pdf(x, 0, z) + q * norm.pdf(x, 1, z)
    alone = norm.pdf(x, 0, z)
    step = x[1] - x[0]
    there = np.maximum(mixed - math.exp(epsilon) * alone, 0).sum() * step
    back = np.maximum(alone - math.exp(epsilon) * mixed, 0).sum() * step
    delta = max(there, back)
    assert Lots(Fraction(1, 5), 1, Fraction("0.9")).epsilon(delta) == pytest.approx(epsilon, rel=1e-3)


def test_replacing_is_two_changes() -> None:
    """One step at rate q, a record moved from -1 to 1: the true profile stays below the claim, and not by much."""
    q, steps, epsilon, delta = 0.3, 1, 1.0, 1e-3
    z = float(noise_multiplier(epsilon, delta, "0.3", steps, "replace"))
    x = np.linspace(-40, 40, 800_001)
    here = (1 - q) * norm.pdf(x, 0, z) + q * norm.pdf(x, 1, z)
    gone = (1 - q) * norm.pdf(x, 0, z) + q * norm.pdf(x, -1, z)
    true = np.maximum(here - math.exp(epsilon) * gone, 0).sum() * (x[1] - x[0])
    assert 1e-6 < true < delta
    assert Lots(Fraction("0.3"), steps, Fraction(z), "replace").epsilon(delta) <= epsilon


@pytest.mark.parametrize("steps", [1, 100, 10**6])
@pytest.mark.parametrize(("noise", "rate"), [(0.3, 0.9), (1, 0.01), (20, 1e-4)])
def test_what_is_left_out_of_a_run_is_what_google_leaves_out(noise: float, rate: float, steps: int) -> None:
    for removed in (True, False):
        law = _one(noise, rate, 4e-3 / noise, removed)[1].astype(np.float64)
        theirs = compute_self_convolve_bounds(law, steps, _TAIL / 2)
        assert np.abs(np.subtract(_window(law, steps), theirs)).max() <= 1  # rounded to whole places
    assert _window(np.zeros(5), steps) == (0, 4 * steps)


@given(st.floats(0.2, 4), st.floats(1e-8, 1e-2), st.fractions(Fraction(1, 50), Fraction(1, 2)), st.integers(1, 200))
@settings(max_examples=3, deadline=None)
def test_what_is_found_holds_and_is_least(epsilon: float, delta: float, rate: Fraction, steps: int) -> None:
    found = noise_multiplier(epsilon, delta, rate, steps)
    assert Lots(rate, steps, found).epsilon(delta) <= epsilon
    assert Lots(rate, steps, found * Fraction(98, 100)).epsilon(delta) > epsilon * 0.97
    assert Lots(rate, steps, found).cost(epsilon, delta).is_finite


def test_a_cost_is_not_claimed_beyond_the_noise() -> None:
    lots = Lots(Fraction("0.032"), 1000, Fraction("3.8"))
    with pytest.raises(InvalidRequest, match=r"least epsilon is 1\.0"):
        lots.cost(1, 1e-5)
    full = lots.cost(2, 1e-5)
    assert full.rho == Fraction(1000) / (2 * Fraction("3.8") ** 2)
    assert all(a * float(full.rho) * (1 + 1e-6) >= c > 0 for a, c in zip(ORDERS, full.curve, strict=True))
    replaced = Lots(Fraction("0.032"), 1000, Fraction("7.7"), "replace").cost(1, 1e-5)
    assert replaced.rho == 4 * Fraction(1000) / (2 * Fraction("7.7") ** 2)


def test_the_curve_falls() -> None:
    known = Lots(Fraction("0.1"), 20, Fraction(2)).curve()
    assert [e for _, e in known] == sorted((e for _, e in known), reverse=True)


def test_refusals() -> None:
    for bad in ({"rate": 0}, {"rate": 1.5}, {"steps": 0}, {"steps": 2.5}, {"epsilon": -1}, {"delta": 0}, {"delta": 1}):
        arguments = {"epsilon": 1, "delta": 1e-5, "rate": 0.1, "steps": 10} | bad
        with pytest.raises(InvalidRequest, match=next(iter(bad))):
            noise_multiplier(**arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="no noise multiplier"):
        noise_multiplier(1e-12, 1e-280, "0.5", 1000)
    with pytest.raises(InvalidRequest, match="accountant"):
        Lots(Fraction(1, 2), 1, Fraction(1)).epsilon(0.1, "guess")  # type: ignore[arg-type]
