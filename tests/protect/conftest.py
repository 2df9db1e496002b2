"""A key file and a pseudonymizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.protect import Field, FileKeys, Pseudonymizer


@pytest.fixture
def keys(tmp_path: Path) -> FileKeys:
    return FileKeys.create(tmp_path / "keys.json")


@pytest.fixture
def pseudonyms(keys: FileKeys) -> Pseudonymizer:
    return Pseudonymizer([Field("name"), Field("born", date="%d.%m.%Y")], keys)
