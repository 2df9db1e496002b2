"""Tests on ranks: values worked out by hand, SciPy without noise, sensitivities by exhaustive search, and refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.core.query import RELATIONS, Relation
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.hypotheses.largest_gap import LargestGap, LargestGapTest
from discreet.hypotheses.rank_split import RankSplit, RankSplitTest
from discreet.hypotheses.rank_sums import RankSums
from discreet.hypotheses.ranks import KruskalWallis, MannWhitney, SignedRank
from discreet.hypotheses.signed_rank_sum import SignedRankSum
from discreet.hypotheses.tally import combined, tally, whole
from discreet.sources import open_source
from discreet.statistics.cells import Factor

RNG = np.random.default_rng(8)
X, Y = RNG.normal(50, 10, 200), RNG.normal(53, 12, 150)
LABELS = {2: ("a", "b"), 3: ("a", "b", "c")}


def test_by_hand() -> None:
    """Mann-Whitney .0977982, Kruskal-Wallis 3.6915, signed rank .0815833."""
    two = Release.of(ds.Laplace("0.625"), np.array([3, 7.5, 7.5]))
    assert MannWhitney(0.125).pvalue([two]) == pytest.approx(0.0977982, abs=5e-8)
    three = Release.of(ds.Laplace("1.25"), np.array([4, -1, -3, 10, 12.5, 15]))
    assert KruskalWallis(3, 0.25).statistic([three]) == pytest.approx(3.6915, abs=5e-5)
    signed = Release.of(ds.Laplace("1.875"), np.array([15.0, 75.0]))
    assert SignedRank(0.375).pvalue([signed]) == pytest.approx(0.0815833, abs=5e-8)


@pytest.mark.parametrize("relation", RELATIONS)
def test_scales_are_those_of_the_sensitivities(relation: Relation) -> None:
    """b is .625/epsilon for Mann-Whitney under add/remove and 1/epsilon otherwise, where the sizes cost nothing."""
    setting: Any = {"bounds": (0, 100), "neighbors": relation, "epsilon": 2}
    once = relation == "add_remove"

    def scale(result: Result) -> float:
        law: Any = result.releases[0].mechanism
        return float(law.scales[0])

    assert scale(ds.hypotheses.mannwhitneyu(X, Y, **setting)) == pytest.approx(0.3125 if once else 0.5)
    assert scale(ds.hypotheses.kruskal(X, Y, X, **setting)) == pytest.approx(0.625 if once else 0.5625)
    assert scale(ds.hypotheses.ks_2samp(X, Y, **setting)) == pytest.approx(0.5625 if once else 0.625)
    assert scale(ds.hypotheses.wilcoxon(X, **setting | {"bounds": (-9, 99)})) == pytest.approx(0.9375 if once else 1.0)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_without_noise_they_are_scipys(relation: Relation, alternative: str) -> None:
    setting: Any = {"epsilon": math.inf, "neighbors": relation, "alternative": alternative}
    mine = ds.hypotheses.mannwhitneyu(X, Y, bounds=(-20, 120), **setting)
    theirs = stats.mannwhitneyu(X, Y, alternative=alternative, use_continuity=False, method="asymptotic")
    assert mine.pvalue == pytest.approx(theirs.pvalue, abs=1e-6)
    assert mine.value == pytest.approx(theirs.statistic / (len(X) * len(Y)), abs=1e-6)
    low, high = mine.confidence_interval()
    assert low < mine.value < high
    one = ds.hypotheses.wilcoxon(X[:150], Y, bounds=(-100, 100), **setting)
    ref = stats.wilcoxon(X[:150], Y, alternative=alternative, correction=False, method="approx")
    assert one.pvalue == pytest.approx(ref.pvalue, abs=1e-6)


def test_kruskal_without_noise_is_near_scipys() -> None:
    """The Monte Carlo p of 999 draws has a deviation of .015 at most: six of them."""
    groups = X, Y, X + 2
    mine = ds.hypotheses.kruskal(*groups, bounds=(-20, 120), epsilon=math.inf)
    theirs = stats.kruskal(*groups)
    assert mine.statistic == pytest.approx(theirs.statistic, rel=0.01)
    assert mine.pvalue == pytest.approx(theirs.pvalue, abs=0.09)
    assert mine.pvalue == Result.from_json(mine.to_json()).pvalue


def test_one_number_of_several_groups_by_brute_force() -> None:
    """T is the largest rank sum of a set of groups, K the largest gap at any value; ties within and between groups."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        people = tuple(zip(rng.integers(0, 6, 25).tolist(), rng.integers(0, 4, 25).tolist(), strict=True))
        values, groups = np.array(people).T
        ranks = (stats.rankdata(values) - 13) / 25
        sets = itertools.chain.from_iterable(itertools.combinations(range(4), size) for size in range(5))
        largest = max(ranks[np.isin(groups, chosen)].sum() for chosen in sets)
        assert sums_of(split_of(4), people)[0] == pytest.approx(largest, abs=2**-30)
        two = groups % 2
        gap = stats.ks_2samp(values[two == 0], values[two == 1]).statistic * (two == 0).sum() * (two == 1).sum() / 25
        assert sums_of(GAP, tuple(zip(values, two, strict=True)))[0] == pytest.approx(gap, abs=2**-30)


