"""A key file, a pseudonymizer, and the server that the tests of the ledger use."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.protect import Field, FileKeys, Pseudonymizer
from tests.ledger.conftest import server

__all__ = ["keys", "pseudonyms", "server"]


@pytest.fixture
def keys(tmp_path: Path) -> FileKeys:
    return FileKeys.create(tmp_path / "keys.json")


@pytest.fixture
def pseudonyms(keys: FileKeys) -> Pseudonymizer:
    return Pseudonymizer([Field("name"), Field("born", date="%d.%m.%Y")], keys)
