"""The claims of laws that find keys: a key of a few people, and of one more, by whether and with which number it shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.accounting.conversions import epsilon as epsilon_of
from discreet.audit.lower_bound import CONFIDENCE, lower_bound
from discreet.audit.row import Row
from discreet.core.cost import Distance
from discreet.core.exact import Exact, Keyed
from discreet.core.mechanism import Mechanism
from discreet.mechanisms import OptimalKeys, ThresholdedKeys, TruncatedKeys

# Near the threshold, where one person matters most.
KEYS: list[tuple[Mechanism, int]] = [
    (OptimalKeys(1, "0.01"), 4),
    (TruncatedKeys(1, "0.01"), 5),
    (ThresholdedKeys.laplace(Distance.of(1), epsilon=1, delta="0.01", keys=1), 5),
    (ThresholdedKeys.gaussian(Distance.of(1), epsilon=1, delta="0.02", keys=1), 5),
]
# Found with a delta, and with draws for the keys that were met only: its laws are audited one by one here.
STATISTICS, QUERIES = {"categories"}, {"people_by_key"}
_STEP = 0.25  # what is shown is told apart this finely
_DELTA = 0.02


def audit_keys(trials: int, confidence: float = CONFIDENCE) -> Iterator[Row]:
    """Every law that finds keys."""
    for law, people in KEYS:
        yield audit_key(law, people, trials, confidence)


def audit_key(law: Mechanism, people: int, trials: int, confidence: float = CONFIDENCE) -> Row:
    """A law at a key of ``people`` people and at one of one more."""
    start = time.perf_counter()

    def run(count: int, n: int) -> Any:
        names = tuple(str(i) for i in range(n))
        shown = law.release(Keyed(names, Exact(np.full(n, count, np.int64))))
        found = (shown.get(name, -1.0) for name in names)
        return np.array([0.0 if value is None else round(value / _STEP) * _STEP for value in found])

    claim = epsilon_of(law.cost(1), _DELTA)
    found = lower_bound(run, people, people + 1, trials, _DELTA, confidence=confidence, batched=True).epsilon
    return Row("law", f"{law.name} (one key)", claim, _DELTA, found, found <= claim, time.perf_counter() - start)
