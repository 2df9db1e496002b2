"""The numbers the laws must reproduce, the hash family, the sphere, and which law is best."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from discreet.core.random import Random
from discreet.local import (
    Cube,
    Duchi,
    Hadamard,
    Hybrid,
    LocalHash,
    OneCoordinate,
    OptimizedUnary,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    Reports,
    SubsetSelection,
    TruncatedLaplace,
    best_mean,
    best_oracle,
)
from discreet.local.local_hash import multiply_shift
from discreet.local.priv_unit import around, directions, height, normals
from discreet.local.truncated_laplace import exact_weights
from tests.local.test_draws import Fixed


@pytest.mark.parametrize(
    ("law", "wanted"),
    [
        (RandomizedResponse, 2.9529),
        (OptimizedUnary, 3.6827),
        (LocalHash, 3.6917),
        (Hadamard, 4.6827),
        (SubsetSelection, 2.5681),
    ],
)
def test_variance_of_oracles(law: type, wanted: float) -> None:
    assert float(law(1, 8).variance()) == pytest.approx(wanted, abs=5e-5)


def test_sizes_of_hash_and_subset() -> None:
    assert LocalHash(1, 8).values == 4
    assert SubsetSelection(1, 8).size == 2


@pytest.mark.parametrize("epsilon", ["0.1", "0.7", "1", "2", "3.3", "5"])
@pytest.mark.parametrize("k", [2, 3, 8, 50, 300])
def test_subset_selection_is_never_worse(epsilon: str, k: int) -> None:
    subset = SubsetSelection(epsilon, k).variance()
    assert subset <= RandomizedResponse(epsilon, k).variance()
    assert subset <= OptimizedUnary(epsilon, k).variance()
    # The best of all sizes, not only of the two tried.
    every = [SubsetSelection(epsilon, k)._variance_of(w) for w in range(1, k)]
    assert subset == min(every)


def test_best_oracle_takes_least_variance_then_least_bytes() -> None:
    assert best_oracle(8, 1) == SubsetSelection(1, 8)
    assert best_oracle(3, 2) == RandomizedResponse(2, 3)  # a subset of one: the same variance in fewer bytes
    assert best_oracle(2, 1) == RandomizedResponse(1, 2)
    assert best_oracle(5000, 1, most_bytes=4) == Hadamard(1, 5000)
    assert best_oracle(100_000, 1, most_bytes=9).name == "hadamard"  # beyond the keys of local hashing
    assert best_oracle(["a", "b"], 1).labels == ("a", "b")


@pytest.mark.parametrize(
    ("epsilon", "duchi", "piecewise", "hybrid", "laplace"),
    [("1", 4.682694, 5.223597, 4.288992, 8.0), ("2", 1.724062, 1.227565, 1.042336, 2.0)],
)
def test_worst_variance_of_means(epsilon: str, duchi: float, piecewise: float, hybrid: float, laplace: float) -> None:
    assert Duchi(epsilon).worst_variance == pytest.approx(duchi, abs=1e-6)
    # Cut into 2^16 cells, of which the band is a whole number.
    assert Piecewise(epsilon).worst_variance == pytest.approx(piecewise, rel=2e-5)
    assert Hybrid(epsilon).worst_variance == pytest.approx(hybrid, rel=2e-5)
    assert hybrid < TruncatedLaplace(epsilon).worst_variance < laplace


@pytest.mark.parametrize(
    "law", [TruncatedLaplace(20), Piecewise(20, cells=30), Hybrid(20, cells=30)], ids=lambda law: law.name
)
def test_values_between_two_places_are_not_biased(law: object) -> None:
    """At epsilon 20 a report is nearly the value, so that 50,000 of them show how it is put between two places: the mean
    within 5.5 standard errors (false alarm 4e-8 each) of four values."""
    for t in (-0.91, -0.313, 0.007, 0.71):
        found = law.estimate(law.reports(np.full(50_000, t), seed=1))
        assert abs(found.value - t) < 5.5 * math.sqrt(float(law.variance(t)) / 50_000)
        assert float(law.variance(t)) < 0.05


@pytest.mark.parametrize("epsilon", ["1/1073741824", "1", "43", "59", "64"])
def test_truncated_laplace_weights_keep_the_ratio(epsilon: str) -> None:
    """Whole numbers of 256 bits were too short: at 59 the farthest answers exceeded e^epsilon by 1e-14."""
    law = TruncatedLaplace(epsilon)
    weights, reach, centres = exact_weights(law.epsilon), law._table.reach, range(-32, 33)
    assert min(weights).bit_length() > 160
    with mpmath.workdps(120):
        most = mpmath.exp(mpmath.mpf(law.epsilon.numerator) / law.epsilon.denominator)
        for j in (-reach, -reach + 1, -33, -32, 0, 32, 33, reach):
            chances = [mpmath.mpf(weights[abs(j - i)]) / law._table.draws[i + 32].total for i in centres]
            assert max(chances) / min(chances) <= most


def test_hybrid_is_duchi_below_its_threshold() -> None:
    assert Hybrid("0.609352").worst_variance == Duchi("0.609352").worst_variance
    assert Hybrid("0.61").share > 0
    assert Hybrid("0.61").worst_variance < Duchi("0.61").worst_variance
    assert float(Hybrid(1).variance(0.9)) == pytest.approx(float(Hybrid(1).variance(0.0)), rel=1e-4)


@pytest.mark.parametrize(
    ("d", "epsilon", "reach"),
    [(2, 1, 3.327907), (3, 4, 1.149259), (4, 1, 4.770542), (27, 1, 12.959831), (100, 4, 6.594421)],
)
def test_reach_of_the_cube(d: int, epsilon: int, reach: float) -> None:
    assert Cube(epsilon, d).reach == pytest.approx(reach, abs=1e-6)


@pytest.mark.parametrize(("epsilon", "one", "cube"), [("0.1", 10818, 16681), ("1", 141.80, 167.96), ("2", 54.1, 43.02)])
def test_worst_variance_in_27_dimensions(epsilon: str, one: float, cube: float) -> None:
    assert OneCoordinate(epsilon, 27).worst_variance == pytest.approx(one, rel=1e-3)
    assert Cube(epsilon, 27).worst_variance == pytest.approx(cube, rel=1e-4)
    assert best_mean(27, epsilon).name == ("one_coordinate" if one < cube else "cube")


def test_best_mean_in_a_ball() -> None:
    assert best_mean(10, 1, radius=2) == PrivUnit(1, 10, 2)
    assert best_mean(1, 1, bounds=(0, 1)).name in {"one_coordinate", "cube"}


def test_hashes_of_two_keys_are_independent() -> None:
    """Keys that differ by 2^15, the hardest: over all multipliers (2^17 of them matter) the second hash is uniform given the
    first; and over all b the first is uniform."""
    multipliers = np.arange(1 << 17, dtype=np.uint64)
    for b in (0, 12345, 2**32 - 1):
        seeds = multipliers | np.uint64(b) << np.uint64(32)
        first, second = multiply_shift(seeds, 0), multiply_shift(seeds, 1 << 15)
        assert len(np.unique(first)) == 1
        assert (np.bincount(second, minlength=1 << 17) == 1).all()
    shifts = np.arange(1 << 17, dtype=np.uint64) << np.uint64(47)
    assert len(np.unique(multiply_shift(shifts | np.uint64(99), 7))) == 1 << 17


def test_local_hash_ratio_given_any_seed() -> None:
    law = LocalHash("1.5", 20)
    largest = []
    for seed in Random(4).words(50):
        answers = np.arange(law.values)
        outputs = Reports(law, {"seed": np.full(law.values, seed, np.uint64), "answer": answers})
        logs = np.array([law.log_prob(outputs, v) for v in range(20)])
        assert np.exp(logs + 64 * math.log(2)).sum(axis=1) == pytest.approx(1, abs=1e-12)
        largest.append(np.abs(logs[:, None] - logs[None]).max())
    # A seed that sends all categories to one value says nothing at all.
    assert max(largest) == pytest.approx(1.5, abs=1e-12)
    assert set(np.round(largest, 9)) <= {0.0, 1.5}


def test_local_hash_supports_others_as_often_as_it_says() -> None:
    """200,000 reports of one value at g = 4 and 8: supports of the truth and of others, each within 5.5 standard errors
    (false alarm 4e-8 each, 24 of them)."""
    for law in (LocalHash(1, 12), LocalHash(2, 12)):
        n = 200_000
        seen = law.tally(law.reports(np.full(n, 5), seed=3)).sums / n
        wanted = np.where(np.arange(12) == 5, float(law.keep), float(law.stray))
        assert (np.abs(seen - wanted) < 5.5 * np.sqrt(wanted * (1 - wanted) / n)).all()
        # The exact q: equal shares of the hashes make it 1/g, uneven ones a little more than that.
        assert float(law.stray) == pytest.approx(1 / law.values, rel=1e-6)


@pytest.mark.parametrize(
    ("d", "epsilon", "mean"), [(2, 1, 0.308287), (3, 1, 0.244919), (10, 1, 0.128318), (100, 4, 0.151068)]
)
def test_cap_of_priv_unit(d: int, epsilon: int, mean: float) -> None:
    cap = PrivUnit(epsilon, d).cap
    assert cap.mean == pytest.approx(mean, abs=1e-6)
    threshold = float(height(np.array([cap.share]), d)[0][0])
    assert threshold == pytest.approx(cap.mean, abs=1e-6)
    # The density ratio between the cap and the rest, as exact rationals, with what the dither costs, is within e^epsilon.
    share = Fraction(cap.share)
    ratio = cap.inside / share / ((1 - cap.inside) / (1 - share))
    law = PrivUnit(epsilon, d)
    assert ratio == law.odds
    assert math.log(ratio) + float(law._excess) <= epsilon
    assert math.log(ratio) == pytest.approx(epsilon, abs=d * 2.0**-29)


def test_heights_invert_the_area_of_the_cap() -> None:
    """Against the forward function, from the pole (a share of 1e-100) to the equator: far within the 2^-40 = 9e-13 that the
    dither covers. Near the pole sqrt(1 - t^2) carries the digits, near the equator t."""
    for d in (2, 3, 4, 11, 500):
        share = np.concatenate((np.logspace(-100, -1, 100), np.linspace(0.1, 0.2499, 60)))
        t, s = height(share, d)
        np.testing.assert_allclose(special.betainc((d - 1) / 2, 0.5, s * s), 2 * share, rtol=1e-13 * d)
        np.testing.assert_allclose(t * t + s * s, 1, atol=1e-15)
        middle = np.linspace(0.25, 0.5, 50)
        t, s = height(middle, d)
        np.testing.assert_allclose(special.betainc(0.5, (d - 1) / 2, t * t), 1 - 2 * middle, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(t * t + s * s, 1, atol=1e-15)
    # In two dimensions the share is an angle over pi, in three the height is linear in it: both ends are known exactly.
    share = np.concatenate((np.logspace(-12, -1, 40), np.linspace(0.1, 0.5, 40)))
    t, s = height(share, 2)
    np.testing.assert_allclose(t, np.cos(np.pi * share), atol=1e-15)
    np.testing.assert_allclose(s, np.sin(np.pi * share), rtol=1e-14)
    np.testing.assert_allclose(height(share, 3)[0], 1 - 2 * share, atol=1e-15)


def test_vectors_around_a_direction() -> None:
    random = Random(2)
    for d in (2, 3, 30):
        u = normals(random, 200 * d).reshape(200, d)
        u /= np.sqrt((u**2).sum(1, keepdims=True))
        u[0] = np.eye(d)[0]
        u[1] = -np.eye(d)[0]
        t = np.linspace(-1, 1, 200)
        v = around(random, u, t, np.sqrt((1 - t) * (1 + t)))
        np.testing.assert_allclose((v * u).sum(1), t, atol=2.0**-45)
        np.testing.assert_allclose((v**2).sum(1), 1, atol=2.0**-45)


@pytest.mark.parametrize("d", [2, 3, 50, 1 << 14])
def test_short_vectors_stay_on_the_sphere(d: int) -> None:
    """Squares of 1e-162 are no doubles; a direction made of their sum would leave the sphere and give the vector away."""
    shapes = [np.eye(d)[0], np.full(d, -1.0), 2.0 ** -np.minimum(np.arange(d), 1000), normals(Random(d), d)]
    sizes = [0.0, 5e-324, 1e-310, 1.6e-162, 1e-154, 2.0**-410, 2.0**-400, 1e-8, 1.0, 1e100]
    rows = np.array([size * shape for size in sizes for shape in shapes])
    for order in "CF":
        u, length = directions(np.array(rows, order=order))
        assert max(abs(math.fsum(v * v for v in row) - 1) for row in u.tolist()) < 2.0**-45
        assert (length >= 0).all()
    law = PrivUnit("0.1", d)
    encoded = law.encode(rows)
    assert not encoded[: 6 * len(shapes)].any()  # by the public rule, below 2^-400
    assert encoded[7 * len(shapes) :].any(axis=1).all()
    sent = law.reports(rows, seed=1).columns["vector"] / 2.0**15
    np.testing.assert_allclose(np.sqrt((sent**2).sum(1)), 1, atol=0.06)


def test_a_vector_short_beside_a_large_radius_is_not_given_away() -> None:
    law = PrivUnit("0.1", 2, 10**162)
    for x in (1.0, 1.6, 2.0, 3.0, 1e300):
        sent = law.reports(np.tile([x, 0.0], (2000, 1)), seed=3).columns["vector"] / 2.0**15
        assert np.sqrt((sent**2).sum(1)).min() > 0.95
    far = PrivUnit(1, 2, "1e-300").encode([[1e300, -math.inf]])
    np.testing.assert_allclose(far, [[math.sqrt(0.5), -math.sqrt(0.5)]])
    law = PrivUnit(4, 2)
    zeros = law.log_prob(law.reports(np.zeros((50, 2)), seed=1), np.zeros(2))
    assert zeros.max() > zeros.min()  # the first axis, either way, stands for it


@pytest.mark.parametrize("tiny", [0, 1, 5, 2**30])
def test_small_normals_keep_their_digits(tiny: int) -> None:
    """Both the radius and the angle off the axis near zero: such a word is continued by a second one."""
    more = 3 << 62
    given = [[1 << 63, tiny, more], [tiny, 1 << 63, more]]
    for words in given:
        u = [Fraction(w, 1 << 64) if w != tiny else Fraction(w << 64 | more, 1 << 128) for w in words[:2]]
        made = normals(Fixed([*words, 0]), 2)  # all coins down: above one half, first eighth
        with mpmath.workdps(60):
            half, angle = mpmath.mpf(u[0].numerator) / u[0].denominator / 2, mpmath.mpf(u[1].numerator) / u[1].denominator
            radius = mpmath.sqrt(-2 * mpmath.log(1 - half))
            exact = (radius * mpmath.cos(angle * mpmath.pi / 4), radius * mpmath.sin(angle * mpmath.pi / 4))
            assert all(abs(m / e - 1) < mpmath.mpf(2) ** -48 for m, e in zip(made.tolist(), exact, strict=True))


def test_normals_in_all_eighths() -> None:
    """Angles of 40,000 pairs are uniform on the circle; false alarm 1e-6."""
    x, y = normals(Random(8), 80_000).reshape(2, -1)
    assert stats.kstest(np.arctan2(y, x) / (2 * math.pi) + 0.5, "uniform").pvalue > 1e-6


def test_normals_are_normal() -> None:
    """Kolmogorov and Smirnov over 100,000; false alarm 1e-6."""
    made = normals(Random(5), 100_000)
    assert stats.kstest(made, "norm").pvalue > 1e-6


@pytest.mark.parametrize(("d", "epsilon"), [(2, "1"), (3, "2"), (20, "4")])
def test_priv_unit_samples(d: int, epsilon: str) -> None:
    """40,000 reports: mean, squared error and share of the cap within 5.5 standard errors (false alarm 4e-8 each)."""
    law, n = PrivUnit(epsilon, d, 3), 40_000
    x = np.zeros(d)
    x[-1], x[0] = 1.8, -2.4  # on the sphere of radius 3
    sent = law.reports(np.tile(x, (n, 1)), seed=6)
    z = sent.columns["vector"] / (1 << 15) / law.cap.mean * 3
    assert (np.abs(z.mean(0) - x) < 5.5 * z.std(0) / math.sqrt(n)).all()
    error = ((z - x) ** 2).sum(1)
    assert abs(error.mean() - 9 * (1 / law.cap.mean**2 - 1)) < 5.5 * error.std() / math.sqrt(n) + 1e-3 * error.mean()
    along = z @ x / 3 / np.sqrt((z**2).sum(1))
    share = (along >= law.cap.mean).mean()
    # The dither moves a few vectors over the edge of the cap: it is 2^-8 of a radius wide.
    assert abs(share - float(law.cap.inside)) < 5.5 / math.sqrt(4 * n) + 0.01
    found = law.estimate(sent)
    assert found.value == pytest.approx(z.mean(0))


def test_priv_unit_inside_the_ball() -> None:
    """Half way out the mean is still the value: 40,000 reports within 5.5 standard errors; at 0 the direction is free."""
    law, n = PrivUnit(2, 3), 40_000
    for x in ([0.3, 0.0, -0.4], [0.0, 0.0, 0.0]):
        found = law.estimate(law.reports(np.tile(x, (n, 1)), seed=8))
        assert (np.abs(found.value - x) < 5.5 * found.standard_error).all()


def test_priv_unit_log_ratio() -> None:
    law = PrivUnit(1, 4)
    sent = law.reports(np.tile([0, 0, 1.0, 0], (500, 1)), seed=1)
    values = [[0, 0, 1, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0.1, 0, 0.1, 0], [0, 0, 0, 0]]
    logs = np.array([law.log_prob(sent, v) for v in values])
    largest = np.abs(logs[:, None] - logs[None]).max()
    assert largest == pytest.approx(1, abs=1e-7)
    assert largest <= 1