def test_one_number_of_several_groups_judged() -> None:
    """Without noise T of two groups is Mann and Whitney's, and K / sqrt(m) is Kolmogorov's: Monte Carlo of 99,999 draws,
    p off by six of its deviations at most.
    """
    law = ds.mechanisms.NoNoise()
    two = Release.of(law, np.array([4.0, 100 / 16, 140 / 16]))
    found = RankSplitTest(2, 1 / 16, 99_999).pvalue([two])
    assert found == pytest.approx(MannWhitney(1 / 16).pvalue([two]), abs=0.01)
    gap = Release.of(law, np.array([7.5, 100 / 8, 140 / 8]))
    deviations = 7.5 / math.sqrt(100 * 140 / 240)
    assert LargestGapTest(1 / 8, 99_999).pvalue([gap]) == pytest.approx(stats.kstwobign.sf(deviations), abs=0.01)
    for reading in (RankSplitTest(2, 1 / 16, 99), LargestGapTest(1 / 8, 99)):
        assert reading.pvalue([Release.of(ds.Laplace(1), np.array([4.0, -3.0, 0.0]))]) == 1
        assert reading.seen_effect([Release.of(ds.Laplace(1), np.array([4.0, -3.0, 0.0]))]) is None


def test_the_gap_of_very_many_people_is_exact() -> None:
    """N times a count passes 64 bits: two thousand million people at either of two values, one more of the first group."""
    half = 2_000_000_000
    counts = np.array([[half + 1, half], [half, half]])
    people = 4 * half + 1
    exact = Fraction(people * (half + 1) - (2 * half + 1) * (2 * half + 1), people)
    assert GAP.of_order(counts) == [exact]


@pytest.mark.parametrize(("test", "beyond"), [("kruskal", 0.5), ("ks_2samp", 1.0)])
def test_the_effect_seen_is_found_with_probability_point_eight(test: str, beyond: float) -> None:
    """What a release says it would have shown, drawn 200 times: power .8, less six standard errors (.17) and what 99 draws
    lose; the gap's is a lower bound of its power.
    """
    rng = np.random.default_rng(3)
    setting: Any = {"bounds": (-9, 9), "epsilon": 1, "neighbors": "replace", "draws": 99}

    def asked(shift: float, seed: int) -> Result:
        data = [rng.normal(shift * (i == 0), 1, 100) for i in range(3)]
        return getattr(ds.hypotheses, test)(*data[: 3 if test == "kruskal" else 2], seed=seed, **setting)  # type: ignore[no-any-return]

    none = asked(0.0, 1)
    seen = none.reading.seen_effect(none.releases)  # type: ignore[attr-defined]
    assert 0 < seen < beyond
    # A shift s of normal values moves P(X > Y) by Phi(s / sqrt 2) - 1/2 and opens a gap of 2 Phi(s / 2) - 1.
    shift = math.sqrt(2) * stats.norm.ppf(0.5 + seen) if test == "kruskal" else 2 * stats.norm.ppf((1 + seen) / 2)
    assert np.mean([asked(shift, seed).pvalue <= 0.05 for seed in range(200)]) > 0.62


def test_ties_and_missing_values() -> None:
    """Midranks, and nothing of whoever has no value or no group."""
    x = np.array([1, 2, 2, 3, np.nan, 2, 5, np.inf])
    g = ["a", "a", "b", "b", "a", "c", "b", "a"]
    schema = ds.Schema({"x": ds.Real(0, 4), "g": ds.Categories(["a", "b"])})
    query = RankSums(Factor("level", "x", 0, 4), Factor("category", "g", labels=("a", "b")), Fraction(1, 8))
    value = query.evaluate(open_source({"x": x, "g": g}, schema)).value
    seen = stats.rankdata([1, 2, 2, 3, 4, 4])
    assert value[0] == pytest.approx((seen[[0, 1, 5]] - 3.5).sum() / 6, abs=2**-30)
    assert value[1:].tolist() == [3 / 8, 3 / 8]


