"""Questions from end to end: everybody reports, the server concludes, in one call.

Here both halves run in one process, which is for studies and for people who hold the values of others already; in
the field ``report`` runs on each device and ``estimate`` on the server, with the same laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import numpy as np

from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.local.best import best_mean, best_oracle
from discreet.local.dyadic_tree import Distribution, DyadicTree
from discreet.local.estimate import Estimate
from discreet.local.frequency import Label
from discreet.local.hybrid import Hybrid
from discreet.local.scalar import Bounds, as_floats
from discreet.mechanisms.sampling.uniform import Integers

Seed = int | Random | None


def frequencies(
    values: Any, *, categories: int | Sequence[Label], epsilon: Number, other: Label | None = None, seed: Seed = None
) -> Estimate:
    """The share of each declared category, by the best oracle."""
    law = best_oracle(categories, epsilon, other=other)
    return law.estimate(law.reports(values, seed=seed))


def mean(values: Any, *, bounds: Bounds, epsilon: Number, seed: Seed = None) -> Estimate:
    """The mean of numbers in a public range, by the hybrid law."""
    law = Hybrid(epsilon, bounds)  # type: ignore[arg-type]
    return law.estimate(law.reports(values, seed=seed))


def vector_mean(
    values: Any, *, epsilon: Number, bounds: Bounds = (-1, 1), radius: Number | None = None, seed: Seed = None
) -> Estimate:
    """The mean of vectors in a box (``bounds`` of every coordinate) or in a ball (``radius``), by the best law."""
    rows = as_floats(values, 2)
    law = best_mean(rows.shape[1], epsilon, bounds=bounds, radius=radius)
    return law.estimate(law.reports(rows, seed=seed))


def histogram(values: Any, *, edges: Sequence[Number], epsilon: Number, seed: Seed = None) -> Estimate:
    """The share of numbers between each two neighbours of the public ``edges``; the labels are the pairs."""
    ends = read_edges(edges)
    law = best_oracle(len(ends) - 1, epsilon)
    found = law.estimate(law.reports(bins(values, ends), seed=seed))
    return replace(found, labels=tuple(pairwise(ends)))


def distribution(values: Any, *, bounds: Bounds, epsilon: Number, depth: int = 8, seed: Seed = None) -> Distribution:
    """The share of numbers below each of 2^depth - 1 edges; it gives every quantile with an interval."""
    law = DyadicTree(epsilon, bounds, depth)  # type: ignore[arg-type]
    return cast(Distribution, law.estimate(law.reports(values, seed=seed)))


def quantile(values: Any, q: float, *, bounds: Bounds, epsilon: Number, depth: int = 8, seed: Seed = None) -> float:
    """The point below which a share q of the numbers lies."""
    return distribution(values, bounds=bounds, epsilon=epsilon, depth=depth, seed=seed).quantile(q)


def read_edges(edges: Sequence[Number]) -> list[float]:
    """Public bin edges as increasing doubles; at least three, so that there are two bins."""
    ends = [float(e) for e in edges]
    if len(ends) < 3 or any(not a < b for a, b in pairwise(ends)):
        raise InvalidRequest(f"edges must be at least three increasing numbers, got {list(edges)!r:.80}")
    return ends


def bins(values: Any, edges: Sequence[float]) -> Integers:
    """What a device does before it reports: the bin of its number, the nearest one outside, the middle one if missing."""
    found = as_floats(values, 1)
    place = np.searchsorted(np.asarray(edges), found, side="right") - 1
    place = np.clip(place, 0, len(edges) - 2)
    return np.where(np.isnan(found), (len(edges) - 1) // 2, place).astype(np.int64)
