"""Whatever the noise made of a release, an answer lies within its own intervals, and reading it neither warns nor fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.mechanisms import DiscreteLaplace, Laplace
from discreet.statistics.question import Table, build

ASKED: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("mean", ("x",), {}), ("mean", ("x",), {"by": "g"}), ("sum", ("x",), {}), ("sum", ("x",), {"population_size": 50}),
    ("variance", ("x",), {}), ("std", ("x",), {}), ("covariance", ("x", "y"), {}), ("correlation", ("x", "y"), {}),
    ("pooled_variance", ("x",), {"by": "g"}), ("pooled_covariance", ("x", "y"), {"by": "g"}),
    ("people_mean", ("x",), {"each": "mean"}),
    ("count", (), {}), ("crosstab", ("g",), {}), ("histogram", ("x",), {"bins": 3}), ("share", ("g",), {}),
    ("distribution", ("x",), {"bins": 4}),
]  # fmt: skip
BOUNDS = [(0, 1), (-1e100, 1e100), (0, 1e-100), (1e9, 2e9), (-3, 1e100)]


@pytest.mark.parametrize(("name", "columns", "options"), ASKED, ids=str)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_an_answer_is_within_its_intervals(
    name: str, columns: tuple[str, ...], options: dict[str, Any], bounds: tuple[float, float]
) -> None:
    rng = np.random.default_rng(7)
    columns_declared = {"x": ds.Real(*bounds), "y": ds.Real(*bounds), "g": ds.Categories(["a", "b", "c"])}
    for relation, rows in (("add_remove", None), ("replace", 3)):
        table = Table(ds.Schema(columns_declared, neighbors=relation), rows)  # type: ignore[arg-type]
        question = build(name, table, *columns, of="population", **options)
        law: Any = Laplace(3) if question.query.grid < 1 else DiscreteLaplace(3)
        for spread in (0.0, 1e6):
            cells = rng.integers(-1, 2, question.query.shape) * spread
            answer = Result(question.reading, (Release(cells, law),), law.cost(1))
            value = np.asarray(answer.value)
            error = np.asarray(answer.expected_error)
            assert np.isfinite(error).all()
            assert (error >= 0).all()
            for strict in (False, True)[: 1 + (bounds == (0, 1) and spread > 0)]:
                ends = answer.interval(0.9, of="population", strict=strict)
                low, high = map(np.asarray, ends)
                room = 1e-9 * np.maximum(np.abs(low), np.abs(high))
                assert (low - room <= value).all()
                assert (value <= high + room).all()


def test_what_bounds_or_a_public_number_of_rows_leave_is_kept_to() -> None:
    table = Table(ds.Schema({"x": ds.Real(0, 1)}, neighbors="replace"), 3)
    counts = build("histogram", table, "x", bins=2, of="population")
    release = Release(np.array([-50.0, 400.0]), DiscreteLaplace(100))
    answer = Result(counts.reading, (release,), release.mechanism.cost(1))
    assert answer.value.tolist() == [0, 3]
    drawn = build("distribution", Table(ds.Schema({"x": ds.Real(0, 1)})), "x", bins=2)
    answer = Result(drawn.reading, (release,), release.mechanism.cost(1))
    assert answer.value.tolist() == [0, 400]
    assert min(answer.interval(0.9)[0]) == 0
