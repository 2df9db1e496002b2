"""What a person sees: both intervals in words and tables, pictures, and the plan of a width."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InvalidRequest

RNG = np.random.default_rng(1)
SCHEMA = ds.Schema(
    {"x": ds.Real(0, 100), "sex": ds.Categories(["f", "m"]), "town": ds.Categories(list("abcdefghijklm"))},
    expected_rows=2000,
)
TABLE = {"x": RNG.normal(50, 10, 2000), "sex": ["f", "m"] * 1000, "town": RNG.choice(list("abcdefghijklm"), 2000).tolist()}


def session() -> ds.Session:
    return ds.Session(TABLE, SCHEMA, ledger="test", seed=3)


def test_an_answer_says_its_interval() -> None:
    words = str(session().mean("x", epsilon=1, of="population"))
    assert "for the population (sampling and noise)" in words
    assert " to " in words
    assert "for this table (noise only)" in str(session().mean("x", epsilon=1))
    assert "f: " in str(session().mean("x", by="sex", epsilon=1))
    assert "and 1 more" in str(session().crosstab("town", epsilon=1))


def test_tables_hold_both_intervals() -> None:
    columns = session().mean("x", by="sex", epsilon=1, of="population").rows()
    assert set(columns) == {"sex", "value", "low", "high", "expected_error", "population_low", "population_high"}
    for low, inner in zip(columns["population_low"], columns["low"], strict=True):
        assert low < inner
    frame = session().mean("x", epsilon=1, of="population").to_frame()
    assert frame["population_low"][0] < frame["low"][0]
    assert "population_low" in session().mean("x", epsilon=1, of="population")._repr_html_()


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("mean", ("x",), {"of": "population"}),
        ("mean", ("x",), {"by": "town"}),
        ("count", (), {"by": "sex"}),
        ("crosstab", ("sex", "town"), {}),
        ("histogram", ("x",), {"bins": 12}),
        ("distribution", ("x",), {"by": "sex"}),
        ("median", ("x",), {"interval": True}),
        ("share", ("town",), {"by": "sex"}),
        ("ttest_ind", ("x",), {"by": "sex"}),
    ],
)
def test_every_answer_draws_itself(name: str, args: Any, options: Any) -> None:
    axes = session().ask(name, *args, epsilon=1, **options).plot()
    assert axes.get_title()
    axes.figure.canvas.draw()
    assert axes.has_data()


def test_a_width_is_planned() -> None:
    """The closed form agrees with the width of answers, and its inverse with itself."""
    asked = session()
    preview = asked.preview("mean", "x", epsilon=1, of="population", spread=10, width=1.0)
    widths = []
    for _ in range(20):
        low, high = asked.mean("x", epsilon=1, of="population").interval(of="population")
        widths.append(high - low)
    assert np.mean(widths) == pytest.approx(preview.population_width, rel=0.05)
    rows = preview.rows_needed
    assert rows is not None
    wider = ds.Schema(SCHEMA.columns, expected_rows=rows)
    again = ds.Session(TABLE, wider, ledger="test").preview("mean", "x", epsilon=1, of="population", spread=10)
    assert again.population_width == pytest.approx(1.0, rel=1e-3)
    less = asked.preview("mean", "x", epsilon=1, of="population", spread=10, width=0.9)
    assert less.epsilon_needed is not None
    with_it = asked.preview("mean", "x", epsilon=less.epsilon_needed, of="population", spread=10)
    assert with_it.population_width == pytest.approx(0.9, rel=1e-3)
    assert asked.preview("mean", "x", epsilon=1, of="population", spread=10, width=0.01).epsilon_needed is None
    assert "interval of the population" in str(preview)


@pytest.mark.parametrize(("options", "words"), [({"spread": -1}, "positive"), ({"width": math.inf}, "positive")])
def test_bad_guesses(options: Any, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        session().preview("mean", "x", epsilon=1, of="population", **options)
    with pytest.raises(InvalidRequest, match="for a mean"):
        session().preview("count", epsilon=1, width=3)


def test_a_preview_is_one_short_line() -> None:
    """Of a whole distribution too, with its hundreds of numbers."""
    asked = ds.Session({"x": np.linspace(0, 1, 50)}, ds.Schema({"x": ds.Real(0, 1)}, expected_rows=50), ledger="test")
    for name in ("distribution", "mean"):
        told = str(asked.preview(name, "x", epsilon=1, of="population"))
        assert len(told) < 200, told
        assert "\n" not in told
