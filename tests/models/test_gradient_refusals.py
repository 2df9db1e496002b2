"""What a descent refuses before anything is paid for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.accounting.lots import noise_multiplier
from discreet.errors import BudgetExceeded, InvalidRequest


def session(budget: ds.Budget) -> ds.Session:
    rng = np.random.default_rng(1)
    table = {"x": rng.uniform(-1, 1, 200), "y": rng.integers(0, 2, 200)}
    schema = ds.Schema({"x": ds.Real(-1, 1), "y": ds.Categories([0, 1])}, expected_rows=200)
    return ds.Session(table, schema, budget, "sqlite://")


def test_a_checkpoint_needs_its_folder(tmp_path: Path) -> None:
    made = session(ds.Budget(epsilon=3, delta=1e-3))
    model = ds.models.SGDClassifier(epsilon=1, delta=1e-6, steps=3, lot_size=50, checkpoint=tmp_path / "no" / "run.json")
    with pytest.raises(InvalidRequest, match="folder that exists"):
        made.fit(model, ["x"], "y")
    assert made.spent().epsilon == 0


def test_a_budget_without_a_delta_says_so() -> None:
    made = session(ds.Budget(epsilon=3))
    with pytest.raises(BudgetExceeded, match="no delta"):
        made.fit(ds.models.SGDClassifier(epsilon=1, delta=1e-6, steps=3, lot_size=50), ["x"], "y")


def test_an_unknown_accountant_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="'loss' or 'renyi', got 'rdp'"):
        noise_multiplier(1, 1e-5, "0.1", 10, accountant="rdp")  # type: ignore[arg-type]