@pytest.mark.parametrize("rows", [3, 10, 1000])
def test_however_the_table_is_cut(rows: int) -> None:
    """Batches of any size give one tally, with every value once."""
    codes, groups = RNG.integers(0, 50, 1000), RNG.integers(0, 3, 1000)
    parts = [tally(codes[i : i + rows], groups[i : i + rows], 3) for i in range(0, 1000, rows)]
    runs = parts[0]
    for part in parts[1:]:
        runs = combined(runs, part)
    values, counts = whole(runs)
    assert (np.diff(values) > 0).all()
    expected = np.zeros((50, 3), int)
    np.add.at(expected, (codes, groups), 1)
    assert (counts == expected[values]).all()
    assert counts.sum() == 1000


def sums_of(query: Any, people: tuple[tuple[int, int], ...]) -> np.ndarray:
    """The exact value for people given as (value, group)."""
    codes, places = np.array(people, np.int64).reshape(-1, 2).T
    if isinstance(query, SignedRankSum):
        total = tally(np.abs(codes - 3), np.sign(codes - 3) + 1, 3)
    else:
        total = tally(codes, places, query.group.size)
    return np.asarray(query.finish(total).value)


def split_of(groups: int) -> RankSplit:
    return RankSplit(Factor("level", "x", 0, 1), Factor("category", "g", labels=tuple("abcd"[:groups])), Fraction(1, 16))


GAP = LargestGap(Factor("level", "x", 0, 1), Factor("category", "g", labels=("a", "b")), Fraction(1, 8))
KINDS = ["two groups", "three groups", "signed rank", "split of three groups", "largest gap"]


def groups_of(kind: int) -> int:
    return (2, 3, 1, 3, 2)[kind]


def queries_of(relation: Relation) -> list[Any]:
    once = relation == "add_remove"
    level = Factor("level", "x", 0, 1)
    sizes = {2: Fraction(1, 8) if once else Fraction(1, 4), 3: Fraction(1, 4)}
    made: list[Any] = [RankSums(level, Factor("category", "g", labels=LABELS[k]), w) for k, w in sizes.items()]
    return [*made, SignedRankSum(level, None, 0.0, Fraction(3, 8) if once else Fraction(1, 2)), split_of(3), GAP]


