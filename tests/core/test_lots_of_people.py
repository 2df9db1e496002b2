"""Lots drawn group by group: who is in is Bernoulli, one by one, whatever the words."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.core import lot_drawer
from discreet.core import random as module
from discreet.core.random import Random, _Binomial


@pytest.mark.parametrize("rate", [Fraction(1, 20), Fraction(3, 1000), Fraction(61, 997)])
def test_everyone_is_in_with_the_rate_and_independently(rate: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place, each pair of neighbours and the number in all, over 4,000 lots of 1,100; false alarms 4e-7 a rate."""
    monkeypatch.setattr(module, "_MANY", 0)
    random, runs, people, p = Random(5), 4000, 1100, float(rate)
    seen, pairs, sizes = np.zeros(people), np.zeros(people - 1), np.zeros(runs)
    for run in range(runs):
        lot = random.places(rate, people)
        assert (np.diff(lot) > 0).all()
        seen[lot] += 1
        sizes[run] = len(lot)
        pairs[lot[:-1][np.diff(lot) == 1]] += 1
    for found, q in ((seen, p), (pairs, p * p)):
        assert stats.chi2.sf(((found - runs * q) ** 2).sum() / (runs * q * (1 - q)), len(found)) > 1e-7 or q * runs < 20
    assert 2 * stats.norm.sf(abs(pairs.sum() - runs * p * p * (people - 1)) / math.sqrt(runs * people * p * p)) * 5 > 1e-7
    assert 2 * stats.norm.sf(abs(sizes.sum() - runs * people * p) / math.sqrt(runs * people * p * (1 - p))) > 1e-7


def test_words_that_decide_nothing_are_decided_exactly() -> None:
    """A word equal to the digits of F(k): the share of the rest that counts k + 1 is F(k)'s own remainder."""
    rate = Fraction(1, 3)
    law = _Binomial(rate, 2)
    for k, floor in enumerate(law.floors.tolist()[:-1]):
        rest = Fraction(law.cumulated[k] - floor * law.denominator, law.denominator)
        found = [law._exactly(floor, v) for v in range(law.denominator)]
        assert sum(f == k for f in found) == rest * law.denominator
        assert set(found) <= {k, k + 1}
    words = np.array([0, law.floors[0], law.floors[0] + 1, 2**64 - 1], np.uint64)
    many = np.bincount(law.members(Random(1), words), minlength=4)
    assert many[0] == 0
    assert many[1] in (0, 1)
    assert many[2] == 1
    assert many[3] in (3, 4)


@pytest.mark.parametrize("rate", [Fraction(1, 16), Fraction(1, 300), Fraction(256, 70000)])
def test_the_distribution_of_a_group_is_binomial(rate: Fraction) -> None:
    law = module._binomial(rate)
    assert law is not None
    expected = stats.binom.cdf(np.arange(len(law.floors)), 1 << law.bits, float(rate))
    assert np.allclose(law.floors.astype(float) * 2.0**-64, expected, atol=1e-12)


def test_lots_drawn_beside_are_fresh_and_others_follow_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lot_drawer, "MANY", 100)
    drawer = lot_drawer.LotDrawer(module.system(), Fraction(1, 3), 5000)
    drawn = [tuple(drawer.next().tolist()) for _ in range(20)]
    assert len(set(drawn)) == 20  # two lots of 5,000 agree with a chance below 1e-1000
    assert abs(np.mean([len(lot) for lot in drawn]) - 5000 / 3) < 5.5 * math.sqrt(5000 * 2 / 9 / 20)  # 4e-8
    one, two = (lot_drawer.LotDrawer(Random(3), Fraction(1, 3), 5000) for _ in range(2))
    assert (one.next() == two.next()).all()


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 40)])
def test_lots_drawn_at_once_are_each_a_lot(rate: Fraction) -> None:
    """Each place and each size over 6,400 lots of 50, and who follows himself from lot to lot; false alarms 3e-7 a rate."""
    drawer, runs, people, p = lot_drawer.LotDrawer(Random(), rate, 50), 6400, 50, float(rate)
    inside = np.zeros((runs, people), bool)
    for run in range(runs):
        lot = drawer.next()
        assert (np.diff(lot) > 0).all()
        inside[run, lot] = True
    seen = inside.sum(axis=0)
    assert stats.chi2.sf(((seen - runs * p) ** 2).sum() / (runs * p * (1 - p)), people) > 1e-7
    sizes, again = inside.sum(axis=1), int((inside[1:] & inside[:-1]).sum())
    likely = np.flatnonzero(stats.binom.pmf(np.arange(people), people, p) * runs > 20)
    for size in likely:
        q = stats.binom.pmf(size, people, p)
        assert (
            min(stats.binom.cdf((sizes == size).sum(), runs, q), stats.binom.sf((sizes == size).sum() - 1, runs, q)) > 1e-9
        )
    assert abs(again - (runs - 1) * people * p * p) < 5.5 * math.sqrt(runs * people * p * p * (1 + 2 * p))  # 4e-8


FORKS = """
import os, signal, sys
from fractions import Fraction
from discreet.core import lot_drawer
from discreet.core.random import system

lot_drawer.MANY = int(sys.argv[1])
drawer = lot_drawer.LotDrawer(system(), Fraction(1, 2), 256)
drawer.next()
back, forth = os.pipe()
child = os.fork()
if child == 0:
    signal.alarm(20)
    os.write(forth, drawer.next().tobytes())
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
os.close(forth)
assert os.read(back, 1 << 16) != drawer.next().tobytes()  # 256 fair coins agree once in 2**256 runs
"""


@pytest.mark.parametrize("many", [1, 1 << 20])
def test_a_forked_child_draws_lots_of_its_own(many: int) -> None:
    """It would wait forever for the threads of its parent, and take the lot that the parent takes next.

    In a process of its own: libraries that others have loaded here have something to say about forks.
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, str(many)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
