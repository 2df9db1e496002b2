"""The tests as plain functions on arrays, in SciPy's habit, for someone who holds the data.

All take what to spend and where, as the statistics do: ``epsilon``, ``delta``, ``rho``, ``neighbors``, ``ledger``, ``seed``.
They return a ``Result`` with ``statistic``, ``pvalue`` and ``confidence_interval()``.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from discreet.core.result import Result
from discreet.core.schema import Categories
from discreet.errors import InvalidRequest
from discreet.statistics.functions import Bounds, Setting, ask_of_arrays, declared, numbers_of


def kruskal(*samples: Any, bounds: Bounds, **setting: Unpack[Setting]) -> Result:
    """Whether three samples or more have the same distribution, by their ranks (Kruskal-Wallis)."""
    own = [numbers_of(sample, f"sample {i}") for i, sample in enumerate(samples)]
    labels = tuple(str(i) for i in range(len(own)))
    if len(own) < 3:
        raise InvalidRequest(f"kruskal compares three samples or more, got {len(own)}; two are for mannwhitneyu")
    groups = np.repeat(np.array(labels), [len(sample) for sample in own])
    columns = {"value": (np.concatenate(own), declared(bounds)), "group": (groups, Categories(labels))}
    return ask_of_arrays(columns, setting, "kruskal", "value", by="group")


def mannwhitneyu(x: Any, y: Any, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Whether ``x`` and ``y`` have the same distribution, by their ranks; the value is P(x > y) + P(x = y)/2."""
    columns = two_samples(x, y) | {"value": (np.concatenate([numbers_of(x), numbers_of(y, "y")]), declared(bounds))}
    return ask_of_arrays(columns, setting, "mannwhitneyu", "value", by="group", alternative=alternative)


def ttest_1samp(
    x: Any, popmean: float, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]
) -> Result:
    """Whether the mean of the population of ``x``, clipped to ``bounds``, is ``popmean``."""
    columns = {"x": (numbers_of(x), declared(bounds))}
    return ask_of_arrays(columns, setting, "ttest_1samp", "x", popmean=popmean, alternative=alternative)


def ttest_ind(x: Any, y: Any, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Welch's test of equal means of the populations of ``x`` and ``y``, clipped to common ``bounds``."""
    columns = two_samples(x, y) | {"value": (np.concatenate([numbers_of(x), numbers_of(y, "y")]), declared(bounds))}
    return ask_of_arrays(columns, setting, "ttest_ind", "value", by="group", alternative=alternative)


def ttest_rel(x: Any, y: Any, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Whether the mean of x - y is 0, for pairs; the difference is clipped to ``bounds``."""
    one, other = numbers_of(x), numbers_of(y, "y")
    if len(one) != len(other):
        raise InvalidRequest(f"pairs need as many x as y, got {len(one)} and {len(other)}")
    columns = {"x": (one - other, declared(bounds))}
    return ask_of_arrays(columns, setting, "ttest_1samp", "x", popmean=0.0, alternative=alternative)


def wilcoxon(x: Any, y: Any = None, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Whether ``x``, or x - y for pairs, is spread evenly about 0, by signed ranks; ``bounds`` are of x - y."""
    values = numbers_of(x)
    if y is not None:
        other = numbers_of(y, "y")
        if len(values) != len(other):
            raise InvalidRequest(f"pairs need as many x as y, got {len(values)} and {len(other)}")
        values = values - other
    return ask_of_arrays({"x": (values, declared(bounds))}, setting, "wilcoxon", "x", alternative=alternative)


def two_samples(x: Any, y: Any) -> dict[str, tuple[Any, Any]]:
    """The column that tells two samples apart."""
    labels = np.repeat(np.array(["x", "y"]), [len(x), len(y)])
    return {"group": (labels, Categories(("x", "y")))}
