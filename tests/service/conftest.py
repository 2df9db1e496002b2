"""A clinic of made-up people behind a service of its own, in a folder that is gone afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import discreet as ds

if TYPE_CHECKING:
    from tests.service.stand import Stand

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


@pytest.fixture(scope="session")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """A front that listens, with a stand-in for the desk."""
    from tests.service.stand import standing

    with standing(tmp_path_factory.mktemp("stand"), slot=0.02, more="[limits]\nper_minute = 100000\n") as made:
        yield made
