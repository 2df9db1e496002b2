"""Two releases with several filters race for the budget of one: all or nothing. 200 races are in ``study/races.py``."""

from __future__ import annotations

from study import races


def test_of_two_racing_releases_one_is_answered_and_paid() -> None:
    """Three races; true of every race, so no false alarms."""
    assert races.run(races.SETTINGS[0], 0, 3) == {"one": 3, "none": 0, "both": 0, "wrong": 0}
