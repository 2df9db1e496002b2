"""What is said of the population lies in its interval, and within what the bounds allow, also in tables of few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.query import RELATIONS, Relation
from tests.hypotheses.test_sensitivities import ASKED, COLUMNS, MANY

LIKE = (
    "ttest_1samp",
    "ttest_rel",
    "ttest_ind",
    "binomtest",
    "pearsonr",
    "linregress",
    "equal_variances",
    "mean",
    "variance",
)
MORE: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    **{name: ASKED[name] for name in (*LIKE, "covariance", "correlation", "share", "logrank")},
    "std": (("x",), {"of": "population"}),
    "pooled_variance": (("x",), {"by": "town", "of": "population"}),
    "pooled_covariance": (("x", "y"), {"by": "town", "of": "population"}),
    "mannwhitneyu": (("x",), {"by": "arm"}),
    "compare": (("x",), {"by": "town"}),
}
MOST = {
    "variance": 4.0,
    "std": 2.0,
    "pooled_variance": 4.0,
    "covariance": 1.0,
    "pooled_covariance": 1.0,
    "equal_variances": 4.0,
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", MORE)
def test_the_value_lies_in_its_interval(name: str, relation: Relation) -> None:
    """Ten tables of one to eight people and of nobody, at a small and a large epsilon."""
    args, options = MORE[name]
    schema, rng = ds.Schema(COLUMNS, neighbors=relation), np.random.default_rng(4)  # type: ignore[arg-type]
    for seed, rows in enumerate((1, 2, 2, 3, 3, 3, 4, 8, 8, 0)):
        if relation == "replace" and not rows:
            continue
        table = {key: [MANY[i][key] for i in rng.integers(0, len(MANY), rows)] for key in COLUMNS}
        for epsilon in (0.2, 20):
            told = ds.Session(table, schema, ledger="test", seed=seed).ask(name, *args, epsilon=epsilon, **options)
            value = np.asarray(told.value, np.float64)
            low, high = (np.asarray(end, np.float64) for end in told.interval(0.95, of="population"))
            assert (low <= value).all(), (rows, epsilon)
            assert (value <= high).all(), (rows, epsilon)
            assert (np.abs(np.stack([low, value, high])) <= MOST.get(name, np.inf) * (1 + 1e-12)).all(), (rows, epsilon)
