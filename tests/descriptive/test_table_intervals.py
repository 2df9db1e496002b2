"""Reported errors and intervals over the noise, as the study measures them."""

from __future__ import annotations

import pytest
from study import table_intervals


@pytest.mark.parametrize("name", ["mean", "covariance", "crosstab"])
def test_the_study_of_intervals_in_short(name: str) -> None:
    """300 runs of one of its settings: binomial(300, 0.95) falls below 262 with probability 7e-8."""
    setting = {"statistic": name, "neighbors": "replace", "price": "epsilon .5, delta 1e-5"}
    found = table_intervals.run(setting, 0, 300)
    assert found["inside"] >= 262
    [error, coverage] = table_intervals.rows([(setting, 300, found)])
    assert error.value < 0.25
    assert 0 <= coverage.value <= 1
