"""A key file, a pseudonymizer, and the Spark session that the tests of the sources use."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.protect import Field, FileKeys, Pseudonymizer
from tests.ledger.conftest import server
from tests.sources.conftest import spark

__all__ = ["keys", "pseudonyms", "server", "spark"]


@pytest.fixture
def keys(tmp_path: Path) -> FileKeys:
    return FileKeys.create(tmp_path / "keys.json")


@pytest.fixture
def pseudonyms(keys: FileKeys) -> Pseudonymizer:
    return Pseudonymizer([Field("name"), Field("born", date="%d.%m.%Y")], keys)
