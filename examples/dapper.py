"""The three examples of the R package dapper, with the same tables, laws and priors.

    python examples/dapper.py [--quick] [--out DIR]

1. Randomised response: two bits of 400 people, each flipped with probability 1/4.
2. A table of four counts, each with discrete Gaussian noise of standard deviation 6.25.
3. Linear regression of 50 people from nine clamped sums with Laplace noise.

For the first two the posterior is known exactly (by enumeration); it is printed beside what was drawn.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import discreet as ds
from discreet.inference import DirichletMultinomial, LinearRegression, Posterior, infer
from discreet.inference.outputs import naive

# Exact means and standard deviations, in the order m yes, m no, f yes, f no.
EXACT_1 = np.array([[0.2823, 0.3357, 0.1095, 0.2724], [0.0597, 0.0642, 0.0522, 0.0593]])
EXACT_2 = np.array([[0.2760, 0.3280, 0.1200, 0.2760], [0.0259, 0.0269, 0.0210, 0.0259]])
TRUE_TABLE = np.array([[109, 127], [46, 118]]) / 400


def odds_ratio(theta: Any) -> Any:
    """The odds of admission of men over those of women."""
    return theta[..., 0, 0] * theta[..., 1, 1] / (theta[..., 0, 1] * theta[..., 1, 0])


def named(fit: Posterior) -> Posterior:
    """With words for the cells, and the odds ratio."""
    return fit.label("theta", sex=["m", "f"], admitted=["yes", "no"]).derive("odds_ratio", odds_ratio)


def randomized_response(draws: int) -> Posterior:
    """Example 1: what 400 people reported, each bit the truth with probability 3/4."""
    reported = {("m", "yes"): 104, ("m", "no"): 120, ("f", "yes"): 74, ("f", "no"): 102}
    bits = {"m": 1, "f": 0, "yes": 1, "no": 0}
    reports = np.repeat([[bits[a], bits[b]] for a, b in reported], list(reported.values()), axis=0)
    release = ds.Release.of(ds.RandomizedResponse.keeping("0.75", [1, 0]), reports)
    return named(infer(release, DirichletMultinomial(1.0), draws=draws, seed=1))


def table(draws: int) -> Posterior:
    """Example 2: four noisy counts of 400 people."""
    release = ds.Release.of(ds.DiscreteGaussian("6.25"), np.array([[110, 131], [47, 110]]))
    return named(infer(release, DirichletMultinomial(1.0), n=400, draws=draws, seed=2))


BETA, MIDDLE, SPREAD, PEOPLE, CLAMP = np.array([-1.79, -2.89, -0.66]), (0.9, -1.17), 2.0, 50, 10.0


def sums(record: Any) -> Any:
    """What one person adds to the nine sums: products of clamped values, divided by the clamp."""
    x1, x2 = (jnp.clip(record["x"][i], -CLAMP, CLAMP) / CLAMP for i in range(2))
    y = jnp.clip(record["y"], -CLAMP, CLAMP) / CLAMP
    return jnp.stack([y, x1 * y, x2 * y, y * y, x1, x1 * x1, x2, x1 * x2, x2 * x2])


def regression(draws: int, sampler: str | None = None) -> tuple[Posterior, Posterior]:
    """Example 3: simulated people, nine sums with Laplace noise of scale 15/10; and the naive fit to the same sums.

    ``sampler="sweep"`` is dapper's own; by default the one made for the model, which moves further at each step.
    """
    rng = np.random.default_rng(3)
    x = rng.normal(MIDDLE, 1.0, (PEOPLE, 2))
    y = np.column_stack([np.ones(PEOPLE), x]) @ BETA + rng.normal(0, np.sqrt(SPREAD), PEOPLE)
    exact = np.asarray(jax.vmap(sums)({"x": x, "y": y}), np.float64).sum(0)
    release = ds.Release.of(ds.Laplace("1.5"), ds.Laplace("1.5").release(exact, seed=4))
    model = LinearRegression(features=2, deviation=2.0, variance=SPREAD, covariates=(MIDDLE, np.eye(2)))
    aware = infer(release, model, n=PEOPLE, statistic=sums, draws=draws, warmup=draws // 5, seed=3, sampler=sampler)
    y1, xy1, xy2, yy, x1, xx1, x2, xx12, xx2 = np.asarray(release.value)
    moments = np.array([[PEOPLE, x1, x2, y1], [x1, xx1, xx12, xy1], [x2, xx12, xx2, xy2], [y1, xy1, xy2, yy]])
    units = np.array([1.0, CLAMP, CLAMP, CLAMP])
    return aware, naive.regression(moments * np.outer(units, units), PEOPLE, deviation=2.0, variance=SPREAD)


def beside(title: str, fit: Posterior, exact: np.ndarray) -> None:
    """What was drawn, and the exact posterior below it."""
    theta = fit.draws["theta"].reshape(-1, 4)
    print(f"\n{title}\n{fit.summary()}")
    print("means  drawn", np.round(theta.mean(0), 4), " exact", exact[0])
    print("sd     drawn", np.round(theta.std(0), 4), " exact", exact[1])


def main(folder: Path, quick: bool = False) -> list[Path]:
    """Draw all three, print their tables and save their pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    responses, counts = randomized_response(500 if quick else 6000), table(500 if quick else 6000)
    beside("1. Randomised response", responses, EXACT_1)
    beside("2. A table with discrete Gaussian noise", counts, EXACT_2)
    if quick:
        print("\nThe 300 quick draws of the third example are too few: a warning and its picture say so.")
    aware, ignoring = regression(300, "sweep") if quick else regression(25_000)
    print(f"\n3. Linear regression\n{aware.summary()}")
    truth = {"theta": TRUE_TABLE, "odds_ratio": odds_ratio(TRUE_TABLE)}
    pictures = {
        "dapper_response_trace": responses.plot_trace(["theta"]),
        "dapper_response": responses.plot_comparison(responses.naive().derive("odds_ratio", odds_ratio), truth=truth),
        "dapper_table": counts.plot_comparison(counts.naive().derive("odds_ratio", odds_ratio), truth=truth),
        "dapper_regression": aware.plot_comparison(ignoring, truth={"beta": BETA}),
        "dapper_regression_forest": aware.plot_forest(),
    }
    made = [folder / f"{name}.png" for name in pictures]
    for path, figure in zip(made, pictures.values(), strict=True):
        figure.savefig(path, dpi=130)
    return made


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer rows and runs, for a first look")
    options.add_argument("--out", type=Path, default=Path("pictures"), metavar="DIR", help="where pictures go; pictures/")
    given = options.parse_args()
    for made in main(given.out, given.quick):
        print(made)
    print("What to see: where the noise is part of the model the truth lies within the intervals;")
    print("taken at face value, noisy numbers make intervals too short.")
    if given.quick:
        print("These are quick pictures, of few runs: they show what is drawn, not what holds.")
