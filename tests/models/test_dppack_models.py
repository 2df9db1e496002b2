"""DPpack's examples of models run, cost what they say, and draw their pictures."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "dppack_models.py"


def test_dppack_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = mpl.get_backend()
    try:
        rows, made = runpy.run_path(str(EXAMPLE))["main"](tmp_path, quick=True)
    finally:
        mpl.use(before)
    assert [path.stem for path in made] == ["dppack_classifiers", "dppack_regression", "dppack_tuning", "dppack_huber"]
    assert all(path.read_bytes()[:4] == b"\x89PNG" and path.stat().st_size > 10_000 for path in made)
    for row in rows[:4]:  # without noise the points are told apart: exact numbers, the points have fixed seeds
        assert row["exact"] > 0.9, row["title"]
        assert len(row["scores"]) == 8
    for row in rows[4:6]:
        assert row["exact"] < 0.02, row["title"]
    for row in rows[:6]:
        assert all(model.privacy_.cost.epsilon == 1 and model.privacy_.relation == "replace" for model in row["fits"])
    assert rows[-1]["cost"].epsilon == 1, "tuning costs its dearest part"
    assert all(np.sum(counts) == 2 for counts in rows[-1]["counts"].values())
    assert "95 % intervals" in capsys.readouterr().out
