"""Simulation-based calibration, one law for each built-in model; the bench has every law and far more tables.

120 tables each, ranks among 15 thinned draws in 4 groups: a chi-squared chance below 1e-6 fails.
"""

from __future__ import annotations

from typing import Any

import pytest

import discreet as ds
from discreet.core.x64 import jnp
from discreet.inference import (
    BetaBernoulli,
    DirichletMultinomial,
    GammaPoisson,
    LinearRegression,
    LogisticRegression,
    Normal,
)
from discreet.inference.outputs.calibration import ranks, unevenness

from .helpers import RATE


def moments(x: Any) -> Any:
    kept = jnp.clip(x, -3, 3)
    return jnp.stack([kept, kept**2])


def sums(record: Any) -> Any:
    x, y = jnp.clip(record["x"][0], -3, 3), jnp.clip(record["y"], -5, 5)
    return jnp.stack([x, x * x, y, x * y, y * y])


CASES = [
    (BetaBernoulli(2, 1), ds.DiscreteLaplace(2), lambda x: [x], "sweep"),
    (DirichletMultinomial(0.8, (3,)), ds.DiscreteGaussian(2), None, "gibbs"),
    (Normal(0, 1, variance=(3, 3)), ds.Laplace(2), moments, "interweaving"),
    (GammaPoisson(3, 1), ds.Gaussian(2, grid=1), lambda x: jnp.clip(x, 0, 8)[None], "sweep"),
    (LinearRegression(1, deviation=1, variance=(3, 3), covariate_deviation=1), ds.Gaussian(3), sums, "interweaving"),
    (LogisticRegression(1, deviation=1, covariates=([0.0], [[1.0]])), ds.Laplace(2), sums, "sweep"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].name}-{case[1].name}-{case[3]}")
def test_ranks_are_uniform(case: Any) -> None:
    model, law, statistic, sampler = case
    for name, found in ranks(model, law, 8, statistic, tables=120, sampler=sampler, thin=8, warmup=60).items():
        assert unevenness(found) > RATE, name
