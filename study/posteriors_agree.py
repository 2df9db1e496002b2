"""Do posteriors agree with population intervals? Both from one release, of normal, Bernoulli and Poisson populations.

A model knows more than an interval that holds for every population: of a Poisson population that the variance is the mean.
Where noise hides the variance, at small epsilon, its posterior is therefore the narrower; settings here are of epsilon 1 on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet as ds
from study.harness import Row

SETTINGS: list[dict[str, Any]] = [
    {"population": population, "relation": relation, "n": n, "epsilon": epsilon}
    for population in ("bernoulli", "normal", "poisson")
    for relation in ("add_remove", "replace")
    for n, epsilon in ((2000, 2), (10_000, 1))
]
RUNS = 1
PART = 1
WITHIN = 0.1


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How often a length or an end is further off than a tenth of the length, and the sum of the ratios of lengths."""
    made = [compare(setting, seed + i) for i in range(runs)]
    return {"apart": float(sum(off > WITHIN for _, off in made)), "ratio": sum(ratio for ratio, _ in made)}


def compare(setting: dict[str, Any], seed: int, draws: int = 4000) -> tuple[float, float]:
    """The posterior's length over the interval's, and the furthest that an end or a length is off, in lengths."""
    from discreet.inference import BetaBernoulli, GammaPoisson, Normal, infer

    rng, n = np.random.default_rng(seed), setting["n"]
    price: dict[str, Any] = {"epsilon": setting["epsilon"], "neighbors": setting["relation"], "seed": seed}
    model: Any
    if setting["population"] == "bernoulli":
        model, name, rows = BetaBernoulli(1, 1), "theta", n if setting["relation"] == "replace" else None
        answer = ds.share(np.where(rng.random(n) < 0.3, "yes", "no"), categories=["no", "yes"], **price)
    elif setting["population"] == "normal":
        model, name, rows = Normal(50, 100, variance=(1.0, 50.0)), "mean", None
        answer = ds.mean(rng.normal(50, 10, n), bounds=(0, 100), of="population", **price)
    else:
        model, name, rows = GammaPoisson(1, 0.1), "rate", None
        answer = ds.mean(rng.poisson(4, n).astype(float), bounds=(0, 20), of="population", **price)
    low, high = (float(np.ravel(end)[-1]) for end in answer.interval(0.95, of="population"))
    first, last = infer(answer, model, n=rows, draws=draws, warmup=100, chains=2, seed=seed).interval(name)
    length = high - low
    ratio = float(last - first) / length
    return ratio, max(abs(ratio - 1), abs(float(first) - low) / length, abs(float(last) - high) / length)


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    """No posterior is off by more than a tenth."""
    found = []
    for setting, count, tally in results:
        words = f"{setting['population']}, {setting['relation']}, n = {setting['n']}, epsilon {setting['epsilon']}"
        words += f": further apart than a tenth (length {tally['ratio'] / count:.3f} of the interval's)"
        found.append(Row(words, tally["apart"], "<=", 0.0))
    return found
