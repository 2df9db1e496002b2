"""A clinic of made-up people behind a service of its own, in a folder that is gone afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import discreet as ds

SCHEMA = ds.Schema(
    {
        "age": ds.Integer(0, 100),
        "bmi": ds.Real(10, 60),
        "sex": ds.Categories(["f", "m"]),
        "stroke": ds.Categories(["no", "yes"]),
    },
    expected_rows=200,
)


def mean(epsilon: Any = "0.1", **more: Any) -> dict[str, Any]:
    """An ask for the mean age."""
    return {"statistic": "mean", "columns": ["age"], "epsilon": epsilon, **more}


def body(*asks: dict[str, Any], table: str = "patients") -> str:
    """A question of several asks."""
    return json.dumps({"table": table, "ask": list(asks)})


@pytest.fixture
def boxes(tmp_path: Path) -> str:
    """The folder of empty mailboxes."""
    for name in ("front", "desk"):
        (tmp_path / "boxes" / name).mkdir(parents=True)
    return str(tmp_path / "boxes")
