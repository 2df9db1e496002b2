"""The tests as plain functions on arrays, in SciPy's habit, for someone who holds the data.

All take what to spend and where, as the statistics do: ``epsilon``, ``delta``, ``rho``, ``neighbors``, ``ledger``, ``seed``.
They return a ``Result`` with ``statistic``, ``pvalue`` and ``confidence_interval()``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from discreet.core.result import Result
from discreet.core.schema import Categories, Column
from discreet.errors import InvalidRequest
from discreet.hypotheses.ranks import DRAWS
from discreet.hypotheses.reading import LEAST_DRAWS
from discreet.statistics.functions import Bounds, Setting, ask_of_arrays, declared, numbers_of, two_columns


def binomtest(x: Any, p: float = 0.5, *, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Whether the share of successes is ``p`` in the population of ``x``, an array of booleans (or of 0 and 1)."""
    array = np.asarray(x)
    if array.ndim != 1 or array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise InvalidRequest("x must be one column of booleans, or of 0 and 1")
    columns = {"x": (np.where(array.astype(bool), "yes", "no"), Categories(("no", "yes"), missing="no"))}
    return ask_of_arrays(columns, setting, "binomtest", "x", p=p, alternative=alternative)


def chi2_contingency(
    x: Any, y: Any, *, categories: Sequence[Sequence[Any]], draws: int = LEAST_DRAWS, **setting: Unpack[Setting]
) -> Result:
    """Whether ``x`` and ``y`` are independent in their population; ``categories`` are the public labels of each."""
    if len(categories) != 2:
        raise InvalidRequest(f"give one list of categories for x and one for y, got {len(categories)}")
    columns = {n: (np.asarray(v), Categories(tuple(c))) for n, v, c in zip("xy", (x, y), categories, strict=True)}
    return ask_of_arrays(columns, setting, "chi2_contingency", "x", "y", draws=draws)


def chisquare(
    x: Any,
    *,
    categories: Sequence[Any],
    shares: Sequence[float] | None = None,
    draws: int = LEAST_DRAWS,
    **setting: Unpack[Setting],
) -> Result:
    """Whether the public ``categories`` have given ``shares`` in the population of ``x``, even ones by default."""
    columns = {"x": (np.asarray(x), Categories(tuple(categories)))}
    return ask_of_arrays(columns, setting, "chisquare", "x", shares=shares, draws=draws)


def compare(x: Any, by: Any, *, bounds: Bounds, categories: Sequence[Any], **setting: Unpack[Setting]) -> Result:
    """The means of ``x`` in the groups that ``by`` names, their differences and the test of their equality: one release."""
    groups = Categories(tuple(categories))
    columns: dict[str, tuple[Any, Column]] = {"x": (numbers_of(x), declared(bounds)), "group": (np.asarray(by), groups)}
    return ask_of_arrays(columns, setting, "compare", "x", by="group")


