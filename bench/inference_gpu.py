"""Many chains of the regression example on whatever device JAX finds; prints one line of JSON.

Standalone: ``PYTHONPATH=src:. python bench/inference_gpu.py [--chains 1024] [--draws 1000] [--warmup 300]``. Of the
libraries of the package only JAX, NumPy, SciPy and cryptography are needed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.inference import example_3
from discreet.core.x64 import doubles
from discreet.inference.inferring import kernel_of, prepare
from discreet.inference.outputs.diagnostics import ess_bulk
from discreet.inference.samplers.chains import run


def main(words: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("chains", 1024), ("draws", 1000), ("warmup", 300)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args(words)
    release, model, options = example_3()
    device = jax.devices()[0]
    found: dict[str, Any] = {"device": f"{device.platform}: {device.device_kind}", **vars(asked)}
    with doubles():
        problem = prepare(release, model, options["n"], options["statistic"])
        for sampler in ("sweep", "interweaving"):
            made = run(kernel_of(problem, sampler), problem.evidence.values, draws=asked.draws, warmup=asked.warmup,
                       chains=asked.chains, key=jax.random.key(1), progress=False)  # fmt: skip
            least = min(float(np.min(ess_bulk(values))) for values in made.theta.values())
            found[sampler] = {
                "least bulk effective draws a second": least / made.seconds,
                "least bulk effective draws": least,
                "seconds": made.seconds,
                "compile seconds": made.compile_seconds,
                "mean of beta": made.theta["beta"].mean((0, 1)).tolist(),
            }
    print(json.dumps(found))
    return found


if __name__ == "__main__":
    main()
