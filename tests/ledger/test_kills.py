"""A few of the study's kills and damages, so that the study itself is known to run."""

from __future__ import annotations

import pytest
from study import kills


@pytest.mark.parametrize("setting", kills.SETTINGS[:2], ids=lambda s: s["signal"])
def test_kills_lose_and_double_nothing(setting: dict[str, str]) -> None:
    """Three kills each; 500 and a PostgreSQL server in the study. Any count above zero is a defect, by whatever chance."""
    found = kills.run(setting, 11, 3)
    assert found["kills"] == 3
    assert {word: found.get(word, 0) for word in ("overspent", "twice", "changed", "unanswerable")} == {
        "overspent": 0,
        "twice": 0,
        "changed": 0,
        "unanswerable": 0,
    }


def test_the_promises_of_the_study_are_told_apart() -> None:
    kept = [(s, 125, {"harmless": 125.0}) for s in kills.SETTINGS]
    assert all(row.holds for row in kills.rows(kept))
    broken = [(s, 125, {"twice": 1.0, "set back": 1.0}) for s in kills.SETTINGS]
    assert sum(not row.holds for row in kills.rows(broken)) == 4
