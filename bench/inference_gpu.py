"""1,024 chains of the regression example on whatever device JAX finds; prints one line of JSON.

Standalone: ``PYTHONPATH=src:. python bench/inference_gpu.py``, with JAX installed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.inference import example_3
from discreet.inference._jax import doubles
from discreet.inference.diagnostics import ess_bulk
from discreet.inference.inferring import kernel_of, prepare
from discreet.inference.run import run

CHAINS, DRAWS, WARMUP = 1024, 1000, 300


def main() -> None:
    release, model, options = example_3()
    device = jax.devices()[0]
    found = {"device": f"{device.platform}: {device.device_kind}", "chains": CHAINS, "draws": DRAWS, "warmup": WARMUP}
    with doubles():
        problem = prepare(release, model, options["n"], options["statistic"])
        for sampler in ("sweep", "interweaving"):
            made = run(kernel_of(problem, sampler), problem.evidence.values, draws=DRAWS, warmup=WARMUP, chains=CHAINS,
                       key=jax.random.key(1), progress=False)  # fmt: skip
            least = min(float(np.min(ess_bulk(values))) for values in made.theta.values())
            found[sampler] = {
                "bulk effective draws a second": least / made.seconds,
                "bulk effective draws": least,
                "seconds": made.seconds,
                "compiling": made.compile_seconds,
                "mean of beta": made.theta["beta"].mean((0, 1)).tolist(),
            }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
