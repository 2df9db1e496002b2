"""A convolutional network on scikit-learn's digits, written in JAX and in PyTorch, trained as somebody else's network is.

    PYTHONPATH=src python bench/own_network.py [lot] [copies]

Prints one line of JSON: how far the clipped sums of the two differ at the same parameters, what leaving people out moves
beside their own gradients, the accuracy of each and rows a second; the digits are repeated ``copies`` times, for a GPU.
Needs the package, JAX and PyTorch in one environment; with Opacus or JAX-Privacy beside them, their rows a second too. As a
study it runs with Opacus' environment, which has PyTorch, on top of our own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

TARGET = {"epsilon": 5, "delta": 1e-5, "epochs": 40, "learning_rate": 1.0, "momentum": 0.5}
TRAINED = 1500


def digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return (x / 16).astype(np.float32).reshape(-1, 1, 8, 8), y


def torch_network() -> Any:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = (nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
    made = nn.Sequential(*layers, nn.AvgPool2d(2), nn.Flatten(), nn.Linear(64, 10))
    return made.to("cuda" if torch.cuda.is_available() else "cpu")


def jax_scores(p: Any, x: Any) -> Any:
    import jax

    def convolved(x: Any, name: str, stride: int) -> Any:
        found = jax.lax.conv_general_dilated(x, p[f"{name}.weight"], (stride, stride), [(1, 1), (1, 1)])
        return jax.nn.relu(found + p[f"{name}.bias"][:, None, None])

    h = convolved(convolved(x[None], "0", 1), "2", 2)
    h = jax.lax.reduce_window(h, 0.0, jax.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") / 4
    return h.reshape(-1) @ p["6.weight"].T + p["6.bias"]


def jax_value(p: Any, x: Any, y: Any) -> Any:
    import jax

    return -jax.nn.log_softmax(jax_scores(p, x))[y]


def frozen() -> float:
    """A module with a frozen layer, weights and several rows a person: how far its sum is from gradients made one by one."""
    import torch
    from torch import nn

    from discreet.models import torch_loss
    from discreet.models.estimators.own_network import _gathered

    torch.manual_seed(0)
    net, cross = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3)), nn.CrossEntropyLoss()
    net[0].requires_grad_(False)
    loss, generator = torch_loss(net, cross), np.random.default_rng(0)
    x, y = generator.normal(size=(40, 3)).astype(np.float32), generator.integers(0, 3, 40)
    people, weight = generator.integers(0, 9, 40), generator.uniform(0, 1, 40)
    found = loss.question(None, Fraction(1)).at(loss.first).of_lot(_gathered(x, y, weight, people), None)
    for person in np.unique(people):
        mine = np.zeros(loss.size)
        for i in np.flatnonzero(people == person):
            value = cross(net(torch.as_tensor(x[i : i + 1])), torch.as_tensor(y[i : i + 1]))
            each = torch.autograd.grad(value, list(net[2].parameters()))
            mine += weight[i] * np.concatenate([part.numpy().ravel() for part in each])
        found = found - mine * min(1.0, 1.0 / float(np.linalg.norm(mine)))
    return float(np.abs(found).max())


def trained(loss: Any, x: Any, y: Any, lot: int) -> tuple[Any, float]:
    from discreet.models import OwnNetwork

    def made(**other: Any) -> Any:
        return OwnNetwork(loss=loss, expected_rows=len(x), lot_size=lot, **TARGET | other)

    made(steps=2).fit(x, y)  # what a first call compiles
    model = made()
    start = time.perf_counter()
    model.fit(x, y)
    return model, model.privacy_.steps * lot / (time.perf_counter() - start)


def opacus(x: Any, y: Any, lot: int) -> float:
    """Rows a second of the same network and lots in Opacus."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    net = torch_network()
    device = next(net.parameters()).device
    rows = TensorDataset(torch.as_tensor(x).to(device), torch.as_tensor(y).to(device))
    steps = torch.optim.SGD(net.parameters(), lr=1.0, momentum=0.5)
    net, steps, loader = PrivacyEngine(accountant="rdp").make_private(
        module=net, optimizer=steps, data_loader=DataLoader(rows, batch_size=lot), noise_multiplier=1.0, max_grad_norm=1.0
    )
    loss, done, start = torch.nn.CrossEntropyLoss(), 0, time.perf_counter()
    for _ in range(5):
        for a, b in loader:
            steps.zero_grad()
            loss(net(a), b).backward()
            steps.step()
            done += lot
    return done / (time.perf_counter() - start)