def moved(query: Any, relation: Relation, here: Any, there: Any) -> tuple[float, float, float]:
    apart = np.abs(sums_of(query, here) - sums_of(query, there))
    bound = query.distance(relation)
    found = apart.sum(), math.sqrt((apart**2).sum()), apart.max()
    limits = (float(d) for d in (bound.l1, bound.l2, bound.linf))
    return tuple(a / b for a, b in zip(found, limits, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize("kind", range(5), ids=KINDS)
def test_every_small_table(kind: int) -> None:
    """All tables of up to four people beside one more, ties included, and every change of that one: none moves further.

    The others stand at as many values as there are of them (signs: seven about the centre), the one at, between and
    beyond them: every order. Of three groups up to three others.
    """
    groups = groups_of(kind)
    others_at = [(v, g) for v in (range(7) if kind == 2 else (1, 3, 5, 7)[: 6 - groups]) for g in range(groups)]
    spots = [(v, g) for v in range(13 - 2 * groups) for g in range(groups)] if kind != 2 else [(v, 0) for v in range(-1, 8)]
    asked = {relation: queries_of(relation)[kind] for relation in RELATIONS}
    worst = dict.fromkeys(RELATIONS, 0.0)
    bare = asked["add_remove"]
    sums = bare.shape[0] - groups
    for size in range(4 if groups == 3 else 5):
        for others in itertools.combinations_with_replacement(others_at, size):
            alone = sums_of(bare, others)
            values = np.array([sums_of(bare, (*others, one)) for one in spots])
            added = np.abs(values - alone)
            replaced = np.abs(values[:, None] - values[None]).reshape(-1, len(alone))
            for relation, query in asked.items():
                moves = {"add_remove": [added], "replace": [replaced], "both": [added, replaced]}[relation]
                apart = np.concatenate(moves)
                apart[:, sums:] *= float(query.weight / bare.weight)
                bound = query.distance(relation)
                assert apart.sum(1).max() <= float(bound.l1)
                assert np.sqrt((apart**2).sum(1)).max() <= float(bound.l2)
                assert apart.max() <= float(bound.linf)
                worst[relation] = max(worst[relation], apart.sum(1).max() / float(bound.l1))
    # The distance is not idle: it is neared as tables grow, that of a split only where one group outnumbers the others.
    assert min(worst.values()) > (0.5 if kind == 3 else 0.75)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", range(5), ids=KINDS)
def test_climbing_towards_the_worst_larger_table(kind: int, relation: Relation) -> None:
    """From random tables of 25 people, steps that move the value more are kept: it never passes the distance."""
    query, rng = queries_of(relation)[kind], np.random.default_rng(kind)
    groups = groups_of(kind)

    def spot() -> tuple[int, int]:
        return int(rng.integers(-40, 47)), int(rng.integers(groups))

    best = 0.0
    for _ in range(2):
        others = [spot() for _ in range(24)]
        here, there = spot(), None if relation == "add_remove" else spot()

        def reach(others: Any, here: Any, there: Any) -> float:
            table = (*others, here), tuple(others) if there is None else (*others, there)
            l1, l2, linf = moved(query, relation, *table)
            assert max(l1, l2, linf) <= 1
            return l1

        found = reach(others, here, there)
        for _ in range(600):
            trial = list(others)
            trial[int(rng.integers(24))] = spot()
            first = spot() if rng.random() < 0.2 else here
            second = spot() if there is not None and rng.random() < 0.2 else there
            now = reach(trial, first, second)
            if now >= found:
                others, here, there, found = trial, first, second, now
        best = max(best, found)
    assert best > (0.7 if kind == 3 else 0.85)


def test_the_distance_of_a_split_is_reached() -> None:
    """Few of two groups above many of a third: one of them goes from the top of the one to the bottom of the other."""
    others = (*((9, g) for g in (0, 1) for _ in range(3)), *((5, 2) for _ in range(2000)))
    for relation in ("replace", "both"):
        assert moved(split_of(3), relation, (*others, (9, 0)), (*others, (1, 1)))[0] > 0.99
    assert moved(split_of(3), "add_remove", others, (*others, (9, 0)))[0] > 0.99


def test_the_distance_of_the_signed_rank_is_reached() -> None:
    """Everybody below the centre, and one far above joins: T moves by 3/2, and the number by its weight."""
    query = queries_of("add_remove")[2]
    others = ((2, 0), (1, 0), (0, 0))
    assert moved(query, "add_remove", others, (*others, (9, 0)))[0] == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(
    ("name", "args", "options", "words"),
    [
        ("mannwhitneyu", ("x",), {"by": "town"}, "two labels"),
        ("mannwhitneyu", ("x",), {"by": "sex", "alternative": "up"}, "two-sided, less, greater"),
        ("kruskal", ("x",), {"by": "sex"}, "three groups or more"),
        ("wilcoxon", ("x",), {"centre": 200.0}, "within the declared bounds"),
        ("wilcoxon", ("x", "x"), {"centre": 2.0}, "about 0"),
    ],
)
def test_what_is_refused_is_not_charged(name: str, args: Any, options: Any, words: str) -> None:
    columns = {"x": ds.Real(0, 100), "town": ds.Categories(["a", "b", "c"]), "sex": ds.Categories(["f", "m"])}
    table = {"x": X, "town": ["a"] * 200, "sex": ["f"] * 200, "id": np.arange(200)}
    session = ds.Session(table, ds.Schema(columns), ds.Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match=words):
        session.test(name, *args, epsilon=1, **options)
    several = ds.Session(table, ds.Schema(columns, person="id", max_rows=3), ds.Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match="one row a person"):
        several.test(name, args[0], epsilon=1, **({} if name == "wilcoxon" else {"by": "sex"}))
    assert session.spent().epsilon == several.spent().epsilon == 0


def test_nobody_is_no_evidence() -> None:
    schema = ds.Schema({"x": ds.Real(-1, 1), "g": ds.Categories(["a", "b"]), "h": ds.Categories(["a", "b", "c"])})
    for seed in range(5):
        session = ds.Session({"x": np.zeros(0), "g": [], "h": []}, schema, ledger="test", seed=seed)
        for asked in (("mannwhitneyu", "g"), ("kruskal", "h"), ("wilcoxon", None)):
            by = {} if asked[1] is None else {"by": asked[1]}
            result = session.test(asked[0], "x", epsilon=0.5, **by)
            assert 0 <= result.pvalue <= 1
            assert result.method


def test_pairs_through_a_session() -> None:
    schema = ds.Schema({"x": ds.Real(0, 100), "y": ds.Real(-20, 90)})
    session = ds.Session({"x": X[:150], "y": Y}, schema, ledger="test", seed=1)
    exact = session.test("wilcoxon", "x", "y", epsilon=math.inf)
    assert exact.pvalue == pytest.approx(stats.wilcoxon(X[:150], Y, correction=False, method="approx").pvalue, abs=1e-6)
    noisy = session.test("wilcoxon", "x", "y", epsilon=1)
    again = Result.from_json(noisy.to_json())
    assert (again.pvalue, again.statistic, again.value) == (noisy.pvalue, noisy.statistic, noisy.value)
    with pytest.raises(InvalidRequest, match="has no interval"):
        noisy.confidence_interval()
