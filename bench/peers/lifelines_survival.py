"""lifelines' survival curves and log-rank tests of the trial that it carries, and where the trial's file lies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import lifelines
import numpy as np
from lifelines import KaplanMeierFitter
from lifelines.datasets import load_dataset
from lifelines.statistics import logrank_test
from lifelines.utils import restricted_mean_survival_time

edges, until = json.loads(sys.argv[1]), float(sys.argv[2])
trial = load_dataset("ACTG175.csv")
arms = {name: trial[trial["treat"] == code] for name, code in (("one", 0), ("several", 1))}
found = {"version": lifelines.__version__, "file": str(Path(lifelines.__file__).parent / "datasets" / "ACTG175.csv")}
for name, own in arms.items():
    curve = KaplanMeierFitter().fit(own["days"], own["cens"])
    found[name] = {
        "survival": np.asarray(curve.survival_function_at_times(edges)).tolist(),
        "restricted": float(restricted_mean_survival_time(curve, t=until)),
        "people": len(own),
    }
test = logrank_test(arms["one"]["days"], arms["several"]["days"], arms["one"]["cens"], arms["several"]["cens"])
found["pvalue"], found["statistic"] = float(test.p_value), float(test.test_statistic)
print(json.dumps(found))
