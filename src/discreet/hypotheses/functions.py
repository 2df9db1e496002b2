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


def two_samples(x: Any, y: Any) -> dict[str, tuple[Any, Any]]:
    """The column that tells two samples apart."""
    labels = np.repeat(np.array(["x", "y"]), [len(x), len(y)])
    return {"group": (labels, Categories(("x", "y")))}
