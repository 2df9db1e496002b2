"""diffprivlib's noise (one number at a time) and the time of its import."""

from __future__ import annotations

import json
import time

start = time.perf_counter()
from diffprivlib import mechanisms  # noqa: E402

imported = time.perf_counter() - start


def rate(mechanism: object, count: int = 3000) -> float:
    mechanism.randomise(0)
    begin = time.perf_counter()
    for _ in range(count):
        mechanism.randomise(0)
    return count / (time.perf_counter() - begin)


result = {
    "laplace": rate(mechanisms.Laplace(epsilon=1, sensitivity=1)),
    "gaussian": rate(mechanisms.GaussianAnalytic(epsilon=1, delta=1e-5, sensitivity=1)),
    "discrete_gaussian": rate(mechanisms.GaussianDiscrete(epsilon=1, delta=1e-5), 300),
    "discrete_laplace": rate(mechanisms.Geometric(epsilon=1, sensitivity=1)),
    "import_s": imported,
}
print(json.dumps(result))
