"""An answer says so where its own release contradicts what was expected of the table; and only then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.result import Result

COLUMNS = {"weight": ds.Real(0, 200), "height": ds.Real(0, 200), "sex": ds.Categories(["f", "m"])}


def session(values: Any, expected: int | None = 2000, seed: int = 1) -> ds.Session:
    table = {"weight": values, "height": [100.0, 101.0] * (len(values) // 2), "sex": ["f", "m"] * (len(values) // 2)}
    return ds.Session(table, ds.Schema(COLUMNS, expected_rows=expected), ledger="test", seed=seed)


def test_german_decimals_are_not_answered_in_silence() -> None:
    asked = session(["70,5"] * 2000)
    for result in (
        asked.mean("weight", epsilon=1),
        asked.together([("count", {"by": "sex"}), ("mean", "weight")], epsilon=1)[1],
    ):
        assert result.caution is not None
        assert result.caution.kind == "fewer"
        assert "2,000 were expected" in str(result)
        assert "caution" in result._repr_html_()
        again = Result.from_json(result.to_json())
        assert str(again.caution) == str(result.caution) == result.to_dict()["caution"]


def test_whatever_counts_rows_or_people_finds_out() -> None:
    """A column that nobody can read is found out by every statistic whose numbers tell how many rows there were."""
    columns = {
        "x": ds.Real(30, 200),
        "n": ds.Integer(0, 9),
        "sex": ds.Categories(["f", "m"]),
        "arm": ds.Categories(["a", "b"]),
    }
    size = 600
    readable = {"x": ["70.5"] * size, "n": ["3"] * size, "sex": ["f", "m"] * (size // 2), "arm": ["a", "b"] * (size // 2)}
    garbled = {name: [f"{cell}!" for cell in cells] for name, cells in readable.items()}
    asked: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
        ("count", (), {"by": "sex"}),
        ("count_people", (), {"by": "sex"}),
        ("people_mean", ("x",), {"each": "mean"}),
        ("sum", ("x",), {}),
        ("mean", ("x",), {"of": "population"}),
        ("variance", ("x",), {}),
        ("histogram", ("x",), {"bins": 4}),
        ("distribution", ("x",), {"bins": 100}),
        ("median", ("n",), {"by": "sex"}),
        ("crosstab", ("sex", "arm"), {}),
        ("ttest_ind", ("x",), {"by": "arm"}),
    ]
    for people in ({}, {"person": "id", "max_rows": 2}):
        schema = ds.Schema(columns, expected_rows=size, **people)
        for table, doubted in ((garbled, True), (readable, False)):
            session = ds.Session(table | {"id": [i // 2 for i in range(size)]}, schema, ledger="test", seed=3)
            for name, args, options in asked:
                found = session.ask(name, *args, epsilon=2, **options).caution
                assert (found is not None and found.kind == "fewer") is doubted, (name, people, found)


def test_rows_that_are_there_more_often_and_errors_far_above_the_plan() -> None:
    values = np.random.default_rng(0).uniform(0, 200, 2000)
    more = session(values, expected=500).count(epsilon=1).caution
    assert more is not None
    assert more.kind == "more"
    wide = session(values).std("height", epsilon=1).caution  # nobody is far from the middle
    assert wide is not None
    assert wide.kind == "wider"
    assert wide.seen > 3
    wide = session(values).correlation("weight", "height", epsilon=1).caution
    assert wide is not None
    assert wide.kind == "wider"


def test_values_that_lie_as_values_do_are_not_doubted() -> None:
    """With a deviation of a twelfth of the bounds its error is 3.5 times that of values which lie evenly."""
    values = np.random.default_rng(2).normal(100, 200 / 12, 2000)
    for seed in range(5):
        asked = session(values, seed=seed)
        for of in ("table", "population"):
            assert asked.std("weight", of=of, epsilon=1).caution is None  # type: ignore[arg-type]
        (joint,) = asked.together([("std", "weight")], epsilon=1)
        assert joint.caution is None


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.7])
def test_a_filter_that_keeps_few_rows_is_not_doubted_for_that(share: float) -> None:
    """How many rows fulfil a filter is not what expected_rows speaks of. 50 runs of each, none with a caution."""
    values = np.random.default_rng(0).uniform(0, 200, 2000)
    rows = f"weight < {200 * share}"
    for seed in range(50):
        asked = session(values, seed=seed)
        for result in (asked.mean("weight", where=rows, epsilon=2), asked.mean("weight", where=rows, by="sex", epsilon=2)):
            assert result.caution is None, result.caution
    garbled = session(["70,5"] * 2000)
    assert garbled.mean("weight", where="sex == 'f'", epsilon=1).caution is not None


def test_what_goes_to_plan_is_not_doubted() -> None:
    """200 runs of each: the noise of usable rows passes six deviations less often than once in a thousand."""
    values = np.random.default_rng(0).uniform(0, 200, 2000)
    for seed in range(200):
        asked = session(values, expected=1500, seed=seed)
        assert asked.count(by="sex", epsilon="0.05").caution is None
        assert asked.count(where={"sex": "f"}, epsilon="0.05").caution is None
    assert session(values).mean("weight", epsilon=1).caution is None
    assert session(values).median("weight", epsilon=1).caution is None
    assert session(values, expected=None).mean("weight", epsilon=1).caution is None


def test_a_guess_in_a_document_is_checked() -> None:
    document = (
        session([1.0, 2.0]).mean("weight", epsilon=1).to_json().replace('"expected_rows": 2000', '"expected_rows": "x"')
    )
    with pytest.raises(ds.errors.DiscreetError):
        Result.from_json(document)
