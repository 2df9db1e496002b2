"""Simulation-based calibration of posteriors: every model with every law, by one sampler or another."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

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

TABLES = int(os.environ.get("BENCH_TABLES", "400"))  # of each calibration; more find smaller faults


def _whole(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A statistic rounded to whole numbers, for the discrete laws."""
    return lambda record: jnp.rint(function(record))


def _moments(x: Any) -> Any:
    kept = jnp.clip(x, -3, 3)
    return jnp.stack([kept, kept**2])


def _sums(record: Any) -> Any:
    x, y = jnp.clip(record["x"][0], -3, 3), jnp.clip(record["y"], -5, 5)
    return jnp.stack([x, x * x, y, x * y, y * y])


LAWS: dict[str, Any] = {
    "laplace": ds.Laplace(2), "laplace on a grid": ds.Laplace(2, grid=1), "gaussian": ds.Gaussian(2),
    "gaussian on a grid": ds.Gaussian(2, grid=1), "discrete_laplace": ds.DiscreteLaplace(2),
    "discrete_gaussian": ds.DiscreteGaussian(2), "spherical_laplace": ds.SphericalLaplace(2),
}  # fmt: skip
MODELS: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "beta_bernoulli": (BetaBernoulli(2, 1), lambda x: jnp.stack([x, 1 - x]), ("sweep", "gibbs", "counts")),
    "dirichlet_multinomial": (DirichletMultinomial(0.8, (3,)), None, ("sweep", "gibbs", "counts")),
    "normal": (Normal(0, 1, variance=(3, 3)), _moments, ("sweep", "interweaving")),
    "gamma_poisson": (GammaPoisson(3, 1), lambda x: jnp.clip(x, 0, 8)[None], ("sweep",)),
    "linear_regression": (
        LinearRegression(1, deviation=1, variance=(3, 3), covariate_deviation=1), _sums, ("sweep", "interweaving"),
    ),
    "logistic_regression": (LogisticRegression(1, deviation=1, covariate_deviation=1), _sums, ("interweaving",)),
}  # fmt: skip


def calibration() -> dict[str, float]:
    """The chance of ranks as uneven as these, for every model, law and sampler: below 1e-6 is a defect."""
    found: dict[str, float] = {}
    for model_name, (model, statistic, samplers) in MODELS.items():
        for law_name, law in LAWS.items():
            read = _whole(statistic) if statistic is not None and "discrete" in law_name else statistic
            sampler = samplers[len(found) % len(samplers)]
            made = ranks(model, law, 10, read, tables=TABLES, thin=12, warmup=100, sampler=sampler, seed=len(found))
            found[f"{model_name}, {law_name}, {sampler}"] = min(unevenness(values) for values in made.values())
    response = ds.RandomizedResponse.keeping("0.75", "abc")
    for sampler in ("sweep", "gibbs", "whole_table"):
        made = ranks(DirichletMultinomial(0.8, (3,)), response, 10, tables=TABLES, thin=12, warmup=100, sampler=sampler)
        found[f"dirichlet_multinomial, randomized_response, {sampler}"] = unevenness(made["theta"])
    two = ds.RandomizedResponse.keeping("0.75", ["no", "yes"])
    made = ranks(BetaBernoulli(2, 1), two, 10, tables=TABLES, thin=12, warmup=100, sampler="whole_table")
    found["beta_bernoulli, randomized_response, whole_table"] = unevenness(made["theta"])
    return found


def run() -> dict[str, Any]:
    return {"chances": calibration()}


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    return [(f"calibration, {name}: chance", chance, ">=", 1e-6) for name, chance in result["chances"].items()]
