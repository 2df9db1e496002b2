"""Whole numbers stay whole from the clip to the release: low bits at the largest scale, for every law and path."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as ds
from discreet.core.exact import Exact
from discreet.core.mechanism import mechanisms
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.errors import BudgetExceeded, GridOverflow, InvalidRequest, UnsupportedFormat
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, Laplace, SphericalLaplace
from discreet.mechanisms.additive import Gridded
from discreet.mechanisms.sampling import digits, exponential_draws, uniform
from discreet.mechanisms.tulap import Tulap

LARGEST = uniform.LARGEST
LAWS = [Laplace(LARGEST, grid=1), Gaussian(LARGEST, grid=1), DiscreteLaplace(LARGEST), DiscreteGaussian(LARGEST)]
LAWS += [SphericalLaplace(LARGEST / 8, grid=1)]  # in eight dimensions
every = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
OFFSETS = [0, 1, -7, 2**53 + 1, 2**61 - 3]


def draw(law: Any, exact: int, count: int, random: Random) -> np.ndarray:
    """``count`` releases around a whole number, eight to a vector where the law is one of vectors."""
    if isinstance(law, SphericalLaplace):
        rows = [law.release(np.full(8, exact, np.int64), seed=random) for _ in range(count // 8)]
        return np.concatenate(rows)
    return np.asarray(law.release(np.full(count, exact, np.int64), seed=random))


def check_low_bits(draws: np.ndarray) -> None:
    """The last three bits are uniform: chi-squared at a false alarm of 1e-7 a call."""
    assert draws.dtype == np.int64
    assert stats.chisquare(np.bincount(draws & 7, minlength=8)).pvalue > 1e-7


def test_every_gridded_law_is_here() -> None:
    known = {mechanisms[name] for name in mechanisms}
    # Tulap is a discrete Laplace draw, which is here, and a uniform number beside it.
    assert {type(law) for law in LAWS} == {kind for kind in known if issubclass(kind, Gridded)} - {Tulap}


@every
@pytest.mark.parametrize("exact", OFFSETS)
def test_low_bits_at_the_largest_scale(law: Any, exact: int) -> None:
    """4,000 draws (1,600 of the vector law) around each of five values of either parity; 25 calls, false alarm 1e-7 each."""
    check_low_bits(draw(law, exact, 1600 if isinstance(law, SphericalLaplace) else 4000, Random(21)))


@pytest.mark.parametrize("law", [Laplace(LARGEST, grid=1), DiscreteLaplace(LARGEST)], ids=lambda law: law.name)
@pytest.mark.parametrize("shift", [30, 50, 63])
def test_low_bits_of_the_far_tail(law: Any, shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Magnitudes whose first bits are zeros, up to all 63 of them: noise of 20 to 44 scales and more keeps its parity.

    400 draws, 6 calls, false alarm 1e-7 each.
    """
    original = Random.words

    def small(self: Random, count: int) -> np.ndarray:
        words = original(self, count)
        return (words >> np.uint64(1) >> np.uint64(shift) << np.uint64(1)) | (words & np.uint64(1))

    monkeypatch.setattr(Random, "words", small)
    draws = draw(law, 0, 400, Random(22))
    assert np.abs(draws).min() > float(LARGEST) * shift * math.log(2) * 0.99
    check_low_bits(draws)


