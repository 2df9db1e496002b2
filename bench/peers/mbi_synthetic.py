"""MST as printed (McKenna, Miklau and Sheldon 2021), on mbi's graphical model, of a table of levels."""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from importlib.metadata import version
from itertools import combinations

import mbi
import numpy as np

asked = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_CPU, (asked["limit"],) * 2)
rng = np.random.default_rng(1)


def measured(cliques: list[tuple[str, ...]], rho: float) -> list[mbi.LinearMeasurement]:
    sigma = math.sqrt(len(cliques) / (2 * rho))
    noisy = [counts(clique) + rng.normal(0, sigma, domain.size(clique)) for clique in cliques]
    return [mbi.LinearMeasurement(y, clique, sigma) for y, clique in zip(noisy, cliques, strict=True)]


def counts(clique: tuple[str, ...]) -> np.ndarray:
    shape = tuple(sizes[name] for name in clique)
    place = np.ravel_multi_index(tuple(table[name] for name in clique), shape)
    return np.bincount(place, minlength=math.prod(shape)).astype(float)


def tree(rho: float, alone: dict[str, np.ndarray]) -> list[tuple[str, ...]]:
    """Pairs that tie the columns together, by the exponential mechanism on how far each is from independence."""
    pairs = list(combinations(table, 2))
    apart = {(a, b): np.abs(counts((a, b)) - np.outer(alone[a], alone[b]).ravel() / rows).sum() for a, b in pairs}
    group = {name: name for name in table}
    chosen: list[tuple[str, ...]] = []
    power = math.sqrt(8 * rho / (len(table) - 1))
    while len(chosen) < len(table) - 1:
        left = [pair for pair in pairs if group[pair[0]] != group[pair[1]]]
        score = power / 2 * np.array([apart[pair] for pair in left])
        chance = np.exp(score - score.max())
        a, b = left[rng.choice(len(left), p=chance / chance.sum())]
        chosen.append((a, b))
        group = {name: group[a] if g == group[b] else g for name, g in group.items()}
    return chosen


with np.load(asked["source"]) as stored:
    table = {name: stored[name] for name in stored.files}
sizes = {name: int(values.max()) + 1 for name, values in table.items()}
rows = len(next(iter(table.values())))
start = time.perf_counter()
domain = mbi.Domain.fromdict(sizes)
third = asked["rho"] / 3
single = measured([(name,) for name in table], third)
alone = {m.clique[0]: np.maximum(np.asarray(m.noisy_measurement), 0) for m in single}
pairs = measured(tree(third, alone), third)
model = mbi.estimation.MirrorDescent().estimate(domain, [*single, *pairs])
made = model.synthetic_data(rows)
seconds = time.perf_counter() - start
np.savez(asked["target"], **{name: np.asarray(values, np.int64) for name, values in made.to_dict().items()})
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
spent = {"seconds": seconds, "processor seconds": time.process_time(), "memory, MB": memory}
print(json.dumps(spent | {"version": version("mbi")}))