def jax_privacy(x: Any, y: Any, lot: int) -> float:
    """Rows a second of the same network in JAX-Privacy, with Poisson lots filled up to a multiple of half a lot."""
    import jax
    from jax_privacy import batch_selection, clipped_grad

    at = {name: jax.numpy.asarray(p.detach().cpu().numpy()) for name, p in torch_network().named_parameters()}
    clipped = clipped_grad(jax_value, l2_clip_norm=1.0, batch_argnums=(1, 2), keep_batch_dim=False)
    rows, goals = jax.numpy.asarray(x), jax.numpy.asarray(y)

    @jax.jit
    def step(at: Any, speed: Any, key: Any, chosen: Any) -> Any:
        total = clipped(at, rows[chosen], goals[chosen], is_padding_example=chosen < 0)
        keys = dict(zip(total, jax.random.split(key, len(total)), strict=True))
        speed = {k: 0.5 * speed[k] + (v + jax.random.normal(keys[k], v.shape)) / lot for k, v in total.items()}
        return {k: at[k] - v for k, v in speed.items()}, speed

    def run(steps: int) -> None:
        speed, here = {k: 0 * v for k, v in at.items()}, at
        drawn = batch_selection.CyclicPoissonSampling(sampling_prob=lot / len(x), iterations=steps).batch_iterator(len(x), 0)
        for key, chosen in zip(jax.random.split(jax.random.key(0), steps), drawn, strict=True):
            here, speed = step(here, speed, key, batch_selection.pad_to_multiple_of(chosen, max(1, lot // 2)))
        jax.block_until_ready(here)

    steps = 5 * len(x) // lot
    run(steps)  # what a first call compiles, for every length that a lot has here
    start = time.perf_counter()
    run(steps)
    return steps * lot / (time.perf_counter() - start)


def main(lot: int = 256, copies: int = 1) -> dict[str, Any]:
    import jax
    import torch

    from discreet.models import jax_loss, torch_loss
    from discreet.models.estimators.own_network import _gathered

    # Graphics processors shorten factors to 10 bits unless they are told not to; sums are then alike to 1e-3 only.
    jax.config.update("jax_default_matmul_precision", "highest")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    x, y = digits()
    net = torch_network()
    start = {name: jax.numpy.asarray(p.detach().cpu().numpy()) for name, p in net.named_parameters()}
    losses = {"jax": jax_loss(jax_value, start), "torch": torch_loss(net, torch.nn.CrossEntropyLoss())}
    people, kept = np.arange(100) // 2, np.arange(100) < 60
    sums, moved = {}, {}
    for name, loss in losses.items():
        asked = loss.question(None, Fraction(1)).at(loss.first)
        whole, some, others = (
            asked.of_lot(_gathered(x[:100][part], y[:100][part], None, people[part]), None)
            for part in (kept | True, kept, ~kept)
        )
        made, moved[name] = loss.restore(whole), float(np.abs(whole - some - others).max())
        sums[name] = {k: np.asarray(v.cpu() if hasattr(v, "cpu") else v) for k, v in made.items()}
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU",
        "clipped sums differ by": max(float(np.abs(sums["jax"][k] - sums["torch"][k]).max()) for k in start),
        "leaving people out moves others by": max(moved.values()),
        "a frozen module's sum is off by": frozen(),
    }
    many, goals = np.tile(x[:TRAINED], (copies, 1, 1, 1)), np.tile(y[:TRAINED], copies)
    for name, loss in losses.items():
        model, rate = trained(loss, many, goals, lot)
        if name == "jax":
            guess = np.asarray(jax.vmap(lambda row, p=model.parameters_: jax_scores(p, row))(x[TRAINED:])).argmax(1)
        else:
            rows = torch.as_tensor(x[TRAINED:]).to(next(net.parameters()).device)
            guess = torch.func.functional_call(net, model.parameters_, (rows,)).argmax(1).cpu().numpy()
        found[name] = {"accuracy": float(np.mean(guess == y[TRAINED:])), "rows a second": rate}
    for peer in (opacus, jax_privacy):
        if importlib.util.find_spec(peer.__name__) is not None:
            found[peer.__name__] = {"rows a second": peer(many, goals, lot)}
    return found


def run() -> dict[str, Any]:
    """What a process of its own finds: PyTorch is no dependency of ours, and JAX none of Opacus'."""
    from bench.environments import PINNED, ROOT, python_of

    paths = (str(ROOT / "src"), sysconfig.get_paths()["purelib"])
    done = subprocess.run(
        [str(python_of("opacus")), str(Path(__file__))], check=True, stdout=subprocess.PIPE, text=True,
        env=os.environ | PINNED | {"PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    """Two accuracies on 297 rows, each about 0.78: six deviations of their difference are 0.2."""
    apart = abs(result["jax"]["accuracy"] - result["torch"]["accuracy"])
    return [
        ("clipped sums of JAX and PyTorch differ by", result["clipped sums differ by"], "<=", 1e-6),
        ("leaving people out moves others by", result["leaving people out moves others by"], "<=", 0.0),
        ("a frozen module's sum is off by", result["a frozen module's sum is off by"], "<=", 1e-6),
        ("accuracies of JAX and PyTorch differ by", apart, "<=", 0.2),
    ]


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
