"""diffprivlib's logistic regression: milliseconds of a fit, and accuracies on rows held out.

Arguments: an .npz file with x, y and, where accuracy is wanted, held_x and held_y; the number of timed fits; of judged ones.
Rows have a norm of at most 1.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

warnings.simplefilter("ignore")
path, rounds, judged = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data = np.load(path)
x, y = data["x"], data["y"]
seconds, right = [], []
for i in range(max(rounds + 1, judged)):
    model = LogisticRegression(epsilon=1.0, data_norm=1.0, C=1.0, random_state=i)
    start = time.perf_counter()
    model.fit(x, y)
    seconds.append(time.perf_counter() - start)
    if i < judged:
        right.append(float((model.predict(data["held_x"]) == data["held_y"]).mean()))
print(json.dumps({"ms": 1e3 * statistics.median(seconds[1 : rounds + 1] or seconds), "accuracy": right}))
