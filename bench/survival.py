"""Survival curves of a real trial beside lifelines' without privacy: ACTG 175, 2,139 people with HIV, one drug or several.

The file comes with the package lifelines, which has an environment of its own. Without noise the life table must agree with
the product limit of exact times to what bins of 100 days leave; with noise the intervals must hold it.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from examples.hiv_trial import EDGES, SCHEMA, table

import discreet as ds
from bench.environments import ask_peer

EPSILONS = (0.5, 1, 4)
RUNS = 200
_KEPT = list(EDGES[1:-1])


def run() -> dict[str, Any]:
    theirs = ask_peer("lifelines", "survival", json.dumps(_KEPT), str(EDGES[-2]))
    trial = table(theirs["file"])
    exact = ds.Session(trial, SCHEMA, ledger="test", seed=1).survival(
        "days", "event", by="drugs", bins=EDGES, epsilon=math.inf
    )
    curves = np.array([theirs["one"]["survival"], theirs["several"]["survival"]])
    found: dict[str, Any] = {
        "lifelines": theirs["version"],
        "people": [theirs["one"]["people"], theirs["several"]["people"]],
        "largest difference": float(np.abs(np.asarray(exact.value)[:, :-1] - curves).max()),
        "restricted mean, days": [float(np.asarray(exact.restricted_mean(EDGES[-2]).value)[i]) for i in (0, 1)],
        "restricted mean of lifelines, days": [theirs["one"]["restricted"], theirs["several"]["restricted"]],
        "log-rank": [float(exact.logrank().statistic), math.sqrt(theirs["statistic"])],
    }
    for epsilon in EPSILONS:
        held = rejected = 0.0
        for seed in range(RUNS):
            session = ds.Session(trial, SCHEMA, ledger="test", seed=seed)
            noisy = session.survival("days", "event", by="drugs", bins=EDGES, epsilon=epsilon)
            low, high = (np.asarray(end)[:, :-1] for end in noisy.interval(of="population"))
            held += float(((low <= curves) & (curves <= high)).mean()) / RUNS
            rejected += float(noisy.logrank().pvalue <= 0.05) / RUNS
        found[f"epsilon {epsilon:g}"] = {"intervals that hold lifelines' curve": held, "log-rank rejects": rejected}
    return found


def checks(found: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    means = zip(found["restricted mean, days"], found["restricted mean of lifelines, days"], strict=True)
    ours, theirs = (abs(z) for z in found["log-rank"])
    rows = [
        ("largest difference of survival from lifelines, without noise", found["largest difference"], "<=", 0.01),
        ("largest difference of restricted means, days of 1,000", max(abs(a - b) for a, b in means), "<=", 5.0),
        ("log-rank statistics differ by", abs(ours / theirs - 1), "<=", 0.05),
    ]
    for epsilon in EPSILONS:
        held = found[f"epsilon {epsilon:g}"]["intervals that hold lifelines' curve"]
        rows.append((f"intervals for the population hold lifelines' curve, epsilon {epsilon:g}", held, ">=", 0.95))
    return rows
