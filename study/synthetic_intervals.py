"""How often 95 % intervals from synthetic tables cover what is true of the population, beside one table taken for real.

A run draws people from a population whose means, shares, differences and logistic coefficients are known, makes synthetic
tables of them through a session, and asks for four kinds of interval. The naive analysis takes ``.table`` for the data.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

import discreet as ds
from discreet.synthetic.estimates import Analysis
from study.harness import Row

RUNS, PART = 3000, 20
SETTINGS: list[dict[str, Any]] = [
    {"n": 1000, "rho": "0.02", "relation": "add_remove"},
    {"n": 1000, "rho": "0.1", "relation": "replace"},
    {"n": 5000, "rho": "0.005", "relation": "add_remove"},
    {"n": 5000, "rho": "1", "relation": "add_remove"},
]
COLUMNS = {
    "arm": ds.Categories(["a", "b"], missing="a"),
    "sex": ds.Categories(["f", "m"], missing="f"),
    "age": ds.Integer(0, 4, missing=0),
    "event": ds.Categories(["no", "yes"], missing="no"),
}
WORKLOAD = [["arm", "age", "event"], ["sex", "age"]]
ANALYSES: dict[str, Analysis] = {
    "mean": ds.synthetic.mean("age"),
    "share": ds.synthetic.share("event", "yes"),
    "difference": ds.synthetic.difference("age", by="sex", between=("f", "m")),
    "logistic": ds.synthetic.regression("event", ["arm", "age"], yes="yes"),
}
_COEFFICIENTS = {"arm = b": -0.6, "age": 0.4, "constant": -1.2}


@lru_cache(maxsize=1)
def population() -> npt.NDArray[np.float64]:
    """The probability of every arm, sex, age and event."""
    shares = np.array([[0.1, 0.2, 0.3, 0.25, 0.15], [0.2, 0.25, 0.25, 0.2, 0.1]])  # of ages, by sex
    made = np.zeros((2, 2, 5, 2))
    for arm in range(2):
        for age in range(5):
            score = _COEFFICIENTS["arm = b"] * arm + _COEFFICIENTS["age"] * age + _COEFFICIENTS["constant"]
            chance = 1 / (1 + math.exp(-score))
            for sex in range(2):
                made[arm, sex, age] = 0.5 * (0.55, 0.45)[sex] * shares[sex, age] * np.array([1 - chance, chance])
    return made


@lru_cache(maxsize=1)
def truths() -> dict[str, npt.NDArray[np.float64]]:
    """What the intervals should cover."""
    p, ages = population(), np.arange(5)
    by_sex = [p.sum((0, 3))[sex] @ ages / p.sum((0, 2, 3))[sex] for sex in range(2)]
    return {
        "mean": np.array([p.sum((0, 1, 3)) @ ages]),
        "share": np.array([p[..., 1].sum()]),
        "difference": np.array([by_sex[0] - by_sex[1]]),
        "logistic": np.array(list(_COEFFICIENTS.values())),
    }


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How many intervals cover, of each kind, and how many of the naive ones; and the sum of their lengths."""
    rng = np.random.default_rng(seed)
    schema = ds.Schema(COLUMNS, neighbors=setting["relation"])
    found: dict[str, float] = {}
    for place in range(runs):
        cells = rng.choice(40, setting["n"], p=population().ravel())
        codes = np.unravel_index(cells, (2, 2, 5, 2))
        labels = [np.array(["a", "b"]), np.array(["f", "m"]), np.arange(5), np.array(["no", "yes"])]
        table = {name: each[code] for name, each, code in zip(COLUMNS, labels, codes, strict=True)}
        session = ds.Session(table, schema, ledger="test", seed=seed + place)
        made = session.synthesize(list(COLUMNS), workload=WORKLOAD, rho=setting["rho"], tables=50)
        low, high = made.analyse(everything).interval(0.95)
        value, spread = everything({name: made.table.column(name).to_pandas().to_numpy() for name in COLUMNS})
        reach = 1.96 * np.sqrt(spread)
        truth = np.concatenate(list(truths().values()))
        for prefix, ends in (("", (low, high)), ("naive ", (value - reach, value + reach))):
            covered = np.split((ends[0] <= truth) & (truth <= ends[1]), _ENDS)
            lengths = np.split(ends[1] - ends[0], _ENDS)
            for word, hits, length in zip(ANALYSES, covered, lengths, strict=True):
                for key, amount in ((word, hits.mean()), (f"{word} length", length.mean())):
                    found[prefix + key] = found.get(prefix + key, 0.0) + float(amount)
    return found


_ENDS = [1, 2, 3]  # one mean, one share, one difference, and the coefficients


def everything(table: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """All estimates and their variances, in the order of ``ANALYSES``."""
    found = [analysis(table) for analysis in ANALYSES.values()]
    flat = [[*x.values()] if isinstance(x, dict) else [x] for pair in found for x in pair]
    return np.concatenate(flat[::2]), np.concatenate(flat[1::2])


def rows(results: Any) -> list[Row]:
    """Coverage between .93 and .97, four deviations wider where fewer runs were made."""
    made = []
    for setting, runs, tallies in results:
        slack = 0.0 if runs >= RUNS else 4 * math.sqrt(0.05 * 0.95 / runs)
        for word in ANALYSES:
            naive = f"naive {tallies[f'naive {word}'] / runs:.3f}"
            length = f"{tallies[f'{word} length'] / tallies[f'naive {word} length']:.2f} times as long"
            words = f"{word}, {setting['n']} people, rho {setting['rho']}, {setting['relation']}, {runs} runs"
            words = f"{words} ({naive}, {length})"
            made.append(Row(words, tallies[word] / runs, ">=", 0.93 - slack))
            made.append(Row(words, tallies[word] / runs, "<=", 0.97 + slack))
    return made
