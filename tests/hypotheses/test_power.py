"""Power without data: the closed forms by hand, power, people and effect that agree, and the tests' own p-values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import discreet as ds
from discreet.core.query import RELATIONS
from discreet.errors import InvalidRequest
from discreet.hypotheses.power import _DESIGNS

FACTS: dict[str, dict[str, Any]] = {
    "ttest_1samp": {"sd": 1 / 6, "effect": 0.05},
    "ttest_rel": {"sd": 1 / 6, "effect": 0.05},
    "ttest_ind": {"sd": 10, "bounds": (0, 60), "effect": 4},
    "f_oneway": {"sd": 1 / 6, "groups": 4, "effect": 0.05},
    "binomtest": {"p": 0.3, "effect": 0.08},
    "mannwhitneyu": {"effect": 0.1},
    "kruskal": {"groups": 3, "effect": 0.1},
    "wilcoxon": {"effect": 0.2},
    "chisquare": {"cells": 4, "effect": 0.2},
    "chi2_contingency": {"shape": (3, 4), "effect": 0.2},
    "logrank": {"events": 0.5, "effect": 1.5},
}


def test_by_hand() -> None:
    """Mean: 1700, 664, 579 people at epsilon .1, .5, 1; Mann-Whitney, .3 sd: 1379, 485, 405 and a fraction of a person."""
    for epsilon, mean, ranks in (("0.1", 1700, 1379), ("0.5", 664, 485), ("1", 579, 405)):
        assert ds.power("ttest_1samp", effect=0.02, epsilon=epsilon, sd=1 / 6).n == mean
        assert ds.power("mannwhitneyu", effect=0.3, sd=1, epsilon=epsilon).n == ranks + 1
        assert ds.power("mannwhitneyu", effect=0.3, sd=1, epsilon=epsilon, n=ranks).power == pytest.approx(0.8, abs=5e-4)
        higher = float(norm.cdf(0.3 / math.sqrt(2))) - 0.5
        assert ds.power("mannwhitneyu", effect=higher, epsilon=epsilon).n == ranks + 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("test", sorted(_DESIGNS))
def test_people_power_and_effect_agree(test: str, relation: Any) -> None:
    """Each of the three gives the others back; noise costs people, more of it more."""
    facts = FACTS[test] | {"neighbors": relation}
    found = ds.power(test, epsilon="0.5", **facts)
    assert found.power == 0.8
    assert found.n > found.without_privacy > 10
    assert ds.power(test, epsilon="0.1", **facts).n > found.n
    back = ds.power(test, epsilon="0.5", n=found.n, **facts)
    assert back.power == pytest.approx(0.8, abs=0.01)
    assert back.without_privacy > back.power
    rest = {k: v for k, v in facts.items() if k != "effect"}
    least = ds.power(test, epsilon="0.5", n=found.n, **rest)
    assert least.effect == pytest.approx(facts["effect"], rel=0.01)
    assert "without privacy" in str(found)
    assert ds.power(test, rho="0.5", **facts).n > 10


def test_one_sided_tests_need_fewer() -> None:
    facts: dict[str, Any] = {"effect": 0.1, "epsilon": 1}
    assert ds.power("mannwhitneyu", alternative="less", **facts).n < ds.power("mannwhitneyu", **facts).n


@pytest.mark.parametrize("sought", ["n", "power", "effect"])
def test_curves_over_epsilon(sought: str) -> None:
    facts: dict[str, Any] = {"n": {"effect": 0.1}, "power": {"effect": 0.1, "n": 400}, "effect": {"n": 400}}[sought]
    axes = ds.power("mannwhitneyu", epsilon=1, **facts).plot(epsilons=(0.1, 1, 5))
    values = axes.lines[0].get_ydata()
    assert (np.diff(values) > 0).all() if sought == "power" else (np.diff(values) < 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": "ks_2samp", "effect": 1}, "no power is known"),
        ({"test": "wilcoxon"}, "got neither"),
        ({"test": "wilcoxon", "effect": 0.1, "n": 5, "power": 0.9}, "all three"),
        ({"test": "wilcoxon", "effect": 3}, "up to 1"),
        ({"test": "wilcoxon", "effect": 0.1, "power": 0.01}, "between the level"),
        ({"test": "wilcoxon", "n": 1}, "at least 2"),
        ({"test": "wilcoxon", "effect": 0.1, "alpha": 0}, "strictly between"),
        ({"test": "ttest_ind", "effect": 1}, "need sd"),
        ({"test": "ttest_ind", "effect": 1, "sd": 9}, "half the range"),
        ({"test": "kruskal", "effect": 0.1, "groups": 2}, "at least 3"),
        ({"test": "logrank", "effect": 2}, "events="),
        ({"test": "logrank", "effect": 0.5, "events": 0.5}, "above 1"),
        ({"test": "chisquare", "effect": 0.1, "cells": 1}, "at least 2"),
        ({"test": "chi2_contingency", "effect": 0.1, "shape": (1, 3)}, "at least 2"),
        ({"test": "binomtest", "effect": 0.1, "p": 1}, "strictly between"),
        ({"test": "binomtest", "effect": 0.1, "shape": 1}, "shape"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        ds.power(options.pop("test"), epsilon=1, **options)


def test_mann_whitney_has_the_power_that_was_said() -> None:
    """150 tables of 405 people, .3 sd apart, epsilon 1: .8 within .17, five deviations and more."""
    rng = np.random.default_rng(4)
    hits = 0
    for seed in range(150):
        x, y = rng.normal(0.3, 1, 203), rng.normal(0, 1, 202)
        hits += ds.hypotheses.mannwhitneyu(x, y, bounds=(-5, 5), epsilon=1, seed=seed).pvalue <= 0.05
    assert hits / 150 == pytest.approx(0.8, abs=0.17)
