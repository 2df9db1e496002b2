"""anjana's k-anonymity on the same table and hierarchies: seconds of one run, or that it did not end within the limit.

Arguments: the CSV file, the JSON file with each column's levels by value, columns, k, percent suppressed, seconds allowed.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time

import pandas as pd
from anjana.anonymity import k_anonymity

table, paths, columns, k, percent, limit = sys.argv[1:]
names = columns.split(",")
data = pd.read_csv(table, dtype=str)[names]
ways = json.load(open(paths, encoding="utf-8"))  # noqa: SIM115
hierarchies = {
    name: {
        level: data[name].map({value: way[level] for value, way in ways[name].items()}).to_numpy() for level in range(depth)
    }
    for name, depth in ((name, len(next(iter(ways[name].values())))) for name in names)
}


class Late(Exception):
    """The limit has passed."""


def late(*_: object) -> None:
    raise Late


signal.signal(signal.SIGALRM, late)
signal.alarm(int(limit))
start = time.perf_counter()
rows = None
with contextlib.suppress(Late):
    rows = len(k_anonymity(data, [], names, int(k), float(percent), hierarchies))
seconds = time.perf_counter() - start
signal.alarm(0)
print(json.dumps({"seconds": seconds, "finished": rows is not None, "rows": rows}))
