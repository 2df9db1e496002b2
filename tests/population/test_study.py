"""Coverage of population intervals, quickly: the study makes 4,000 tables of every setting."""

from __future__ import annotations

import pytest
from study import interval_lengths
from study import population_intervals as study

SOME = [
    s for s in study.SETTINGS if (s["n"], s["epsilon"]) in ((200, "0.5"), (1000, "4"), (50, "1")) and s["kind"] != "band"
]


def test_coverage_of_every_kind() -> None:
    """60 tables of every kind in two or three settings: fewer than 42 covered of 60 at .93 has probability below 1e-7."""
    for setting in SOME:
        found = study.run(setting, 3, 60)
        assert found["covered"] >= 42, setting
        assert found.get("strictly", 60) >= 42, setting
    assert {s["kind"] for s in SOME} == {s["kind"] for s in study.SETTINGS} - {"band"}


def test_a_band_is_asked_for_its_ends() -> None:
    (setting,) = [s for s in study.SETTINGS if s["kind"] == "band" and (s["n"], s["epsilon"]) == (1000, "4")]
    assert study.run(setting, 1, 12)["covered"] >= 6  # 12 at .92: fewer than 6 has probability below 1e-6


def test_rows_say_what_was_found() -> None:
    results = [(s, 4000, {"covered": 3800.0, "strictly": 3850.0}) for s in study.SETTINGS]
    assert all(row.holds for row in study.rows(results))
    worse = study.rows([(study.SETTINGS[0], 4000, {"covered": 3700.0, "strictly": 3700.0})])
    assert [row.holds for row in worse] == [False, True, False]


@pytest.mark.parametrize("setting", interval_lengths.SETTINGS[::2], ids=lambda s: f"{s['of']} {s['n']}")
def test_intervals_are_short(setting: dict[str, object]) -> None:
    """The mean of a few lengths; they hardly vary at these sizes."""
    found = interval_lengths.run(setting, 1, 4)
    promised = 1.05 * found["beside"] if setting["of"] == "mean" else 4 * 1.2 * interval_lengths.promised(setting)
    assert found["length"] <= promised
    assert len(interval_lengths.rows([(setting, 4, found)])) == 1