@every
@given(exact=st.integers(-(2**61), 2**61), seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_a_neighbour_moves_the_release_by_one(law: Any, exact: int, seed: int) -> None:
    """With the same noise, on every path that a whole number takes: a list, an array of either sign, exact counts."""
    ways = [
        lambda c: np.full(8, c, np.int64),
        lambda c: [c] * 8,
        lambda c: Exact(np.full(8, c, np.int64)),
        lambda c: np.full((2, 4), c, np.int64),
    ]
    if exact >= 0:
        ways.append(lambda c: np.full(8, c, np.uint64))
    for way in ways:
        apart = np.asarray(law.release(way(exact + 1), seed=seed)) - np.asarray(law.release(way(exact), seed=seed))
        assert (apart == 1).all()
    if not isinstance(law, SphericalLaplace):
        assert law.release(exact + 1, seed=seed) - law.release(exact, seed=seed) == 1
        assert isinstance(law.release(exact, seed=seed), int)
        small = float(exact >> 10)
        assert law.release(small + 1, seed=seed) - law.release(small, seed=seed) == 1
    coarse = Exact(np.full(8, exact >> 4, np.int64), Fraction(8))
    moved = Exact(np.full(8, (exact >> 4) + 1, np.int64), Fraction(8))
    assert (np.asarray(law.release(moved, seed=seed)) - np.asarray(law.release(coarse, seed=seed)) == 8).all()


@given(total=st.integers(-(2**61), 2**61), parity=st.integers(0, 1))
@settings(max_examples=30, deadline=None)
def test_a_double_is_made_of_the_sum_only(total: int, parity: int) -> None:
    """On a fine grid the release is the double next to (count + noise) steps: rounding comes after the noise."""
    law = Laplace(1, grid=Fraction(1, 1 << 30))
    noise = law._noise(Random(5), law._steps, 4, 0.0)
    released = law.release(Exact(np.full(4, total + parity, np.int64), law.grid), seed=5)
    assert released.tolist() == [float(total + parity + int(k)) * 2.0**-30 for k in noise]


@pytest.mark.parametrize("law", LAWS[:4], ids=lambda law: law.name)
@given(exact=st.integers(-(2**61), 2**61), apart=st.integers(-(2**20), 2**20))
@settings(max_examples=20, deadline=None)
def test_log_prob_sees_neighbours_beyond_the_doubles(law: Any, exact: int, apart: int) -> None:
    """It depends on the difference alone, and neighbours differ, whatever the size of the whole numbers."""
    narrow = type(law)(3, grid=1)
    want = narrow.log_prob(apart, 0)
    for released in (exact + apart, np.int64(exact + apart)):
        assert narrow.log_prob(released, exact) == want
    assert narrow.log_prob(np.array([exact + apart]), Exact(np.array([exact])))[0] == want
    assert narrow.log_prob(2**62, -(2**62)) < -1e17


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=5))
def test_documents_keep_every_bit(values: list[int]) -> None:
    law = DiscreteLaplace(2)
    again = Release.from_json(Release(np.array(values, np.int64), law).to_json())
    assert again.value.dtype == np.int64
    assert again.value.tolist() == values
    assert Release.from_json(Release(values[0], law).to_json()).value == values[0]


@pytest.mark.parametrize("value", ["[9223372036854775808, -1]", "[4611686018427387905, 0.5]"])
def test_a_document_whose_whole_numbers_would_become_doubles_is_refused(value: str) -> None:
    text = Release(np.array([0]), DiscreteLaplace(2)).to_json().replace('"value": [0]', f'"value": {value}')
    with pytest.raises(UnsupportedFormat, match="whole numbers"):
        Release.from_json(text)


@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian, SphericalLaplace])
def test_larger_scales_are_refused_when_declared(kind: Any) -> None:
    kind(LARGEST, grid=1)
    kind(LARGEST * 4, grid=4)
    with pytest.raises(GridOverflow, match="larger epsilon"):
        kind(LARGEST + 1, grid=1)
    price = {"rho": "1e-40"} if kind in (DiscreteGaussian, Gaussian) else {"epsilon": "1e-20"}
    with pytest.raises(GridOverflow):
        kind.costing(1, **price, grid=1)


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-13", "1e-17", "1e-25", "1e-200"])
@pytest.mark.parametrize("ask", ["count", "sum", "mean", "variance", "histogram", "median"])
def test_a_very_small_epsilon_answers_at_once_or_is_refused_before_it_is_paid(ask: str, epsilon: str) -> None:
    """At most a twentieth of the draws behind an answer and its interval need more digits, at any scale."""
    session = ds.Session(
        {"x": [1.0, 2.0, 3.0]},
        schema=ds.Schema({"x": ds.Real(0, 4)}),
        budget=ds.Budget(epsilon=1),
        ledger="test",
        seed=1,
    )
    settled: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        original = digits.settle
        patch.setattr(digits, "settle", lambda *a: (settled.append(1), original(*a))[1])
        try:
            found = getattr(session, ask)(*(() if ask == "count" else ("x",)), epsilon=epsilon)
            found.interval(0.9)
        except (GridOverflow, BudgetExceeded):
            assert session.ledger.spent().epsilon == 0
    assert len(settled) < 3000


