"""The same tests over an SQLite file and a real PostgreSQL server."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.core.budget import Budget
from discreet.core.mechanism import mechanisms
from discreet.core.query import queries
from discreet.ledger import Ledger

from .laws import Plain, Sevens

_fresh = itertools.count()


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(mechanisms._known, Plain.name, Plain)
    monkeypatch.setitem(queries._known, Sevens.name, Sevens)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty file, or of an empty schema on the server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    server: str = request.getfixturevalue("server")
    name = f"book{next(_fresh)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}&options=-csearch_path%3D{name}"


@pytest.fixture
def file(tmp_path: Path) -> str:
    """The address of an empty SQLite file."""
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture
def make(url: str) -> Iterator[Callable[..., Ledger]]:
    """Ledgers at ``url``, closed afterwards."""
    made: list[Ledger] = []

    def build(budget: Budget | None = None, **options: Any) -> Ledger:
        made.append(Ledger(url, budget, **options))
        return made[-1]

    yield build
    for ledger in made:
        ledger.close()
