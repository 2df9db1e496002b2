"""Tests in a release file: planned and released by a fresh process, said in words, corrected for one another."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from discreet.cli import main

RELEASE = """\
table = "people.csv"
ledger = "sqlite:///ledger.db"
[budget]
epsilon = 3
[schema]
neighbors = "replace"
columns.bp = { type = "real", bounds = [80, 200] }
columns.arm = { type = "category", values = ["a", "b"], missing = "a" }
[[ask]]
statistic = "compare"
columns = "bp"
by = "arm"
epsilon = 1
[[ask]]
statistic = "binomtest"
columns = "arm"
options = { p = 0.2, label = "b" }
epsilon = 1
[[ask]]
statistic = "mean"
columns = "bp"
epsilon = 1
"""


def test_a_release_file_with_tests(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal(130, 15):.1f},{rng.choice(['a', 'b'])}" for _ in range(300)]
    (tmp_path / "people.csv").write_text("\n".join(["bp,arm", *rows]) + "\n")
    (tmp_path / "people.toml").write_text(RELEASE)
    planned = subprocess.run(
        [sys.executable, "-m", "discreet", "plan", "people.toml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert planned.returncode == 0, planned.stderr  # nothing but the command has loaded the tests
    assert main(["release", str(tmp_path / "people.toml"), "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("Corrected for all of them (Holm)") == 2  # the mean is no test
    assert "exact: binomial count" in page
    assert "neighbours: replace" in page
    assert "Tulap noise" in page
    stored = json.loads((tmp_path / "out" / "releases.json").read_text())
    value = stored["asks"][1]["result"]["releases"][0]["value"][0]
    assert value != round(value)  # the uniform lies in the release
