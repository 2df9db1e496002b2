"""Presence in a population and unique people, against definitions written out with plain Python."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from study.anonymous_copies import columns

from discreet.errors import InvalidRequest
from discreet.protect import check
from discreet.protect.uniqueness import _unlikely, pitman, snb, uniqueness, zayatz
from tests.protect.oracle import random_table


@pytest.mark.parametrize("seed", range(10))
def test_presence_is_the_share_of_the_population_in_the_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, names, _ = random_table(rng)
    inside = [row for row in rows if rng.random() < 0.6] or rows[:1]
    of_all, of_table = (Counter(tuple(row[name] for name in names) for row in part) for part in (rows, inside))
    shares = [Fraction(of_table[key], times) for key, times in of_all.items()]
    found = check(columns(inside), names, population=columns(rows)).presence
    assert found == (float(min(shares)), float(max(shares)))


def test_zayatz_is_bayes_rule_with_hypergeometric_chances() -> None:
    groups, population = {1: 4, 2: 3, 5: 1}, 40
    rows = sum(size * many for size, many in groups.items())
    one = {j: Fraction(j * math.comb(population - j, rows - 1), math.comb(population, rows)) for j in groups}
    chance = groups[1] * one[1] / sum(many * one[j] for j, many in groups.items())
    sizes = np.repeat(list(groups), list(groups.values()))
    assert uniqueness(sizes, population).zayatz == pytest.approx(float(groups[1] * chance / rows))
    assert zayatz(np.array([1]), np.array([5.0]), 5, 50) == pytest.approx(1.0)


def test_pitman_has_the_likelihood_of_its_urn_and_finds_its_parameters() -> None:
    def urn(sizes: list[int], alpha: float, theta: float) -> float:
        total, seen = 0.0, 0
        for group, size in enumerate(sizes):
            for place in range(size):
                total += math.log((theta + group * alpha if place == 0 else place - alpha) / (theta + seen)) if seen else 0.0
                seen += 1
        return total

    def ours(sizes: list[int], alpha: float, theta: float) -> float:
        size, groups = np.unique(sizes, return_counts=True)
        point = np.array([math.log(alpha / (1 - alpha)), math.log(theta + alpha)])
        return -_unlikely(point, size, groups.astype(float), sum(sizes))

    assert ours([3, 1, 2], 0.4, 2.0) == pytest.approx(urn([3, 1, 2], 0.4, 2.0), abs=1e-9)
    assert ours([1, 1, 5], 0.7, 9.0) == pytest.approx(urn([1, 1, 5], 0.7, 9.0), abs=1e-9)
    rng = np.random.default_rng(1)
    alpha, theta, sizes = 0.5, 20.0, list[int]()
    for seen in range(4000):
        if rng.random() * (theta + seen) < theta + alpha * len(sizes):
            sizes.append(1)
        else:
            sizes[int(rng.choice(len(sizes), p=(np.array(sizes) - alpha) / (seen - alpha * len(sizes))))] += 1
    size, groups = np.unique(sizes, return_counts=True)
    expected = math.exp(
        math.lgamma(theta + alpha + 99_999)
        + math.lgamma(theta + 1)
        - math.lgamma(theta + alpha)
        - math.lgamma(theta + 100_000)
    )
    assert pitman(size, groups.astype(float), 4000, 100_000) == pytest.approx(expected, rel=0.5)


def test_slide_negative_binomial_gives_back_the_model_it_was_made_of() -> None:
    a, b, population, rate = 0.4, 0.15, 100_000, 0.2
    total = population / (1 + a * (1 - b) / b)
    sizes = np.arange(1, 4000)
    logs = [math.lgamma(j - 1 + a) - math.lgamma(j) - math.lgamma(a) + (j - 1) * math.log(1 - b) for j in sizes]
    chance = np.exp(logs) * b**a
    assert chance.sum() == pytest.approx(1)
    seen = 1 - (chance * (1 - rate) ** sizes).sum()
    single = (chance * sizes * rate * (1 - rate) ** (sizes - 1)).sum()
    groups = total * np.array([single, seen - single])
    found = snb(np.array([1, 2]), groups, round(population * rate), population)
    assert found == pytest.approx(total * b**a / population, rel=1e-4)


def test_uniqueness_is_refused_or_known_at_its_limits() -> None:
    assert uniqueness(np.array([1, 1, 2]), 4).pitman == 0.5
    assert uniqueness(np.array([2, 3]), 100).zayatz == 0.0
    with pytest.raises(InvalidRequest, match="population"):
        uniqueness(np.array([1, 2]), 2)
    found = check({"age": [1, 1, 2, 3]}, ["age"], people=4).unique
    assert found is not None
    assert found.sample == found.snb == 0.5
