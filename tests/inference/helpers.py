"""What the tests of samplers share: exact comparisons by chains that know nothing of one another."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

RATE = 1e-6  # false alarms of one comparison


def assert_close(draws: Any, mean: float, deviation: float | None = None) -> None:
    """The mean (and standard deviation) of chains is the true one.

    Chains are independent, so their own means are a sample of independent numbers and Student's t says how far off they may
    be, whatever the correlation inside a chain: one false alarm in a million comparisons.
    """
    draws = np.asarray(draws, np.float64)
    limit = float(stats.t.isf(RATE / 2, draws.shape[0] - 1))
    for values, truth in ((draws, mean), *([] if deviation is None else [((draws - mean) ** 2, deviation**2)])):
        each = values.mean(1)
        error = each.std(ddof=1) / np.sqrt(len(each))
        assert abs(each.mean() - truth) < limit * error, (each.mean(), truth, error)
