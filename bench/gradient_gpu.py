"""The 100-100 network on a GPU: rows a second, and its accuracy beside the CPU's. Prints one line of JSON.

    PYTHONPATH=src python bench/gradient_gpu.py [rows] [lot] [steps] [cpu steps]

Needs NumPy, SciPy, scikit-learn, dp-accounting, cryptography, narwhals, pyarrow, array-api-compat, and torch (or JAX).
"""

from __future__ import annotations

import json
import platform
import sys
import time
from typing import Any

import numpy as np

from discreet.models import MLPClassifier

FEATURES = 11


def rows_of(rows: int, seed: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (rows, FEATURES))
    score = x[:, 0] + x[:, 1] ** 2 - x[:, 2] * x[:, 3] + 0.2 * generator.normal(size=rows)
    return x, (score > 0.3).astype(np.int64)


def device() -> tuple[str, Any, Any]:
    """The name of the device, how an array gets there, and how to wait for it."""
    try:
        import torch
    except ImportError:
        import jax

        jax.config.update("jax_enable_x64", True)
        return str(jax.devices()[0]), jax.numpy.asarray, lambda: None
    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0), lambda a: torch.from_numpy(a).to("cuda"), torch.cuda.synchronize
    return "torch on the CPU", torch.from_numpy, lambda: None


def fitted(x: Any, y: Any, rows: int, lot: int, steps: int) -> tuple[Any, float]:
    model = MLPClassifier(
        epsilon=1.0, delta=1e-8, bounds=(-1, 1), classes=[0, 1], expected_rows=rows, lot_size=lot, steps=steps, clip=1.0,
        learning_rate=0.5, momentum=0.9,
    )  # fmt: skip
    start = time.perf_counter()
    model.fit(x, y)
    return model, time.perf_counter() - start


def main(rows: int = 7_000_000, lot: int = 65_536, steps: int = 500, cpu_steps: int = 0) -> dict[str, Any]:
    name, there, wait = device()
    x, y = rows_of(rows, 1)
    test_x, test_y = rows_of(200_000, 2)
    far = there(x)
    fitted(far[: 2 * lot], y[: 2 * lot], 2 * lot, lot, 2)  # what a first call compiles or loads
    from discreet.accounting.lots import noise_multiplier

    noise_multiplier(1.0, 1e-8, lot / rows, steps)
    wait()
    model, seconds = fitted(far, y, rows, lot, steps)
    wait()
    found: dict[str, Any] = {
        "device": name,
        "machine": platform.machine(),
        "rows": rows,
        "lot": lot,
        "steps": steps,
        "seconds": seconds,
        "rows a second": lot * steps / seconds,
        "accuracy": model.public_score(test_x, test_y),
        "noise multiplier": model.privacy_.noise,
    }
    if cpu_steps:
        short, _ = fitted(far, y, rows, lot, cpu_steps)
        cpu, spent = fitted(x, y, rows, lot, cpu_steps)
        found |= {
            "steps of the comparison": cpu_steps,
            "accuracy after them": short.public_score(test_x, test_y),
            "accuracy of the CPU after them": cpu.public_score(test_x, test_y),
            "rows a second on the CPU": lot * cpu_steps / spent,
        }
    return found


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
