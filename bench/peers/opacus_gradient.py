"""One epoch of Opacus on the CPU: its default engine and ghost clipping on a network, its default on a logistic regression.

    python bench/peers/opacus_gradient.py ROWS FEATURES LOT [what ...]

Prints seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import torch
from opacus import PrivacyEngine
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)


def data(rows: int, features: int) -> TensorDataset:
    x = torch.rand(rows, features) * 2 - 1
    return TensorDataset(x, (x[:, 0] + x[:, 1] ** 2 > 0.3).float()[:, None])


def model(features: int, hidden: bool) -> nn.Module:
    if not hidden:
        return nn.Linear(features, 1)
    return nn.Sequential(nn.Linear(features, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1))


def epoch(rows: int, features: int, lot: int, hidden: bool, mode: str) -> float:
    loader = DataLoader(data(rows, features), batch_size=lot)
    net, loss = model(features, hidden), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    extra = {} if mode == "hooks" else {"grad_sample_mode": "ghost", "criterion": loss}
    made = PrivacyEngine(accountant="rdp").make_private(
        module=net, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0, **extra
    )
    net, optimizer, *rest, loader = made
    if rest:
        loss = rest[0]
        assert isinstance(loss, DPLossFastGradientClipping)
    start = time.perf_counter()
    for x, y in loader:
        optimizer.zero_grad()
        loss(net(x), y).backward()
        optimizer.step()
    return time.perf_counter() - start


if __name__ == "__main__":
    rows, features, lot = map(int, sys.argv[1:4])
    epoch(2000, features, lot, True, "hooks")
    found = {
        "network": epoch(rows, features, lot, True, "hooks"),
        "network, ghost clipping": epoch(rows, features, lot, True, "ghost"),
        "logistic": epoch(rows, features, lot, False, "hooks"),
    }
    print(json.dumps(found))