@pytest.mark.parametrize("law", [*LAWS[:4], SphericalLaplace(1)], ids=lambda law: law.name)
def test_few_draws_need_more_digits(law: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the largest scale, and for vectors on the grid they have, at most one draw in ten goes to the exact intervals."""
    settled: list[int] = []
    original = digits.settle
    monkeypatch.setattr(digits, "settle", lambda *a: (settled.append(1), original(*a))[1])
    law.release(np.zeros(4000), seed=3)
    assert len(settled) < 400


@given(offset=st.floats(-0.5, 0.5), seed=st.integers(0, 2**32), bits=st.integers(-10, 42))
@settings(max_examples=60, deadline=None)
def test_one_draw_is_the_draw_of_the_array(offset: float, seed: int, bits: int) -> None:
    """Word for word: the path without arrays, the path with them, and the one of exact intervals."""
    scale = Fraction(2) ** bits * Fraction(2, 3)
    one, many = Random(seed), Random(seed)
    for _ in range(5):
        alone = exponential_draws.one_laplace(one, scale, float(scale), offset)
        assert alone == exponential_draws.laplace(many, [scale], 1, offset)[0]
    with pytest.MonkeyPatch.context() as patch:
        fast = exponential_draws.one_laplace(Random(seed), scale, float(scale), offset)
        patch.setattr(exponential_draws, "_error", lambda near, least: math.inf)
        assert exponential_draws.one_laplace(Random(seed), scale, float(scale), offset) == fast


def test_the_logarithm_of_one_number_is_as_accurate_as_assumed() -> None:
    """3,000 magnitudes of every size against 40 digits."""
    sizes = np.random.default_rng(1).integers(0, 63, 3000)
    values = [(Random(int(i)).word() >> 1 >> int(s) | 1) * uniform.SPAN for i, s in enumerate(sizes)]
    with localcontext() as context:
        context.prec = 40
        off = [abs(Decimal(math.log(v)) - Decimal(v).ln()) / Decimal(math.ulp(math.log(v)) or 1) for v in values]
    assert max(off) <= uniform.ULPS


MADE = [
    Laplace.costing([1, 1], epsilon=1), Laplace.costing(["0.05", "0.25"], epsilon=1, grid=1),
    Laplace.costing([1, 1], epsilon=1, shares=[1, 3]), DiscreteLaplace.costing([1, 2], epsilon=1),
    DiscreteGaussian.costing([1, 2], rho=1), SphericalLaplace.costing([1, 2], epsilon=1),
    Gaussian.costing([1, 1], rho=1), Gaussian.costing([1, 2], epsilon=1, delta="1e-6"),
]  # fmt: skip


@pytest.mark.parametrize("law", MADE, ids=lambda law: f"{law.name}-{law.scale}")
def test_a_law_takes_as_many_values_as_it_has_sensitivities(law: Any) -> None:
    again = mechanisms.read(law.to_dict())
    assert again == law
    for made in (law, again):
        assert made.release(np.array([1, 2]), seed=1).shape == (2,)
        bad = [1, 1.0, [1], [1, 2, 3], np.zeros(40_000, int), np.zeros((2, 3), int), Exact(np.array([1, 2, 3]))]
        for value in bad:
            with pytest.raises(InvalidRequest, match=r"sensitivities|scales"):
                made.release(value)
    alone = type(law)(1)
    assert "coordinates" not in alone.to_dict()
    assert alone.release(np.array([1, 2, 3])).shape == (3,)


@pytest.mark.parametrize("bad", [0, -1, True, 3, 1.5])
def test_coordinates_match_the_scales(bad: Any) -> None:
    with pytest.raises(InvalidRequest, match="coordinates"):
        Laplace([1, 2], coordinates=bad)


@settings(deadline=None)
@given(low=st.integers(-(2**62), 2**62), apart=st.lists(st.integers(0, 40), min_size=2, max_size=6), seed=st.integers(0, 99))
def test_whole_utilities_beyond_the_doubles_differ_as_they_should(low: int, apart: list[int], seed: int) -> None:
    """A constant added to all whole utilities changes neither the choice nor its probability."""
    for method in ("exponential", "permute_and_flip"):
        law = Exponential(1, method=method)  # type: ignore[arg-type]
        far = np.array([low + a for a in apart], np.int64)
        assert law.release(far, seed=seed) == law.release(np.array(apart), seed=seed)
        assert law.log_prob(0, far) == law.log_prob(0, np.array(apart))
    assert Exponential(1).release(np.array([-(2**63), 2**63 - 1]), seed=seed) == 1


def test_the_study_of_low_bits_runs() -> None:
    """A small part of it, four settings: 1,600 draws each, false alarm 1e-8 each."""
    from study import low_bits

    made = [(setting, 1600, low_bits.run(setting, 7, 1600)) for setting in low_bits.SETTINGS[::5]]
    assert all(row.holds for row in low_bits.rows(made))
    assert all(sum(tallies.values()) == runs for _, runs, tallies in made)
