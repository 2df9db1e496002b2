"""A thousandth of the fuzzing of receipts, key files and jobs; the study does a hundred thousand cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from study import protect_fuzz


@pytest.mark.parametrize("what", ["receipts", "keys", "jobs"])
def test_bent_documents_are_refused_in_our_own_words(what: str, tmp_path: Path) -> None:
    setting: dict[str, Any] = {"what": what}
    found = protect_fuzz.run(setting, 10**6, {"receipts": 300, "keys": 300, "jobs": 60}[what], tmp_path)
    assert found["tracebacks"] == 0
    assert found["told"] == 0
    assert found["refused"] > found["taken"] > 0
