"""The studies of published private tests and of the museum's traps, quickly."""

from __future__ import annotations

from study import published_tests as study
from study import trap_levels

NULLS = {s["test"]: s for s in reversed(study.SETTINGS) if not s["effect"] and s["test"] != "ks_2samp"}


def test_levels_and_powers_stand_side_by_side() -> None:
    """40 tables of each: at a level of .065, 14 rejections or more have probability below 1e-6."""
    results = [(s, 40, study.run(s, 2, 40)) for s in NULLS.values()]
    for setting, _, found in results:
        ours = {word for word in found if word.startswith("ours")}
        assert ours == {"ours, replace", "ours, add_remove"}
        assert max(found[word] for word in ours) <= 13, setting
        assert len(found) >= 4
        assert "not private" in found
    power = [(s | {"effect": 0.3}, 40, dict.fromkeys(t, 20.0)) for s, _, t in results]
    rows = study.rows([*results, *power])
    assert len(rows) == 2 * len(results) + 1  # one published test stands under both relations
    assert all(row.holds for row in rows[len(results) :])


def test_traps_are_told_with_their_level() -> None:
    setting = trap_levels.SETTINGS[0]
    (row,) = trap_levels.rows([(setting, 200, trap_levels.run(setting, 0, 200))])
    assert row.holds
    assert setting["trap"] in row.what
