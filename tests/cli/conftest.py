"""A small table with a schema and a release file, and the command as a function."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main

SCHEMA = """\
person = "id"
max_rows = 2
expected_rows = 300

[columns.age]
type = "integer"
bounds = [0, 100]

[columns.weight]
type = "real"
bounds = [30, 200]

[columns.sex]
type = "category"
values = ["f", "m"]
"""
RELEASE = """\
title = "A small table"
table = "people.csv"
schema = "people.schema.toml"
ledger = "sqlite:///ledger.db"
name = "people"

[budget]
epsilon = 1

[[ask]]
title = "How many"
statistic = "count"
epsilon = 0.1

[[ask]]
statistic = "mean"
columns = "age"
by = "sex"
epsilon = 0.2

[[ask]]
statistic = "median"
columns = ["age"]
where = { sex = "f" }
epsilon = 0.2
"""


@dataclass(frozen=True)
class Ran:
    """What a run of the command left: its code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def doc(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever terminal the tests were started from, tables are as wide as they like to be."""
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str | Path) -> Ran:
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"{i % 200},{(i * 37) % 101},{'fm'[i % 2]},{40 + (i * 13) % 90}\n" for i in range(300))
    (tmp_path / "people.csv").write_text("id,age,sex,weight\n" + rows)
    (tmp_path / "people.schema.toml").write_text(SCHEMA)
    (tmp_path / "people.toml").write_text(RELEASE)
    return tmp_path
