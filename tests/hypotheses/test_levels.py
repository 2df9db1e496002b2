"""The study of the tests' levels, quickly; and that the cells it makes are those that a release is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from study import test_levels as levels

import discreet as ds
from discreet.sources import open_source


def test_levels_of_a_few_settings() -> None:
    """60 runs of every test where noise rules: with a level of .065, 17 rejections or more have probability 1e-7."""
    for setting in [s for s in levels.SETTINGS if (s["n"], s["epsilon"]) == (200, "0.1")]:
        assert levels.run(setting, 5, 60)["rejected"] <= 16, setting


def test_rows_say_what_was_found() -> None:
    results = [(levels.SETTINGS[0], 10_000, {"rejected": 520.0, "naive": 1900.0})]
    (row,) = levels.rows(results)
    assert row.holds
    assert "naive 0.190" in row.what
    (worse,) = levels.rows([(levels.SETTINGS[0], 10_000, {"rejected": 700.0, "naive": 1900.0})])
    assert not worse.holds


@pytest.mark.parametrize("test", ["ttest_1samp", "ttest_ind", "ttest_rel", "ks_2samp", "pearsonr", "linregress"])
def test_the_cells_of_the_study_are_those_of_a_table(test: str) -> None:
    """Tables are drawn once more from the same stream and given to the query itself."""
    for relation in ("add_remove", "replace"):
        setting: dict[str, Any] = {"test": test, "n": 40, "epsilon": "1", "data": "normal", "relation": relation}
        made = levels.cells_of(setting, np.random.default_rng(1), 1)[0]
        rng = np.random.default_rng(1)
        x = levels.values("normal", rng, (1, 40))[0]
        y = levels.values("normal", rng, (1, 40))[0]
        table = {"x": x, "y": y, "two": np.repeat(["a", "b"], 20), "groups": ["a"] * 40, "many": ["a"] * 40}
        question = levels.asked(setting)
        schema = ds.Schema(
            {"x": ds.Real(0, 1), "y": ds.Real(0, 1), "two": ds.Categories(["a", "b"], missing="a")}, neighbors=relation
        )
        exact = question.query.evaluate(open_source(table, schema)).value
        assert np.asarray(exact).ravel() == pytest.approx(made.ravel(), abs=1e-5)
