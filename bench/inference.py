"""Posteriors: effective draws a second on three published examples, large tables, and calibration of every model and law."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import discreet as ds
from discreet.core.x64 import jnp
from discreet.inference import (
    BetaBernoulli,
    DirichletMultinomial,
    GammaPoisson,
    LinearRegression,
    LogisticRegression,
    Normal,
    infer,
)
from discreet.inference.outputs.calibration import ranks, unevenness
from discreet.inference.outputs.diagnostics import ess_bulk

ROUNDS = 3
TABLES = int(os.environ.get("BENCH_TABLES", "400"))  # of each calibration; more find smaller faults
# Recorded with the R package dapper on a two-core machine: least bulk effective draws a second, seconds of one chain.
RECORDED = {"example 1": (1.6, 45.0), "example 2": (5.6, 91.0), "example 3": (1.3, 120.0)}
PROMISED = {"example 1": 1000.0, "example 2": 1000.0, "example 3": 200.0}


def example_1() -> tuple[Any, Any, dict[str, Any]]:
    """400 people in a table of 2 x 2, each of two bits flipped with chance 1/4."""
    counted = {(0, 1): 74, (0, 0): 102, (1, 1): 104, (1, 0): 120}
    said = np.array([bits for bits, count in counted.items() for _ in range(count)])
    return ds.Release.of(ds.RandomizedResponse.keeping("0.75", [0, 1]), said), DirichletMultinomial(1.0), {}


def example_2() -> tuple[Any, Any, dict[str, Any]]:
    """The counts of 400 people in a table of 2 x 2, discrete Gaussian noise of deviation 6.25."""
    release = ds.Release.of(ds.DiscreteGaussian("6.25"), [[110, 47], [131, 110]])
    return release, DirichletMultinomial(1.0), {"n": 400}


def regression_sums(record: Any) -> Any:
    """y, x1 y, x2 y, y^2, x1, x1^2, x2, x1 x2, x2^2 of a record clamped to [-10, 10] and divided by 10."""
    a, b = (jnp.clip(record["x"][i], -10, 10) / 10 for i in (0, 1))
    y = jnp.clip(record["y"], -10, 10) / 10
    return jnp.stack([y, a * y, b * y, y * y, a, a * a, b, a * b, b * b])


def example_3() -> tuple[Any, Any, dict[str, Any]]:
    """Regression of 50 records on two covariates, nine clamped sums, Laplace noise of scale 1.5."""
    generator = np.random.default_rng(5)
    x = generator.normal([0.9, -1.17], 1, (50, 2))
    y = -1.79 + x @ np.array([-2.89, -0.66]) + generator.normal(0, np.sqrt(2), 50)
    total = np.sum([np.asarray(regression_sums({"x": a, "y": b})) for a, b in zip(x, y, strict=True)], axis=0)
    model = LinearRegression(2, deviation=2.0, variance=2.0, covariates=([0.9, -1.17], np.eye(2)))
    release = ds.Release.of(ds.Laplace("1.5"), total + generator.laplace(0, 1.5, 9))
    return release, model, {"n": 50, "statistic": regression_sums}


EXAMPLES = {"example 1": example_1, "example 2": example_2, "example 3": example_3}
# Chains, draws and warm-up: of the sampler made for the example, and of the plain sweep.
SETTINGS = {
    "example 1": ((4, 10_000, 0), (32, 2000, 500)),
    "example 2": ((4, 10_000, 0), (32, 1000, 200)),
    "example 3": ((128, 1000, 200), (128, 2000, 500)),
}


def speed(name: str, sampler: str | None) -> dict[str, Any]:
    """Least bulk effective draws a second over parameters, warm-up counted and compilation apart; medians of rounds."""
    release, model, options = EXAMPLES[name]()
    chains, draws, warmup = SETTINGS[name][sampler is not None]
    rates, walls, compiles = [], [], []
    for seed in range(ROUNDS):
        made = infer(release, model, draws=draws, warmup=warmup, chains=chains, seed=seed, sampler=sampler, **options)
        least = min(float(np.min(ess_bulk(values))) for values in made.draws.values())
        rates.append(least / made.seconds)
        walls.append(made.seconds)
        compiles.append(made.compile_seconds)
    middle = statistics.median
    return {"sampler": made.sampler, "a second": middle(rates), "seconds": middle(walls), "compiling": middle(compiles)}


def million() -> dict[str, float]:
    """Seconds in all for 10^6 people in twelve cells, with little and with much noise."""
    shares = np.arange(1, 13) / 78
    found = {}
    for scale in (2, 200):
        release = ds.Release.of(ds.DiscreteLaplace(scale), np.rint(shares * 1e6) + np.arange(-6, 6))
        start = time.perf_counter()
        infer(release, DirichletMultinomial(1.0), n=10**6, seed=1)
        found[f"scale {scale}"] = time.perf_counter() - start
    return found


def stickiness() -> dict[str, float]:
    """Lag-1 correlation at epsilon = 0.1 for one record x ~ N(theta, 1) and noise N(0, 1/epsilon^2)."""
    found = {}
    for sampler in ("sweep", "interweaving"):
        release, model = ds.Release.of(ds.Gaussian(10), 3.0), Normal(0, 100, variance=1.0)
        made = infer(release, model, n=1, statistic=lambda x: x, chains=64, draws=2000, seed=1, sampler=sampler)
        centred = made.draws["mean"] - made.draws["mean"].mean()
        found[sampler] = float((centred[:, 1:] * centred[:, :-1]).mean() / (centred**2).mean())
    return found


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
    found = {}
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
    return {
        "made for it": {name: speed(name, None) for name in EXAMPLES},
        "plain sweep": {name: speed(name, "sweep") for name in EXAMPLES},
        "R, recorded": {name: {"a second": rate, "seconds a chain": wall} for name, (rate, wall) in RECORDED.items()},
        "a million people, seconds": million(),
        "lag-1 correlation": stickiness(),
        "calibration": calibration(),
    }


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    rows: list[tuple[str, float, str, float]] = []
    for name, (rate, _) in RECORDED.items():
        made, plain = result["made for it"][name]["a second"], result["plain sweep"][name]["a second"]
        rows.append((f"{name}: times R, sampler made for it", made / rate, ">=", PROMISED[name]))
        rows.append((f"{name}: times R, plain sweep", plain / rate, ">=", 100.0))
    rows += [(f"a million people, {k}: seconds", v, "<=", 60.0) for k, v in result["a million people, seconds"].items()]
    rows.append(("lag-1 correlation of interweaving", abs(result["lag-1 correlation"]["interweaving"]), "<=", 0.1))
    rows += [(f"calibration, {name}: chance", chance, ">=", 1e-6) for name, chance in result["calibration"].items()]
    return rows
