"""The exact draws: rare branches forced, uniformity by chi-squared (20,000 to 60,000 runs, false alarm 1e-6 each)."""

from __future__ import annotations

import math
import time
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.local import best_oracle, exact_draws
from discreet.local.law import blocks


class Fixed(Random):
    """A stream that hands out given words first."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(1)
        self._given = words

    def words(self, count: int) -> np.ndarray:
        taken, self._given = self._given[:count], self._given[count:]
        return np.array([*taken, *super().words(count - len(taken)).tolist()], np.uint64)

    def word(self) -> int:
        return int(self.words(1)[0])


class Counting(Fixed):
    """A stream that counts the words it hands out."""

    count = 0

    def words(self, count: int) -> np.ndarray:
        self.count += count
        return super().words(count)


@given(st.fractions(Fraction(1, 10**6), 60))
def test_odds_lie_just_below(epsilon: Fraction) -> None:
    getcontext().prec = 60
    exact = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
    found = exact_draws.odds(epsilon)
    near = Decimal(found.numerator) / Decimal(found.denominator)
    assert near <= exact
    assert (exact - near) / (exact - 1) < Decimal(2) ** -60


@pytest.mark.parametrize("bad", [0, -1, "nan", math.inf, 65, "1e-12", True, None, "one"])
def test_epsilon_is_checked(bad: object) -> None:
    with pytest.raises(InvalidRequest, match="epsilon"):
        exact_draws.read_epsilon(bad)


def test_bits_settle_ties_by_the_rest() -> None:
    p = Fraction(1, 3)
    whole = (1 << 16) // 3
    packed = sum(whole << 16 * i for i in range(4))
    drawn = np.concatenate([exact_draws.bits(Fixed([packed] * 5000), p, 20_000)])
    # Every draw was a tie: what is left decides, with probability 1/3 again (1/3 of 2^16 leaves 1/3).
    assert abs(drawn.mean() - 1 / 3) < 5.5 * math.sqrt(2 / 9 / 20_000)
    assert abs(exact_draws.bits(Random(1), Fraction(1, 100_000), 10_000_000).sum() - 100) < 60
    assert exact_draws.bits(Random(1), Fraction(1, 3), 0).size == 0


def test_tilted_reaches_both_ends() -> None:
    x = np.array([-1.0, 1.0, 0.0, 0.5])
    seen = np.array([exact_draws.tilted(Random(i), np.repeat(x, 5000)).reshape(4, -1).mean(1) for i in range(2)]).mean(0)
    assert seen[0] == 0
    assert seen[1] == 1
    assert abs(seen[2] - 0.5) < 0.03
    assert abs(seen[3] - 0.75) < 0.03
    top = (1 << 63) - 1
    assert exact_draws.tilted(Fixed([top]), np.array([1.0]))[0]
    assert not exact_draws.tilted(Fixed([top]), np.array([1 - 2.0**-53]))[0]


def test_uniforms_keep_their_relative_digits() -> None:
    made = exact_draws.uniforms(Fixed([5, 1 << 63, 0]), 3)
    assert 5 * 2.0**-64 <= made[0] < 6 * 2.0**-64
    assert made[0] != 5 * 2.0**-64
    assert made[1] == 0.5
    assert 0 < made[2] < 2.0**-64
    assert stats.kstest(exact_draws.uniforms(Random(3), 50_000), "uniform").pvalue > 1e-6


def test_weights_settle_ties() -> None:
    law = exact_draws.WeightedLaw([1, 1, 1])
    third = (1 << 64) // 3
    assert law.draw(Fixed([third - 1, third + 1]), 2).tolist() == [0, 1]
    # In the cell of the boundary at 1/3 a third lies below it.
    tied = Counter(int(exact_draws.WeightedLaw([1, 1, 1]).draw(Fixed([third]), 1)[0]) for _ in range(5))
    seen = [int(law._settle(Random(i), np.uint64(third))) for i in range(3000)]
    assert set(tied) <= {0, 1}
    assert set(seen) == {0, 1}
    assert abs(np.mean(seen) - 2 / 3) < 0.06
    assert set(exact_draws.WeightedLaw([0, 5, 0, 0]).draw(Random(1), 1000).tolist()) == {1}
    assert exact_draws.WeightedLaw([7]).draw(Random(1), 3).tolist() == [0, 0, 0]


def test_weights_of_any_size() -> None:
    big = 10**400
    seen = np.bincount(exact_draws.WeightedLaw([big, 2 * big, 1, big]).draw(Random(2), 40_000), minlength=4)
    assert seen[2] == 0
    assert stats.chisquare(seen[[0, 1, 3]], [10_000, 20_000, 10_000]).pvalue > 1e-6


@pytest.mark.parametrize(("width", "size"), [(5, 2), (6, 3), (4, 1), (4, 0), (4, 4)])
def test_subsets_are_uniform(width: int, size: int) -> None:
    marks = exact_draws.subsets(Random(9), np.full(20_000, size), width)
    assert (marks.sum(1) == size).all()
    seen = Counter(map(tuple, marks.tolist()))
    ways = list(combinations(range(width), size))
    assert len(seen) == len(ways)
    assert len(ways) == 1 or stats.chisquare(list(seen.values())).pvalue > 1e-6


def test_subsets_draw_again_where_keys_are_equal() -> None:
    """The first keys are all equal: without a second draw the subset would be empty."""
    marks = exact_draws.subsets(Fixed([0]), np.array([2]), 4)
    assert marks.sum() == 2


@pytest.mark.parametrize("width", [300, 3000])
def test_wide_subsets(width: int) -> None:
    sizes = np.array([0, 1, width // 2, width - 1, width] * 20)
    marks = exact_draws.subsets(Random(9), sizes, width)
    assert (marks.sum(1) == sizes).all()
    # Places are taken equally often, early and late: 20 rows with half of them, within 5.5 standard errors.
    halves = marks[sizes == width // 2]
    assert abs(halves[:, : width // 2].mean() - 0.5) < 5.5 * 0.5 / math.sqrt(20 * width)


@pytest.mark.parametrize("held", [True, False])
def test_subsets_around_a_place(held: bool) -> None:
    marks = exact_draws.subsets_around(Random(9), 3, 6, np.full(20_000, 4), np.full(20_000, held))
    assert (marks.sum(1) == 3).all()
    assert (marks[:, 4] == held).all()
    seen = Counter(map(tuple, marks.tolist()))
    assert len(seen) == 10  # pairs, or triples, of the other five
    assert stats.chisquare(list(seen.values())).pvalue > 1e-6
    again = exact_draws.subsets_around(Fixed([0, 0]), 3, 6, np.array([4]), np.array([held]))  # equal keys: drawn again
    assert again.sum() == 3


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([9, 1, 2, 2, 5, 9, 0, 0], 4),  # the second and third of the others are equal: the boundary where it is held
        ([9, 1, 2, 3, 3, 9, 0, 0], 4),  # the third and fourth: the boundary where it is not
        ([9, 1, 1, 3, 4, 4, 0, 0], 2),  # equal keys at no boundary
        ([0, 0, 1, 2, 3, 0xFFFF, 0, 0], 2),
    ],
)
def test_redraws_do_not_tell_whether_the_truth_is_held(keys: list[int], words: int) -> None:
    """Place 0 of six is the truth, of subsets of three; a row of keys is two words."""
    given = np.array(keys, np.uint16).view(np.uint64).tolist()
    for held in (True, False):
        stream = Counting(given)
        marks = exact_draws.subsets_around(stream, 3, 6, np.array([0]), np.array([held]))
        assert marks.sum() == 3
        assert marks[0, 0] == held
        assert stream.count == words


@pytest.mark.parametrize(("size", "width"), [(1, 5), (4, 5), (2, 3000), (2998, 3000), (2999, 3000), (1, 3000), (7, 300)])
def test_redraws_are_those_of_the_other_places(size: int, width: int) -> None:
    streams = [Counting([]) for _ in range(2)]
    for stream, held in zip(streams, (True, False), strict=True):
        marks = exact_draws.subsets_around(stream, size, width, np.arange(60) % width, np.full(60, held))
        assert (marks.sum(1) == size).all()
        assert (marks[np.arange(60), np.arange(60) % width] == held).all()
    assert streams[0].count == streams[1].count


def test_a_million_categories_take_no_time() -> None:
    for epsilon in (13, 1):
        law = best_oracle(2**20, epsilon)
        law.report(3)
        spent = []
        for _ in range(3):
            start = time.process_time()  # not of the wall: the machine may be busy
            sent = law.report(3)
            spent.append(time.process_time() - start)
        assert np.bitwise_count(sent.columns["subset"]).sum() == law.size
        assert min(spent) < 0.05


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000, 1024, 5000])
def test_below_is_uniform(bound: int) -> None:
    drawn = exact_draws.below(Random(4), bound, 60_000)
    assert drawn.max() < bound
    assert bound == 1 or stats.chisquare(np.bincount(drawn, minlength=bound)).pvalue > 1e-6


def test_below_draws_again_what_does_not_divide() -> None:
    """2^16 is 1 above a multiple of 3: the product 0 is drawn again, here as 65535 * 3, whose upper half is 2."""
    assert exact_draws.below(Fixed([0, 65535]), 3, 1).tolist() == [2]


@given(st.integers(0, 20_000), st.integers(0, 100_000))
def test_blocks_cover_everything_once(count: int, width: int) -> None:
    runs = blocks(count, width)
    assert runs[0].start == 0
    assert runs[-1].stop == count
    assert all(a.stop == b.start for a, b in pairwise(runs))
