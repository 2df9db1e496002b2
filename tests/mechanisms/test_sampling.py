"""The samplers themselves: ten million draws against the law, the slow path against the fast one, accuracy of NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from discreet.core.random import Random
from discreet.mechanisms import Gaussian, Laplace, SphericalLaplace
from discreet.mechanisms.discrete_gaussian import total_weight
from discreet.mechanisms.sampling import digits, exponential_draws, normal_draws, race, sphere, uniform

FINE = Fraction(1 << 24)
DRAWS = 10_000_000


def check_cells(draws: np.ndarray, upper: np.ndarray, above: np.ndarray) -> None:
    """Chi-squared of counts between the ends ``upper``, where ``above`` is P(draw > end); false alarm 1e-6."""
    inside = np.searchsorted(upper, draws, side="left")
    seen = np.bincount(inside, minlength=upper.size + 1)
    expected = -np.diff(np.concatenate([[1.0], above, [0.0]])) * draws.size
    assert (expected > 5).all()
    assert stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), seen.size - 1) > 1e-6


TAILS = np.concatenate([np.logspace(-6, -2, 13), np.linspace(0.02, 0.98, 97), 1 - np.logspace(-2, -6, 13)])


@pytest.mark.parametrize(
    ("sampler", "law"),
    [(exponential_draws.laplace, stats.laplace), (normal_draws.gaussian, stats.norm)],
    ids=["laplace", "gaussian"],
)
@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_ten_million_rounded_draws(sampler: Callable[..., np.ndarray], law: stats.rv_continuous, offset: float) -> None:
    """Cells down to one in a million at both ends: the draws are round(offset + s X)."""
    draws = sampler(Random(11), [FINE], DRAWS if not offset else DRAWS // 10, offset)
    levels = TAILS if not offset else TAILS[(TAILS > 2e-5) & (TAILS < 1 - 2e-5)]
    ends = np.floor(law.ppf(levels) * float(FINE))
    above = law.sf((ends + 0.5 - offset) / float(FINE))
    check_cells(draws, ends, above)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10**9, 7)])
def test_draws_one_by_one_are_those_of_an_array(scale: Fraction) -> None:
    """The same words make the same noise, so the law is the same one."""
    random = Random(5)
    alone = [exponential_draws.one_discrete_laplace(random, scale) for _ in range(1000)]
    assert alone == exponential_draws.discrete_laplace(Random(5), scale, 1000).tolist()


@pytest.mark.parametrize("power", [3, 15, 17, 40, 300])
def test_hardly_any_noise_costs_hardly_any_digits(power: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a huge price noise is next to none and draws stay as cheap: an analyst may preview any price.

    Chance that one of 50,000 whole draws is no zero, or that as many doubles leave more than ten open: below 1e-9.
    """
    scale, settled = Fraction(1, 10**power), []

    def settle(random: Random, uniforms: list[digits.Digits], decide: Callable[[], int]) -> int:
        answer = settle_in_truth(random, uniforms, decide)
        settled.append(uniforms[0].bits)
        return answer

    settle_in_truth = digits.settle
    monkeypatch.setattr(digits, "settle", settle)
    assert not exponential_draws.discrete_laplace(Random(1), scale, 50_000).any()
    assert not exponential_draws.geometric(Random(2), scale, 50_000).any()
    assert len(settled) <= 10
    assert {exponential_draws.one_discrete_laplace(Random(n), scale) for n in range(100)} == {0}
    for offset, near in ((0.5, {0, 1}), (-0.5, {-1, 0}), (0.0, {0})):
        assert set(exponential_draws.laplace(Random(3), [scale], 100, offset).tolist()) == near
        assert set(normal_draws.gaussian(Random(3), [scale], 100, offset).tolist()) == near
    assert max(settled, default=0) < 300


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10), Fraction(1000), Fraction(7, 3), Fraction(1, 3)])
@pytest.mark.parametrize("law", ["laplace", "gaussian", "geometric"])
def test_discrete_draws(law: str, scale: Fraction) -> None:
    """Two million draws of each discrete law at a whole and at a broken scale."""
    s, size = float(scale), 2_000_000
    reach = math.ceil(40 * s) + 5
    k = np.arange(-reach, reach + 1)
    if law == "laplace":
        draws, mass = exponential_draws.discrete_laplace(Random(5), scale, size), np.tanh(0.5 / s) * np.exp(-np.abs(k) / s)
    elif law == "gaussian":
        draws = normal_draws.discrete_gaussian(Random(5), scale, size)
        mass = np.exp(-0.5 * (k / s) ** 2) / total_weight(s)
    else:
        draws, mass = (
            exponential_draws.geometric(Random(5), scale, size),
            np.where(k < 0, 0, -np.expm1(-1 / s) * np.exp(-k / s)),
        )
    at_or_above = np.cumsum(mass[::-1])[::-1]
    above = np.append(at_or_above[1:], 0)
    # Merge cells until each expects at least 20 draws.
    ends, tails, last = [], [], 1.0
    for end, tail in zip(k, above, strict=True):
        if (last - tail) * size >= 20 and tail * size >= 20:
            ends.append(end)
            tails.append(tail)
            last = tail
    check_cells(draws, np.array(ends), np.array(tails))


