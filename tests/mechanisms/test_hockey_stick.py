"""The Gaussian profile against published values and 60-digit arithmetic."""

from __future__ import annotations

import mpmath
import pytest
from scipy.special import erfinv

from discreet.errors import InvalidRequest
from discreet.mechanisms.hockey_stick import analytic_ratio, epsilon_at, hockey_stick, largest_shift

ORACLES = {
    (1e-9, 1e-12): 2436407769,
    (0.1, 1e-3): 17.4043962,
    (1, 1e-3): 2.574657019,
    (1, 1e-12): 6.557822067,
    (10, 0.5): 0.2133323926,
    (100, 1e-12): 0.1135461756,
    (800, 1e-3): 0.02698844959,
}


def exact(epsilon: float, t: float) -> mpmath.mpf:
    mpmath.mp.dps = 60
    e, s = mpmath.mpf(epsilon), mpmath.mpf(t)
    return mpmath.ncdf(s / 2 - e / s) - mpmath.exp(e) * mpmath.ncdf(-s / 2 - e / s)


@pytest.mark.parametrize(("claim", "ratio"), ORACLES.items())
def test_oracles_to_nine_digits(claim: tuple[float, float], ratio: float) -> None:
    assert 1 / largest_shift(*claim) == pytest.approx(ratio, rel=1e-9)


def test_limit_of_small_epsilon() -> None:
    for delta in (1e-9, 1e-3, 0.5):
        assert 1 / largest_shift(0, delta) == pytest.approx(1 / (2 * 2**0.5 * erfinv(delta)), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-3, 0.1, 1.0, 10.0, 100.0, 800.0])
@pytest.mark.parametrize("t", [1e-9, 1e-5, 9.9e-4, 1.01e-3, 0.1, 1.0, 5.0, 30.0])
def test_against_sixty_digits(epsilon: float, t: float) -> None:
    true = exact(epsilon, t)
    if true > 1e-280:
        assert hockey_stick(epsilon, t) == pytest.approx(float(true), rel=2e-9)


@pytest.mark.parametrize("claim", ORACLES)
def test_the_margin_covers_every_rounding(claim: tuple[float, float]) -> None:
    epsilon, delta = claim
    assert exact(epsilon, 1 / analytic_ratio(epsilon, delta)) <= delta


def test_epsilon_at_inverts() -> None:
    assert epsilon_at(1e-3, 1 / 2.574657019) == pytest.approx(1, rel=1e-8)
    assert epsilon_at(0.5, 1e-3) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (1, 1), (1, 2), (1, float("nan")), (-1, 0.1), (float("inf"), 0.1)])
def test_bad_claims(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidRequest):
        largest_shift(epsilon, delta)
