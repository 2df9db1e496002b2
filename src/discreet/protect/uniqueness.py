"""How many people are unique in a population, estimated from a sample of it.

A row that is alone in the table need not be alone in the population. With n rows, f_j groups of j rows, u groups in all, and
a population of N people, three models of the population's groups give three estimates of its unique people. They differ
where their models do: look at all three.

- **Zayatz** (1991): group sizes are distributed in the population as in the sample. By Bayes' rule a sample unique is unique
  in the population with probability f_1 h_1 / sum_j f_j h_j, where h_j = j C(N-j, n-1) / C(N, n) is the chance that a group
  of j people is in the sample with one row; so f_1 times that, times N/n, people are unique.
- **Pitman** (Hoshino 2001): a random partition with parameters theta > -alpha, 0 <= alpha < 1, fitted by maximum likelihood.
  Its expected number of unique people is N Gamma(theta + alpha + N - 1) Gamma(theta + 1) over
  Gamma(theta + alpha) Gamma(theta + N).
- **SNB**, slide negative binomial (Chen and Keller-McNulty 1998): group sizes minus one are negative binomial (a, b), and
  every person is in the sample with probability n/N. a and b solve u = K P(in the sample) and f_1 = K P(one row in it) with
  K groups that make N people; K b^a people are unique. It has no solution for some samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, minimize
from scipy.special import gammaln

from discreet.errors import InvalidRequest
from discreet.protect.lattice_histogram import Floats, Ints


@dataclass(frozen=True)
class Uniqueness:
    """Estimated shares of the population that are unique in it; ``snb`` is None where its equations have no solution.

    ``sample`` is the share of the table's rows that are alone in it.
    """

    sample: float
    zayatz: float
    pitman: float
    snb: float | None


def uniqueness(sizes: Ints, population: int) -> Uniqueness:
    """The share of a ``population`` of so many people that is unique, from the sizes of the sample's groups."""
    sizes = np.asarray(sizes, np.int64)
    rows = int(sizes.sum())
    if isinstance(population, bool) or not isinstance(population, int) or population < rows or rows == 0:
        raise InvalidRequest(
            f"the population must be a number of people not below the table's {rows} rows, got {population!r}"
        )
    size, groups = np.unique(sizes, return_counts=True)
    alone = int(groups[size == 1].sum())
    known = size, groups.astype(float), rows, population
    if population == rows or alone == 0:
        share = alone / rows
        return Uniqueness(share, share, share, share)
    return Uniqueness(alone / rows, zayatz(*known), pitman(*known), snb(*known))


def zayatz(size: Ints, groups: Floats, rows: int, population: int) -> float:
    """The estimate from ``groups`` of each ``size``."""
    one = _single(size, rows, population)
    inverse = float((groups * one).sum())
    alone = float(groups[size == 1].sum())
    return min(1.0, alone * float(alone * one[size == 1].sum()) / inverse / rows) if inverse else 0.0


def _single(size: Ints, rows: int, population: int) -> Floats:
    """The chance that a group of the population is in the sample with one row."""
    inside = population - size >= rows - 1
    left = np.where(inside, population - size, rows)
    logs = np.log(size) + _choose(left, rows - 1) - _choose(np.array(population), rows)
    return np.where(inside, np.exp(logs), 0.0)


def _choose(n: Ints, k: int) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def pitman(size: Ints, groups: Floats, rows: int, population: int) -> float:
    """The estimate at the parameters of largest likelihood."""
    best = None
    for alpha, theta in ((0.1, 1.0), (0.5, 10.0), (0.9, 100.0)):
        start = [np.log(alpha / (1 - alpha)), np.log(theta + alpha)]
        found = minimize(_unlikely, start, (size, groups, rows), method="Nelder-Mead", options={"maxiter": 600})
        best = found if best is None or found.fun < best.fun else best
    assert best is not None
    alpha, theta = _parameters(best.x)
    logs = (
        gammaln(theta + alpha + population - 1) + gammaln(theta + 1) - gammaln(theta + alpha) - gammaln(theta + population)
    )
    return float(np.exp(logs))


def _parameters(point: Floats) -> tuple[float, float]:
    alpha = float(1 / (1 + np.exp(-np.clip(point[0], -30, 30))))
    alpha = min(alpha, 1 - 1e-9)
    return alpha, float(np.exp(np.clip(point[1], -30, 40))) - alpha


def _unlikely(point: Floats, size: Ints, groups: Floats, rows: int) -> float:
    """Minus the logarithm of the likelihood of the partition, without what does not depend on the parameters."""
    alpha, theta = _parameters(point)
    many = int(groups.sum())
    steps = np.log(theta + alpha * np.arange(1, many)).sum()
    spread = gammaln(theta + rows) - gammaln(theta + 1)
    within = (groups * (gammaln(size - alpha) - gammaln(1 - alpha))).sum()
    return float(spread - steps - within)


def snb(size: Ints, groups: Floats, rows: int, population: int) -> float | None:
    """The estimate where the two equations have a solution."""
    rate = rows / population
    many, alone = float(groups.sum()), float(groups[size == 1].sum())

    def wrong(point: Floats) -> Floats:
        a, b = (float(x) for x in np.exp(point))
        unseen, single = _shifted(a, b, rate)
        total = _groups(a, b, population)
        return np.array([total * (1 - unseen) / many - 1, total * single / alone - 1])

    for start in ([-1.0, -1.0], [0.0, -3.0], [-3.0, -5.0], [1.0, -0.5], [-5.0, -2.0]):
        found = least_squares(wrong, start, bounds=([-40.0, -40.0], [10.0, -1e-9]), xtol=1e-14, ftol=1e-14, gtol=1e-14)
        if np.abs(found.fun).max() < 1e-6:
            a, b = np.exp(found.x)
            return float(_groups(a, b, population) * b**a / population)
    return None


def _groups(a: float, b: float, population: int) -> float:
    return float(population / (1 + a * (1 - b) / b))


def _shifted(a: float, b: float, rate: float) -> tuple[float, float]:
    """The chances that a group of the population has no row in the sample, and one row."""
    stay = 1 - rate
    inner = 1 - (1 - b) * stay
    whole = (b / inner) ** a
    return float(stay * whole), float(rate * whole * (1 + stay * a * (1 - b) / inner))