@pytest.mark.parametrize(
    "draw",
    [
        lambda r: exponential_draws.laplace(r, [FINE], 300, np.linspace(0, 0.99, 300)),
        lambda r: exponential_draws.laplace(r, [FINE, FINE / 3], 300),
        lambda r: exponential_draws.geometric(r, Fraction(7, 3), 300),
        lambda r: normal_draws.gaussian(r, [FINE, FINE * 5], 300, 0.25),
        lambda r: sphere.spherical_laplace(r, FINE, 7, 0.25),
        lambda r: sphere.spherical_laplace(r, FINE, 120),
        lambda r: exponential_draws.exceeds(
            r, np.linspace(0.1, 3, 300), np.zeros(300), lambda i: Fraction(299 + 29 * i, 2990)
        ),
    ],
    ids=["laplace", "laplace-scales", "geometric", "gaussian", "sphere", "wide sphere", "exceeds"],
)  # fmt: skip
def test_slow_path_agrees_with_fast(draw: Callable[[Random], np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words, every draw sent to the exact intervals: nothing may change."""
    fast = draw(Random(2))
    settled: list[int] = []
    original = digits.settle

    def counting(*args: object) -> object:
        settled.append(1)
        return original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(digits, "settle", counting)
    for module in (exponential_draws, normal_draws, sphere):
        monkeypatch.setattr(module, "undecided", lambda nearest, values, error, own: list(range(values.size)))
    monkeypatch.setattr(exponential_draws, "exponential_error", lambda least: math.inf)
    slow = draw(Random(2))
    assert settled
    assert (fast == slow).all()


def test_error_bounds_cover_the_doubles() -> None:
    """The value in doubles is within the stated bound of 60-digit decimals, for 3,000 polar pairs."""
    pairs = normal_draws.Pairs(Random(4), 3000)
    worst = 0.0
    with localcontext() as context:
        context.prec = 60
        for i in range(pairs.count):
            for near, (low, high) in zip(pairs.values[:, i], pairs.intervals(i), strict=True):
                worst = max(worst, abs(float(Decimal(float(near)) - low)), abs(float(Decimal(float(near)) - high)))
    assert 0 < worst <= pairs.error
    assert pairs.error < 1e-12


@pytest.mark.parametrize("function", ["log", "sqrt"])
def test_numpy_is_as_accurate_as_assumed(function: str) -> None:
    """NumPy's log and sqrt against 40-digit decimals on (0, 1], close to 1 included: within ULPS units."""
    x = np.concatenate(
        [uniform.magnitudes(Random(9).words(20_000)), 1 - np.logspace(-15, -1, 4000), np.logspace(-19, 0, 4000)]
    )
    got = getattr(np, function)(x)
    with localcontext() as context:
        context.prec = 40
        exact = [getattr(Decimal(float(v)), "ln" if function == "log" else "sqrt")() for v in x]
        off = [
            abs(Decimal(float(g)) - e) / Decimal(float(np.spacing(abs(g)) or 1e-300))
            for g, e in zip(got, exact, strict=True)
        ]
    assert max(off) <= uniform.ULPS


def test_pairs_next_to_the_edge_of_the_disc_are_settled_by_more_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """(0.6, 0.8) lies on the edge: of 400 such pairs between others those inside are kept (false alarm 1e-6).

    The bits not seen, U and V, are inside where 0.6 U + 0.8 V < 0.8: with probability 5/8.
    """
    edge, inside, outside = ((6, 8), (3, 4), (8, 8))
    given = [inside, *[edge] * 400, outside, inside]
    words = np.array([(tenths << 63) // 10 << 1 for tenths in np.transpose(given).reshape(-1).tolist()], np.uint64)
    monkeypatch.setattr(Random, "words", lambda self, n: words)
    pairs = normal_draws.Pairs(Random(5), len(given))
    kept = pairs.count - 2
    assert stats.binomtest(kept, 400, 0.625).pvalue > 1e-6
    for i in range(1, kept + 1):
        v, w = (each.interval() for each in pairs.digits(i))
        assert v[1] * v[1] + w[1] * w[1] < 1
    assert pairs.digits(0)[0].head == pairs.digits(kept + 1)[0].head == (3 << 63) // 10
    assert (pairs.values[:, 0] == pairs.values[:, -1]).all()
    assert pairs.error == math.inf  # nothing is known in doubles of one of them, so each is looked at alone
    assert np.isfinite(pairs.errors[[0, -1]]).all()


def test_huge_scales_take_the_exact_path() -> None:
    """At the largest scale many roundings need more digits; 1,000 draws follow the law (KS, false alarm 1e-6)."""
    for sampler, law in ((exponential_draws.laplace, stats.laplace), (normal_draws.gaussian, stats.norm)):
        draws = sampler(Random(1), [uniform.LARGEST], 1000) / float(uniform.LARGEST)
        assert stats.kstest(draws, law.cdf).pvalue > 1e-6


def test_bernoulli_of_rationals_and_of_exponentials() -> None:
    """A million draws each: binomial at false alarm 1e-6."""
    for p in (Fraction(1, 3), Fraction(1, 10**6), Fraction(999, 1000), Fraction(1), Fraction(0)):
        hits = int(uniform.bernoulli(Random(3), p, 10**6).sum())
        assert stats.binomtest(hits, 10**6, float(p)).pvalue > 1e-6
    for x in (Fraction(0), Fraction(1, 7), Fraction(3), Fraction(12)):
        hits = int(exponential_draws.bernoulli_exp(Random(3), x, 10**6).sum())
        assert stats.binomtest(hits, 10**6, math.exp(-x)).pvalue > 1e-6


def test_uniform_below_is_uniform() -> None:
    draws = uniform.below(Random(8), 7, 700_000)
    assert stats.chisquare(np.bincount(draws, minlength=7)).pvalue > 1e-6
    values = [Random(8).below(10**30) for _ in range(3)]
    assert all(0 <= v < 10**30 for v in values)


def test_bernoulli_reads_beyond_the_first_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first 64 bits equal those of p, the rest of p decides."""
    p = Fraction(1, 3)
    whole = (1 << 64) // 3
    monkeypatch.setattr(Random, "words", lambda self, n: np.full(n, whole, np.uint64))
    rest = [bool(uniform.bernoulli(Random(s), p, 1)[0]) for s in range(3000)]
    assert stats.binomtest(sum(rest), 3000, 1 / 3).pvalue > 1e-6


def test_race_settles_ties_by_more_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal first words: more digits are drawn, and the winner is fair (400 runs, false alarm 1e-6)."""
    monkeypatch.setattr(Random, "words", lambda self, n: np.full(n, 1 << 62, np.uint64))
    random = Random(6)
    for draw in (race.gumbel, race.exponential):
        zero = lambda i: digits.exactly(Fraction(0))  # noqa: E731
        wins = sum(draw(random, np.zeros(2), np.zeros(2), zero) for _ in range(400))
        assert stats.binomtest(wins, 400, 0.5).pvalue > 1e-6


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_spherical_laplace(dimension: int) -> None:
    """Length Gamma(d) and one coordinate against its quantiles: KS over 4,000 draws, false alarm 1e-6."""
    law, random = SphericalLaplace("0.7"), Random(12)
    draws = np.array([law.release(np.zeros(dimension), seed=random) for _ in range(4000)])
    lengths = np.sqrt((draws**2).sum(1)) / 0.7
    assert stats.kstest(lengths, stats.gamma(dimension).cdf).pvalue > 1e-6
    for p in (0.025, 0.3, 0.9, 0.99):
        below = int((draws[:, -1] <= law.quantile(p, dimension=dimension)).sum())
        assert stats.binomtest(below, 4000, p).pvalue > 1e-6
    assert law.quantile(0.5, dimension=dimension) == 0
    within = int((lengths * 0.7 <= law.error(0.9, dimension=dimension)).sum())
    assert stats.binomtest(within, 4000, 0.9).pvalue > 1e-6
    spread = draws[:, 0].std() / law.expected_error(dimension=dimension)
    assert abs(spread - 1) < 0.15


@pytest.mark.parametrize("dimension", [1, 3])
def test_a_direction_that_is_not_known_is_decided_by_more_digits(dimension: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Normals smaller than their own error: every number is doubtful, whatever its value."""
    pairs = SimpleNamespace(values=np.full((2, 2), 1e-16), errors=np.full(2, 1e-14))
    asked: list[list[int]] = []
    monkeypatch.setattr(sphere, "_enough_pairs", lambda *_: pairs)
    monkeypatch.setattr(sphere, "_settle", lambda *given: asked.append(given[-1]) or [0] * len(given[-1]))
    sphere.spherical_laplace(Random(1), Fraction(1, 1000), dimension)
    assert asked == [[*range(dimension)]]


def test_spherical_density_integrates_to_one() -> None:
    law = SphericalLaplace("0.5")
    x = np.linspace(-12, 12, 1201)
    points = np.stack(np.meshgrid(x, x), -1)
    assert np.exp(law.log_prob(points, np.zeros(2))).sum() * (x[1] - x[0]) ** 2 == pytest.approx(1, abs=1e-3)
    assert law.cost(2).epsilon == 4


def test_outputs_stay_on_the_grid_whatever_the_input() -> None:
    """Neighbouring real inputs give outputs on one and the same grid: no low bits betray the input."""
    for law in (Laplace("0.37"), Gaussian("0.37"), SphericalLaplace("0.37")):
        for exact in (0.1, 0.1 + 2**-40, 1e-9, -123.456):
            out = law.release(np.full(200, exact), seed=1)
            steps = out / float(law.grid)
            assert (steps == np.rint(steps)).all()
