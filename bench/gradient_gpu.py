"""The 100-100 network on a GPU: rows a second, and its accuracy beside the CPU's on the same data. Prints one line of JSON.

    PYTHONPATH=src python bench/gradient_gpu.py [rows] [lot] [steps] [cpu steps]

Made for a bare machine: of what the package needs, NumPy, SciPy, array-api-compat and torch (or JAX) are enough. Without
dp-accounting the noise multiplier is the one computed elsewhere for the default sizes, and without cryptography words come
from NumPy's generator, which is for looking only: it is no private noise, and a sixth slower than the stream cipher.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
import sys
import time
import types
from fractions import Fraction
from typing import Any

import numpy as np

FEATURES = 11
TARGET = (1.0, 1e-8)
DEFAULT = (7_000_000, 65_536, 500)
KNOWN = Fraction("1.3779209016934928")  # the noise multiplier of the default sizes at the target, from the accountant


def stand_in() -> None:
    """Words for timing where the stream cipher is missing."""

    class Stream:
        def __init__(self, key: bytes) -> None:
            self._generator = np.random.Generator(np.random.Philox(int.from_bytes(hashlib.sha256(key).digest()[:16])))

        def update(self, data: bytes) -> bytes:
            return self._generator.bytes(len(data))

        def update_into(self, data: Any, buffer: Any) -> int:
            buffer[: len(data)] = self._generator.bytes(len(data))
            return len(data)

    parts = ["cryptography", "hazmat", "primitives", "ciphers"]
    for depth in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:depth]), types.ModuleType(parts[depth - 1]))
    ciphers: Any = sys.modules["cryptography.hazmat.primitives.ciphers"]
    ciphers.algorithms = types.SimpleNamespace(ChaCha20=lambda key, nonce: key)
    ciphers.Cipher = lambda key, mode=None: types.SimpleNamespace(encryptor=lambda: Stream(key))


def rows_of(rows: int, seed: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (rows, FEATURES))
    score = x[:, 0] + x[:, 1] ** 2 - x[:, 2] * x[:, 3] + 0.2 * generator.normal(size=rows)
    return x, np.where(score > 0.3, 1.0, -1.0)


def device() -> tuple[str, Any, Any]:
    """The name of the device, how an array gets there, and how to wait for it."""
    if importlib.util.find_spec("torch") is None:
        import jax

        jax.config.update("jax_enable_x64", True)
        return str(jax.devices()[0]), jax.numpy.asarray, lambda: None
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0), lambda a: torch.from_numpy(a).to("cuda"), torch.cuda.synchronize
    return "torch on the CPU", torch.from_numpy, lambda: None


def run_of(rows: int, lot: int, steps: int) -> Any:
    from discreet.core.cost import Cost
    from discreet.core.schema import Categories, Real, Schema
    from discreet.models.design import Design
    from discreet.models.gradient.engine import Run
    from discreet.models.gradient.network import classifier
    from discreet.models.gradient.steps import Constant

    names = [f"x{i}" for i in range(FEATURES)]
    schema = Schema({**dict.fromkeys(names, Real(-1, 1)), "y": Categories((0, 1))})
    design = Design.of(schema, names, "y", intercept=False)
    facts: dict[str, Any] = {
        "epsilon": TARGET[0], "delta": TARGET[1], "lot": lot, "steps": steps, "clip": 1, "sizes": Constant(0.5),
        "expected_rows": rows, "relation": "add_remove", "momentum": 0.9,
    }  # fmt: skip
    if importlib.util.find_spec("dp_accounting") is not None:
        return Run.within(design, classifier(FEATURES, (100, 100), 2), **facts)

    class Elsewhere(Run):
        """A run whose price was computed on another machine."""

        cost = property(lambda self: Cost.approximate(*TARGET))  # type: ignore[assignment]

    made = Run.within(design, classifier(FEATURES, (100, 100), 2), noise=KNOWN, **facts)
    return Elsewhere(**{name: getattr(made, name) for name in Run.__dataclass_fields__})


class HostTable:
    """Rows in memory for NumPy."""

    version = "host"

    def __init__(self, x: Any, y: Any) -> None:
        self._x, self._y = x, y

    def gathered(self, design: Any, network: Any) -> Any:
        from discreet.models.gradient.lot_gradient import Gathered
        from discreet.models.gradient.network import Room

        return Gathered(network.widen(design.rows_of(self._x)), self._y, None, None, len(self._x), Room())


def trained(run: Any, table: Any) -> tuple[Any, float]:
    from discreet.core.random import Random
    from discreet.core.runner import Desk, NoLedger
    from discreet.models.gradient.engine import descend

    run.cost  # noqa: B018  what the accountant needs is not what is timed
    start = time.perf_counter()
    found = Desk(table, NoLedger(), Random(), run.relation).run(descend(run))
    return found.flat, time.perf_counter() - start


def accuracy(run: Any, flat: Any, x: Any, y: Any) -> float:
    scores = run.network.forward(flat, run.network.widen(run.design.rows_of(x)))[-1][:, 0]
    return float(np.mean((scores > 0) == (y > 0)))


def main(rows: int = DEFAULT[0], lot: int = DEFAULT[1], steps: int = DEFAULT[2], cpu_steps: int = 0) -> dict[str, Any]:
    if importlib.util.find_spec("cryptography") is None:
        stand_in()
    from array_api_compat import array_namespace

    from discreet.models.gradient.device import DeviceTable

    name, there, wait = device()
    x, y = rows_of(rows, 1)
    test = rows_of(200_000, 2)
    far, goal = there(x), there(y)
    table = DeviceTable(far, goal, array_namespace(far))
    run = run_of(rows, lot, steps)
    few = run_of(rows, lot, 3)
    trained(few, table)  # what a first call compiles or loads
    wait()
    flat, seconds = trained(run, table)
    wait()
    found: dict[str, Any] = {
        "device": name,
        "machine": platform.machine(),
        "rows": rows,
        "lot": lot,
        "steps": steps,
        "seconds": seconds,
        "rows a second": lot * steps / seconds,
        "accuracy": accuracy(run, flat, *test),
        "noise multiplier": float(run.noise),
        "drawn by the stream cipher": "cryptography" in sys.modules and hasattr(sys.modules["cryptography"], "__version__"),
    }
    if cpu_steps:
        short = run_of(rows, lot, cpu_steps)
        here, spent = trained(short, HostTable(x, y))
        found |= {
            "steps of the comparison": cpu_steps,
            "accuracy after them": accuracy(short, trained(short, table)[0], *test),
            "accuracy of the CPU after them": accuracy(short, here, *test),
            "rows a second on the CPU": lot * cpu_steps / spent,
        }
    return found


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
