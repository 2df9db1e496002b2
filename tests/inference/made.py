"""Posteriors made up from known laws, to test what is done with draws without sampling any."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import discreet as ds
from discreet.core.release import Entry
from discreet.inference.outputs.posterior import Posterior
from discreet.statistics.cells import Cells, Factor

ALPHA = (30.0, 40.0, 20.0, 60.0)
SEX_AND_SMOKER = Cells((Factor("category", "sex", labels=("f", "m")), Factor("category", "smoker", labels=("yes", "no"))))


def release(number: int = 1, *, private: bool = True) -> ds.Release:
    """A table of four counts that a ledger paid for."""
    law = ds.DiscreteLaplace(1)
    distance = SEX_AND_SMOKER.distance("add_remove")
    return ds.Release(
        np.array([[29, 41], [18, -1]]), law, SEX_AND_SMOKER, "add_remove", distance, law.cost(distance),
        Entry("people", number, "abc"), private,
    )  # fmt: skip


def posterior(chains: int = 4, count: int = 1000, seed: int = 0, **changes: Any) -> Posterior:
    """Independent draws of shares from a Dirichlet law, and of a count."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(ALPHA, (chains, count)).reshape(chains, count, 2, 2)
    fields: dict[str, Any] = {
        "draws": {"theta": theta, "n": rng.poisson(150, (chains, count))},
        "stats": {
            "acceptance": rng.uniform(size=(chains, count)),
            "acceptance_per_record": rng.uniform(size=(chains, 7)),
        },
        "sampler": "counts",
        "approximate": False,
        "model": {"model": "dirichlet_multinomial", "alpha": 1.0, "columns": None},
        "releases": (release(),),
        "seconds": 0.5,
        "compile_seconds": 0.25,
    }
    return Posterior(**fields | changes)


def odds_ratio(theta: Any) -> Any:
    return theta[..., 0, 0] * theta[..., 1, 1] / (theta[..., 0, 1] * theta[..., 1, 0])


def exact_moments(values: dict[str, Any], *factors: Factor) -> ds.Release:
    """The cells of some columns with next to no noise."""
    from discreet.sources import open_source

    schema = ds.Schema({f.column: ds.Real(f.lo, f.hi) for f in factors}, neighbors="add_remove")
    query = Cells(factors)
    exact = query.evaluate(open_source(values, schema))
    value = exact.counts * float(exact.grid)
    return ds.Release(value, ds.Laplace(Fraction(1, 2**10)), query)
