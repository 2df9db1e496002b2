"""The claims of laws that find keys: a key of a few people, and of one more, by whether and with which number it shows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.accounting.conversions import epsilon as epsilon_of
from discreet.audit.lower_bound import CONFIDENCE, lower_bound
from discreet.audit.row import Row
from discreet.core.cost import Distance
from discreet.core.exact import Exact, Keyed
from discreet.core.mechanism import Mechanism
from discreet.mechanisms import OptimalKeys, ThresholdedKeys, TruncatedKeys


@dataclass(frozen=True)
class KeyCase:
    """A law that finds keys, at a key of ``people`` people and of one more: near the threshold, where one matters most.

    The claim is read at ``delta``: where others have the key, too, that of the law's own noise without the slack, which is
    for keys of one person alone. It promises more than the law as a whole.
    """

    law: Mechanism
    people: int
    delta: float

    @property
    def name(self) -> str:
        return f"{self.law.name} (one key{'' if self.noise is self.law else f', {self.noise.name}'})"

    @property
    def noise(self) -> Mechanism:
        """What others share, and the law itself where it has no noise of its own."""
        inner: Mechanism = getattr(self.law, "law", self.law)
        return inner


KEYS = [
    KeyCase(OptimalKeys(1, "0.01"), 4, 0.02),
    KeyCase(TruncatedKeys(1, "0.01"), 5, 0.02),
    KeyCase(ThresholdedKeys.laplace(Distance.of(1), epsilon=1, delta="0.01", keys=1), 5, 0.0),
    KeyCase(ThresholdedKeys.gaussian(Distance.of(1), epsilon=1, delta="0.02", keys=1), 5, 0.01),
]
# Found with a delta, and with draws for the keys that were met only: its laws are audited one by one here.
STATISTICS, QUERIES = {"categories"}, {"people_by_key"}
_STEP = 0.25  # what is shown is told apart this finely


def audit_key(case: KeyCase, trials: int, confidence: float = CONFIDENCE) -> Row:
    """A law at a key of ``people`` people and at one of one more."""
    start = time.perf_counter()

    def run(count: int, n: int) -> Any:
        names = tuple(str(i) for i in range(n))
        shown = case.law.release(Keyed(names, Exact(np.full(n, count, np.int64))))
        found = (shown.get(name, -1.0) for name in names)
        return np.array([0.0 if value is None else round(value / _STEP) * _STEP for value in found])

    claim = epsilon_of(case.noise.cost(1), case.delta)
    found = lower_bound(run, case.people, case.people + 1, trials, case.delta, confidence=confidence, batched=True).epsilon
    return Row("law", case.name, claim, case.delta, found, found <= claim, time.perf_counter() - start)
