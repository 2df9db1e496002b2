"""What each law promises beyond the suites: calibrations, errors both ways, refusals."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.core.cost import ORDERS, Distance
from discreet.core.exact import Exact
from discreet.core.mechanism import mechanisms
from discreet.core.price import Price
from discreet.errors import DiscreetError, GridOverflow, InvalidRequest, UnknownName, UnsupportedFormat
from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    NoNoise,
    RandomizedResponse,
    SphericalLaplace,
)
from discreet.mechanisms.additive import Additive
from discreet.statistics import reading

NAN, INF = float("nan"), float("inf")


def test_vector_calibrations_of_laplace() -> None:
    """Mean and variance of 100 values in [5, 10]: sensitivities 0.05 and 0.25 at epsilon 1."""
    assert Laplace.costing("0.05", epsilon=1).scale == Fraction(1, 20)
    both = Laplace.costing(["0.05", "0.25"], epsilon=1)
    assert both.scale == Fraction(3, 10)
    assert both.cost(["0.05", "0.25"]).epsilon == 1
    shared = Laplace.costing(["0.05", "0.25"], epsilon=1, shares=["0.25", "0.75"])
    assert shared.scale == (Fraction(1, 5), Fraction(1, 3))
    assert shared.cost(["0.05", "0.25"]).epsilon == 1


def test_calibrations_of_the_gaussian() -> None:
    """The three calibrations at (0.9, 0.01) for a sensitivity of 0.05, and the joint one of two statistics."""
    for name, scale in (("classical", 0.172640), ("probabilistic", 0.152226), ("analytic", 0.101617)):
        law = Gaussian.costing("0.05", epsilon="0.9", delta="0.01", calibration=name)  # type: ignore[arg-type]
        assert float(law.scale) == pytest.approx(scale, abs=5e-7)  # type: ignore[arg-type]
        cost = law.cost("0.05")
        assert (cost.epsilon, cost.delta) == (Fraction(9, 10), Fraction(1, 100))
    joint = Gaussian.costing([1, 1], epsilon="0.9", delta="0.01")
    assert round(float(joint.scale), 2) == 2.87  # type: ignore[arg-type]
    weighted = Gaussian.costing([1, 2], epsilon="0.9", delta="0.01", shares=[1, 3])
    assert weighted.cost([1, 2]).epsilon == Fraction(9, 10)
    assert weighted.cost([1, 2]).rho == pytest.approx(joint.cost([1, 1]).rho, rel=1e-12)


def test_blocks_of_a_vector_pay_for_themselves() -> None:
    """Two histograms side by side: each pays its own L1 or L2 over its own scale, not that of the whole."""
    both = Distance.joined([Distance.of(1), Distance.of(2)], [3, 2])
    laplace = Laplace.costing(both, epsilon=1, shares=[1, 3])
    assert laplace.scales == (4, 4, 4, Fraction(8, 3), Fraction(8, 3))
    assert laplace.cost(both).epsilon == 1
    gaussian = Gaussian.costing(both, rho="0.5", shares=[1, 3])
    assert gaussian.cost(both).rho == Fraction(1, 2)
    assert len(gaussian.scales) == 5
    assert Gaussian(2).cost(both).rho == Fraction(5, 8)


def test_cost_is_exactly_what_was_asked_and_recomputed_elsewhere() -> None:
    law = Gaussian.costing(1, rho="0.1")
    assert law.cost(1).rho == Fraction(1, 10)
    assert law.cost("0.5").rho < Fraction(26, 1000)
    assert law.cost(2).rho > Fraction(39, 100)
    approximate = Gaussian.costing(1, epsilon=1, delta="1e-5")
    assert approximate.cost(2).epsilon > 2
    assert approximate.cost(2).delta == Fraction(1, 10**5)
    # A false claim in a document is not believed: the profile is asked.
    forged = Gaussian(1, claim=Price("1/10", "1/1000"))
    assert forged.cost(1).epsilon > 2
    forged_rho = DiscreteGaussian(1, claim=Price(rho="1/1000"))
    assert forged_rho.cost(1).rho == Fraction(1, 2)
    forged_response = RandomizedResponse("0.9", ["a", "b"], claim=Price("1/10"))
    assert float(forged_response.cost().epsilon or 0) == pytest.approx(math.log(9))


def test_exponential_oracle() -> None:
    law = Exponential.costing(1, epsilon=1)
    got = [math.exp(law.log_prob(i, [0, 1, 2, 1, 0])) for i in range(5)]
    assert got == pytest.approx([0.124755, 0.205686, 0.339119, 0.205686, 0.124755], abs=5e-7)
    assert law.cost(1).rho == Fraction(1, 8)


def test_utilities_beyond_the_doubles_are_settled_exactly() -> None:
    assert Exponential(10**20).release([1e300, 1.5e300], seed=1) == 1
    assert Exponential(10**20, method="permute_and_flip").release([1e300, 1.5e300], seed=1) == 1


def test_permute_and_flip_is_never_worse() -> None:
    utilities = np.array([0, 1, 5, 2.5, 4.9])
    plain, flip = (Exponential.costing(1, epsilon=1, method=m) for m in ("exponential", "permute_and_flip"))  # type: ignore[arg-type]
    expected = [sum(math.exp(law.log_prob(i, utilities)) * u for i, u in enumerate(utilities)) for law in (plain, flip)]
    assert expected[1] > expected[0]


@pytest.mark.parametrize("law", [Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("scale", ["0.8", 3, 50])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_error_and_scale_both_ways(law: Any, scale: Any, level: float) -> None:
    """The noise stays within ``error(level)`` about that often, and ``within`` finds the scale back."""
    made = law(scale, grid=1)
    reach = 60 * float(made.scale) + 20
    k = np.arange(-math.ceil(reach), math.ceil(reach) + 1)
    mass = np.exp(made.log_prob(k, 0.0))
    error = made.error(level)
    assert mass[np.abs(k) <= error].sum() >= level - 1e-12
    assert error == 0 or mass[np.abs(k) < error].sum() < level + 1e-12
    assert made.quantile(0.3) == -made.quantile(0.7) or mass[k <= made.quantile(0.3)].sum() >= 0.3
    assert math.sqrt((mass * k**2).sum()) == pytest.approx(made.expected_error, rel=0.12 if float(made.scale) < 1 else 0.05)
    if error:
        found = law.within(error, level, grid=1)
        assert found.error(level) <= error
        assert found.scale >= made.scale * Fraction(999, 1000)


def test_error_of_the_fine_grid_is_the_textbook_one() -> None:
    assert Laplace(2).error(0.95) == pytest.approx(2 * math.log(20), rel=1e-6)
    assert Gaussian(2).error(0.95) == pytest.approx(2 * stats.norm.ppf(0.975), rel=1e-6)
    assert Laplace(2).log_prob(1.0, 0.0) == pytest.approx(stats.laplace.logpdf(1, scale=2), abs=1e-12)
    assert Gaussian(2).log_prob(1.0, 0.0) == pytest.approx(stats.norm.logpdf(1, scale=2), abs=1e-12)
    far = Gaussian(1).log_prob(1e4, 0.0)
    assert far == pytest.approx(-5e7, rel=1e-6)
    assert Laplace(1).log_prob(1e6, 0.0) == pytest.approx(-1e6 - math.log(2))
    assert DiscreteGaussian(1).log_prob(1000, 0) == pytest.approx(-5e5, rel=1e-5)
    assert Gaussian([1, 2]).error(0.5).shape == (2,)


def test_laws_of_one_kind_are_multiples_of_one() -> None:
    """What intervals redraw is scaled from it: in every coordinate 90 % of 20,000 draws lie within
    the error of that level, to 5 deviations; on a grid of a third of the scale a little more do."""
    assert Laplace("2.5").unit == Laplace((1, "7.5"), coordinates=2).unit == Laplace(1)
    assert Gaussian.costing(3, epsilon=1, delta="1e-6").unit == Gaussian(1)
    for other in (Laplace(3, grid=1), Laplace((1, 1000), grid=Fraction(1, 2**19)), DiscreteLaplace(2), DiscreteGaussian(2)):
        assert other.unit is None
    for law in (Laplace((1, "7.5")), Gaussian(("0.25", 40)), Laplace(3, grid=1)):
        drawn = np.abs(reading._noise(law, (2,), 20_000))
        assert np.abs((drawn <= law.error(0.9)).mean(0) - 0.9).max() < (0.011 if law.unit else 0.03)


def test_shapes_and_types() -> None:
    assert isinstance(Laplace(1).release(0.5), float)
    assert isinstance(DiscreteLaplace(1).release(5), int)
    assert Laplace(1).release(np.zeros((3, 2))).shape == (3, 2)
    assert Laplace([1, 2]).release(np.zeros((3, 2))).shape == (3, 2)
    assert DiscreteGaussian(2).release(np.array([1, 2])).dtype == np.int64
    exact = Exact(np.array([5, 7]), Fraction(1, 4))
    assert (Laplace("1e-9", grid=Fraction(1, 4)).release(exact, seed=1) == [1.25, 1.75]).all()
    finer, coarser = Exact(np.array([21, -7]), Fraction(1, 16)), Exact(np.array([3, -2]), Fraction(4))
    assert (Laplace("1e-9", grid=Fraction(1, 4)).release(finer, seed=1) == [1.25, -0.5]).all()
    assert (Laplace("1e-9", grid=Fraction(1, 4)).release(coarser, seed=1) == [12, -8]).all()
    assert abs(Laplace("1e-9", grid=Fraction(1, 4)).release(Exact(np.array([2**60]), Fraction(1 << 40)))[0]) == 2.0**60
    assert Laplace(1).release(np.zeros(0)).shape == (0,)
    assert Gaussian(1).release(np.zeros(0)).shape == (0,)
    assert RandomizedResponse.keeping(1, ["a", "b"]).release(np.array(["a", "b"])).tolist() == ["a", "b"]
    assert RandomizedResponse.keeping(1, [0, 1]).release([1, 0, 1]) == [1, 0, 1]


def test_scales_of_a_vector_go_to_their_coordinates() -> None:
    """20,000 rows: the spread of each column is that of its scale, within 10 % (false alarm below 1e-6)."""
    for law in (Laplace([1, 100]), Gaussian([1, 100])):
        spread = law.release(np.zeros((20_000, 2)), seed=3).std(0)
        assert spread == pytest.approx(law.expected_error, rel=0.1)


@given(st.floats(-1e15, 1e15), st.integers(-20, 20))
def test_tiny_noise_returns_the_nearest_grid_value(exact: float, exponent: int) -> None:
    """With hardly any noise the release is the exact value rounded to the grid, whatever the value."""
    grid = Fraction(2) ** exponent
    exact = max(min(exact, float(grid) * 2**61), float(grid) * -(2**61))
    out = Laplace(grid / 10**6, grid=grid).release(exact, seed=0)
    assert abs(out - exact) <= float(grid) * 0.500002 + abs(exact) * 1e-15


def test_whole_numbers_are_never_rounded_to_doubles() -> None:
    """Beyond 2**53 neighbouring integers stay neighbours, and a value just below zero is not rounded to a whole step."""
    law = DiscreteLaplace("0.001")
    for shift in range(126, 131):
        assert law.release(2**60 + shift) == 2**60 + shift
        assert law.release(np.array([2**60 + shift]))[0] == 2**60 + shift
    assert law.release(np.array([2**63], np.uint64))[0] == 2**62
    whole, offset = Laplace(1, grid=1)._split(np.array([-1e-17, -1e-16, -0.5]))
    assert whole.tolist() == [0, 0, 0]
    assert np.asarray(offset).tolist() == [-1e-17, -1e-16, -0.5]


@pytest.mark.parametrize("law", [Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian])
def test_the_least_scale_is_drawn_from_and_less_is_refused(law: type[Additive]) -> None:
    least = law(Fraction(1, 1 << 500), grid=1)
    assert least.release(3, seed=1) == 3
    assert least.release(np.full(9, 3), seed=1).tolist() == [3] * 9
    assert least.expected_error >= 0
    with pytest.raises(GridOverflow, match="smaller epsilon"):
        law(Fraction(1, 1 << 501), grid=1)


def test_a_grid_too_coarse_for_the_exact_value_is_refused() -> None:
    with pytest.raises(GridOverflow, match="coarser"):
        Laplace(1, grid=1 << 40).release(Exact(np.array([-1]), Fraction(1, 1 << 30)))


def test_renyi_curve_of_huge_scales_is_never_below_the_truth() -> None:
    """For small t the divergence is a t**2 / 2 to first order."""
    for scale in (10**9, 10**12, 10**16):
        for order, bound in zip(ORDERS, Laplace(scale).cost(1).curve, strict=True):
            assert bound >= order / scale**2 / 2 * (1 - 1e-6 - 10 * order / scale)


def test_saturation_far_outside_the_grid() -> None:
    law = Laplace(1, grid=Fraction(1, 1 << 20))
    assert law.release(1e300, seed=1) == law.release(1e299, seed=1) < 1e14
    assert law.release(np.array([1e300]), seed=1) == law.release(np.array([1e299]), seed=1)


BAD = [
    lambda: Laplace(0),
    lambda: Laplace(-1),
    lambda: Laplace(NAN),
    lambda: Laplace(INF),
    lambda: Laplace(True),
    lambda: Laplace([]),
    lambda: Laplace("one"),
    lambda: Laplace(1, grid=3),
    lambda: Laplace(1, grid=0),
    lambda: Laplace.costing(1, epsilon=0),
    lambda: Laplace.costing(1, epsilon=-1),
    lambda: Laplace.costing(1, epsilon=NAN),
    lambda: Laplace.costing(1, epsilon=INF),
    lambda: Laplace.costing(0, epsilon=1),
    lambda: Laplace.costing(-1, epsilon=1),
    lambda: Laplace.costing([1, 1], epsilon=1, shares=[1]),
    lambda: Laplace.costing(1, epsilon=1, shares=[1]),
    lambda: Laplace(1).cost(-1),
    lambda: Laplace(1).cost([]),
    lambda: Laplace(1).release(NAN),
    lambda: Laplace(1).release([1.0, INF]),
    lambda: Laplace([1, 2]).release([1.0, 2.0, 3.0]),
    lambda: Laplace([1, 2]).release(1.0),
    lambda: Laplace([1, 2]).release(np.zeros((50_000, 4))),
    lambda: Laplace(1).release(np.full(50_000, NAN)),
    lambda: DiscreteLaplace(1).release(Exact(np.ones(1, np.int64), Fraction(1, 2))),
    lambda: Laplace(1).quantile(1),
    lambda: Laplace(1).error(0),
    lambda: Laplace.within(-1),
    lambda: DiscreteLaplace.within("0.1", grid=1) if DiscreteLaplace("0.001").error() else Laplace(0),
    lambda: Gaussian.costing(1, epsilon=1),
    lambda: Gaussian.costing(1, epsilon=1, delta=0),
    lambda: Gaussian.costing(1, epsilon=1, delta=1),
    lambda: Gaussian.costing(1, epsilon=1, delta=NAN),
    lambda: Gaussian.costing(1, epsilon=1, delta="1e-300"),
    lambda: Gaussian(100, claim=Price("0.4")),
    lambda: Laplace("1e99999999"),
    lambda: Laplace("1" * 6000),
    lambda: Gaussian.costing(1, epsilon=1, delta="0.1", rho=1),
    lambda: Gaussian.costing(1, rho=1, delta="0.1"),
    lambda: Gaussian.costing(1),
    lambda: Gaussian.costing(1, epsilon=1, delta="0.1", calibration="classical"),
    lambda: Gaussian.costing(1, epsilon=1, delta="0.1", calibration="best"),  # type: ignore[arg-type]
    lambda: Gaussian.costing(1, epsilon=1, delta="0.1", shares=[1]),
    lambda: Gaussian.costing([1, 1], epsilon=1, delta="0.1", shares=[1]),
    lambda: DiscreteLaplace(1).release(0.5),
    lambda: DiscreteGaussian.costing(1, rho=0),
    lambda: Exponential(0),
    lambda: Exponential(1, measure=[0, 0]),
    lambda: Exponential(1, measure=[1, -1]),
    lambda: Exponential(1, candidates=[]),
    lambda: Exponential(1, candidates=["a"], measure=[1, 2]),
    lambda: Exponential(1, measure=[1], method="permute_and_flip"),
    lambda: Exponential(1, method="best"),  # type: ignore[arg-type]
    lambda: Exponential(1).release([]),
    lambda: Exponential(1).release([NAN]),
    lambda: Exponential(1, candidates=["a", "b"]).release([1.0]),
    lambda: RandomizedResponse("1.5", ["a", "b"]),
    lambda: RandomizedResponse("0.5", ["a"]),
    lambda: RandomizedResponse("0.5", ["a", "a"]),
    lambda: RandomizedResponse.keeping("0.5", ["a", "b"]).release("c"),
    lambda: RandomizedResponse.costing(epsilon=0, categories=["a", "b"]),
    lambda: SphericalLaplace(1).error(1, dimension=2),
    lambda: SphericalLaplace(1).quantile(0, dimension=2),
]


@pytest.mark.parametrize("bad", BAD)
def test_bad_parameters_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        bad()
    assert len(str(caught.value)) > 15


@pytest.mark.parametrize(
    "bad", [lambda: Laplace(1, grid=Fraction(1, 2**60)), lambda: Laplace("1e-320"), lambda: Gaussian("1e320"),
            lambda: SphericalLaplace(1, grid=Fraction(1, 2**48)).release(np.zeros(100))]
)  # fmt: skip
def test_overflow_of_the_grid_is_refused(bad: Any) -> None:
    with pytest.raises(GridOverflow, match="grid"):
        bad()


def test_documents_with_unknown_or_broken_content_are_refused() -> None:
    with pytest.raises(UnknownName, match=r"no mechanism is called 'os.system'; known: "):
        mechanisms.read({"name": "os.system", "scale": "1"})
    for bad in (
        {"name": "laplace"},
        {"name": "laplace", "scale": "1", "evil": 2},
        {"scale": "1"},
        [],
        None,
        {"name": ["x"]},
    ):
        with pytest.raises(DiscreetError):
            mechanisms.read(bad)
    with pytest.raises(UnsupportedFormat):
        mechanisms.read({"name": "gaussian", "scale": "1", "grid": "1", "claim": {"nonsense": 1}})


def test_no_guarantee_without_noise() -> None:
    exact = Exact(np.array([3, 4]), Fraction(1, 2))
    assert NoNoise("1/2").release(exact).tolist() == [1.5, 2.0]
    assert NoNoise().release(7) == 7
    assert NoNoise().log_prob(7, 7) == 0
    assert NoNoise().log_prob(7, 8) == -INF
    assert not NoNoise().cost(1).is_finite
    assert (NoNoise().error(), NoNoise().quantile(0.9), NoNoise().expected_error) == (0, 0, 0)
    assert not RandomizedResponse.keeping(1, ["a", "b"]).cost().is_finite
    assert Laplace(1).cost(0).epsilon == 0


@pytest.mark.parametrize("grid", ["1", "1/4", "2"])
@pytest.mark.parametrize("law", [Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian])
def test_the_upper_tail_is_the_sum_of_the_cells_beyond(law: Any, grid: str) -> None:
    made, step = law("2.5", grid=grid), float(Fraction(grid))
    cells = step * np.arange(-400.0, 401.0)
    mass = np.exp(np.array([made.log_prob(np.array([k]), np.zeros(1))[0] for k in cells])) * step
    asked = np.array([-4.0, -1.3, 0.0, 0.1, 2.0, 7.5])
    assert made.at_least(asked) == pytest.approx([mass[cells >= t].sum() for t in asked], abs=1e-12)
    assert NoNoise().at_least([-1.0, 0.0, 1e-9]).tolist() == [1, 1, 0]


def test_the_tail_of_wide_noise_on_whole_numbers_needs_no_sum() -> None:
    """Where the normal integral takes over it is the sum of the cells, to 1e-9; of a far wider law it fills no memory."""
    law, at = DiscreteGaussian(10_000), np.array([-25_000.0, 0.0, 10_000.5, 30_000.0])
    assert law.at_least(at) == pytest.approx(super(DiscreteGaussian, law)._tail(np.ceil(at), 1e4), rel=1e-7, abs=1e-9)
    tracemalloc.start()
    assert DiscreteGaussian(10**9).at_least(np.array([10.0**9]))[0] == pytest.approx(0.158655254, abs=1e-8)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 1 << 24