def equal_variances(x: Any, y: Any, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Whether the populations of ``x`` and ``y``, clipped to common ``bounds``, have the same variance."""
    return ask_of_arrays(_samples((x, y), bounds), setting, "equal_variances", "value", by="group", alternative=alternative)


def f_oneway(*samples: Any, bounds: Bounds, draws: int = LEAST_DRAWS, **setting: Unpack[Setting]) -> Result:
    """Whether three or more populations, clipped to common ``bounds``, have the same mean."""
    return ask_of_arrays(_samples(samples, bounds), setting, "f_oneway", "value", by="group", draws=draws)


def kruskal(*samples: Any, bounds: Bounds, draws: int = DRAWS, **setting: Unpack[Setting]) -> Result:
    """Whether three populations or more have the same distribution, by ranks (Kruskal-Wallis)."""
    return ask_of_arrays(_samples(samples, bounds), setting, "kruskal", "value", by="group", draws=draws)


def ks_2samp(
    x: Any,
    y: Any,
    *,
    bounds: Bounds,
    bins: int | Sequence[float] | None = None,
    draws: int = LEAST_DRAWS,
    **setting: Unpack[Setting],
) -> Result:
    """Whether ``x`` and ``y`` have the same distribution, by the largest gap of their curves; with ``bins`` from counts."""
    return ask_of_arrays(_samples((x, y), bounds), setting, "ks_2samp", "value", by="group", bins=bins, draws=draws)


def linregress(
    x: Any,
    y: Any,
    *,
    bounds: Sequence[Bounds],
    within: Sequence[float] | None = None,
    alternative: str = "two-sided",
    **setting: Unpack[Setting],
) -> Result:
    """The slope of ``y`` on ``x``, each clipped to its bounds, its interval ``within`` two public slopes, and if it is 0."""
    columns = two_columns(x, y, bounds)
    return ask_of_arrays(columns, setting, "linregress", "x", "y", within=within, alternative=alternative)


def mannwhitneyu(x: Any, y: Any, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Whether ``x`` and ``y`` have the same distribution, by ranks; the value is P(x > y) + P(x = y)/2."""
    return ask_of_arrays(_samples((x, y), bounds), setting, "mannwhitneyu", "value", by="group", alternative=alternative)


def pearsonr(
    x: Any, y: Any, *, bounds: Sequence[Bounds], alternative: str = "two-sided", **setting: Unpack[Setting]
) -> Result:
    """The correlation of ``x`` and ``y``, each clipped to its bounds, its interval, and whether it is 0."""
    return ask_of_arrays(two_columns(x, y, bounds), setting, "pearsonr", "x", "y", alternative=alternative)


def ttest_1samp(
    x: Any, popmean: float, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]
) -> Result:
    """Whether the mean of the population of ``x``, clipped to ``bounds``, is ``popmean``."""
    columns = {"x": (numbers_of(x), declared(bounds))}
    return ask_of_arrays(columns, setting, "ttest_1samp", "x", popmean=popmean, alternative=alternative)


def ttest_ind(x: Any, y: Any, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Welch's test of equal means of the populations of ``x`` and ``y``, clipped to common ``bounds``."""
    return ask_of_arrays(_samples((x, y), bounds), setting, "ttest_ind", "value", by="group", alternative=alternative)


def ttest_rel(x: Any, y: Any, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Whether the mean of x - y is 0, for pairs; the difference is clipped to ``bounds``."""
    one, other = numbers_of(x), numbers_of(y, "y")
    if len(one) != len(other):
        raise InvalidRequest(f"pairs need as many x as y, got {len(one)} and {len(other)}")
    columns = {"x": (one - other, declared(bounds))}
    return ask_of_arrays(columns, setting, "ttest_1samp", "x", popmean=0.0, alternative=alternative)


def two_sample(x: Any, y: Any, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Whether the populations of ``x`` and ``y`` differ, by the test that finds most at its price (ranks)."""
    return ask_of_arrays(_samples((x, y), bounds), setting, "two_sample", "value", by="group", alternative=alternative)


def wilcoxon(x: Any, y: Any = None, *, bounds: Bounds, alternative: str = "two-sided", **setting: Unpack[Setting]) -> Result:
    """Whether ``x``, or x - y for pairs, is spread evenly about 0, by signed ranks; ``bounds`` are of x - y."""
    values = numbers_of(x)
    if y is not None:
        other = numbers_of(y, "y")
        if len(values) != len(other):
            raise InvalidRequest(f"pairs need as many x as y, got {len(values)} and {len(other)}")
        values = values - other
    return ask_of_arrays({"x": (values, declared(bounds))}, setting, "wilcoxon", "x", alternative=alternative)


def _samples(samples: Sequence[Any], bounds: Bounds) -> dict[str, tuple[Any, Column]]:
    """Several samples as one column of values and one that tells them apart."""
    values = [numbers_of(sample, f"sample {i + 1}") for i, sample in enumerate(samples)]
    if len(values) < 2:
        raise InvalidRequest(f"give at least two samples, got {len(values)}")
    names = tuple(f"sample {i + 1}" for i in range(len(values)))
    labels = np.repeat(np.array(names), [len(v) for v in values])
    return {"value": (np.concatenate(values), declared(bounds)), "group": (labels, Categories(names, missing=names[0]))}
