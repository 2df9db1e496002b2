"""A made-up clinic: patients with several visits each, as real as a demonstration needs. Nobody in it exists."""

from __future__ import annotations

import csv
import io
from statistics import NormalDist
from typing import Any

PATIENTS = 4000

SCHEMA = """\
# What is public about clinic.csv: declared from the form the clinic uses, never read off the table.
person = "patient"
max_rows = 4
neighbors = "add_remove"
expected_rows = 10000

[columns.age]
type = "integer"
bounds = [18, 100]

[columns.sex]
type = "category"
values = ["female", "male"]

[columns.smoker]
type = "category"
values = ["never", "former", "current"]

[columns.bmi]
type = "real"
bounds = [15, 50]

[columns.pressure]
type = "real"
bounds = [80, 220]
"""

RELEASE = """\
title = "Visits to a made-up clinic"
table = "clinic.csv"
schema = "clinic.schema.toml"
ledger = "sqlite:///ledger.db"
name = "clinic"
who = "demo"

[budget]
epsilon = 2

[[ask]]
title = "Number of visits"
statistic = "count"
epsilon = 0.1

[[ask]]
title = "Mean systolic blood pressure (mmHg)"
statistic = "mean"
columns = "pressure"
epsilon = 0.2

[[ask]]
title = "Mean systolic blood pressure by smoking (mmHg)"
statistic = "mean"
columns = "pressure"
by = "smoker"
epsilon = 0.3

[[ask]]
title = "Age at the visit (years)"
statistic = "histogram"
columns = "age"
options = { bins = [18, 30, 40, 50, 60, 70, 80, 90, 100] }
epsilon = 0.2

[[ask]]
title = "Sex and smoking"
statistic = "crosstab"
columns = ["sex", "smoker"]
epsilon = 0.2

[[ask]]
title = "Median body mass index of women"
statistic = "median"
columns = "bmi"
where = { sex = "female" }
options = { interval = true }
epsilon = 0.2

[[ask]]
title = "Correlation of age and blood pressure"
statistic = "correlation"
columns = ["age", "pressure"]
epsilon = 0.3
"""


def clinic(patients: int = PATIENTS) -> str:
    """The table as CSV: the same on every machine, because it comes from a fixed test stream."""
    import numpy as np

    from discreet.core.random import Random

    stream = Random(seed=2024)

    def uniform(size: int) -> Any:
        return (stream.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def normal(size: int) -> Any:
        inverse = NormalDist().inv_cdf
        return np.array([inverse(min(max(float(u), 1e-12), 1 - 1e-12)) for u in uniform(size)])

    age = np.clip(18 + 70 * (uniform(patients) + uniform(patients)) / 2 + 8 * normal(patients), 18, 99)
    male = uniform(patients) < 0.47
    smoking = np.digitize(uniform(patients) + 0.08 * male, [0.52, 0.80])
    bmi = np.exp(3.26 + 0.16 * normal(patients)) + 0.02 * (age - 50)
    pressure = 96 + 0.45 * age + 0.55 * (bmi - 25) + 5.0 * (smoking == 2) + 3.0 * male + 9 * normal(patients)
    visits = 1 + np.floor(-1.6 * np.log1p(-uniform(patients))).astype(int)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["patient", "age", "sex", "smoker", "bmi", "pressure"])
    for i in range(patients):
        for change in normal(int(visits[i])):
            measured = "" if uniform(1)[0] < 0.02 else f"{pressure[i] + 6 * change:.0f}"
            sex, smoker = ("male" if male[i] else "female"), ("never", "former", "current")[smoking[i]]
            writer.writerow([f"P{i:05d}", int(age[i]), sex, smoker, f"{bmi[i]:.1f}", measured])
    return text.getvalue()
