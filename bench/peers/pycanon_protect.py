"""pycanon's measures of tables: for every CSV file and its columns in a JSON list, k, l, entropy-l, c and t."""

from __future__ import annotations

import json
import sys

import pandas as pd
from pycanon import anonymity

found = []
for job in json.load(open(sys.argv[1], encoding="utf-8")):  # noqa: SIM115
    table = pd.read_csv(job["table"], dtype=str, keep_default_na=False)
    ask = (table, job["columns"], [job["sensitive"]])
    found.append(
        {
            "k": anonymity.k_anonymity(table, job["columns"]),
            "l": anonymity.l_diversity(*ask),
            "entropy_l": anonymity.entropy_l_diversity(*ask),
            "t": float(anonymity.t_closeness(*ask)),
        }
    )
print(json.dumps(found))
