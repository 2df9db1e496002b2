"""What is left of an analysis, against the cells of the copies themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidRequest
from discreet.protect import Hierarchy, anonymize, microaggregate, mondrian, utility
from discreet.protect.analyses import Analyses
from discreet.protect.report import render
from discreet.protect.trade_off import together

RNG = np.random.default_rng(4)
AGES = np.clip(RNG.normal(45, 15, 600), 0, 99).astype(int)
TABLE = {
    "age": AGES.tolist(),
    "visits": np.clip(AGES // 10 + RNG.integers(0, 5, 600), 0, 19).tolist(),
    "job": RNG.choice(["nurse", "doctor", "cook"], 600, p=[0.5, 0.3, 0.2]).tolist(),
}
TABLE["ill"] = np.where(RNG.random(600) < 1 / (1 + np.exp((60 - AGES) / 8)), "yes", "no").tolist()
NAMES = ["age", "visits", "job"]
HIERARCHIES = {
    "age": Hierarchy.intervals(0, 100, [10, 50]),
    "visits": Hierarchy.intervals(0, 20, [5]),
    "job": Hierarchy.tree({"nurse": ["health", "*"], "doctor": ["health", "*"], "cook": ["kitchen", "*"]}),
}


def read(cell: Any, top: float) -> float:
    """The middle of what a cell says."""
    text = str(cell)
    if text == "*":
        return top / 2
    ends = [float(part) for part in text.strip("[)]").split(", ")]
    return sum(ends) / len(ends)


@pytest.mark.parametrize("make", [anonymize, mondrian, microaggregate])
@pytest.mark.parametrize("k", [3, 20])
def test_means_and_correlations_are_those_of_the_copys_cells(make: Any, k: int) -> None:
    more = {"suppression": 0.1} if make is anonymize else {}
    copy = make(TABLE, NAMES, HIERARCHIES, k, **more)
    found = utility(copy)
    shown = copy.table
    tops = {"age": 100.0, "visits": 20.0}
    cells = {name: np.array([read(cell, top) for cell in shown[name]]) for name, top in tops.items()}
    true = {name: np.array(TABLE[name], float) for name in tops}
    shift = max(abs(cells[name].mean() - true[name].mean()) / true[name].std() for name in tops)
    # Microaggregation writes six digits of a mean.
    assert found.means == pytest.approx(shift, abs=1e-5)
    apart = abs(_corr(*cells.values()) - _corr(*true.values()))
    assert found.correlation == pytest.approx(apart, abs=1e-5)
    assert found.auc is None


def _corr(a: np.ndarray, b: np.ndarray) -> float:
    return 0.0 if a.std() * b.std() < 1e-12 else float(np.corrcoef(a, b)[0, 1])


def test_nothing_is_lost_where_nothing_is_changed_and_more_where_more_is() -> None:
    same = anonymize(TABLE, NAMES, HIERARCHIES, 1)
    analyses = Analyses(same, "ill", "yes")
    found = analyses.of(same)
    assert (found.means, found.correlation, found.queries) == (0, 0, 0)
    assert found.auc == found.auc_of_table > 0.8
    top = analyses.of(same, (3, 2, 2))
    assert top.auc == 0.5
    assert top.queries > analyses.of(same, (1, 1, 1)).queries > 0
    both = [analyses.of(make(TABLE, NAMES, HIERARCHIES, 25)).queries for make in (mondrian, anonymize)]
    assert both[0] < both[1]


def test_counts_read_a_row_as_spread_over_its_cell() -> None:
    """Rows of 10 years are counted in a stretch of 4 of them with a weight of .4; left out rows not at all."""
    table = {"age": [1, 2, 3, 11, 95], "sex": ["f"] * 5}
    levels = {"age": Hierarchy.intervals(0, 100, [10]), "sex": Hierarchy.tree({"f": ["*"], "m": ["*"]})}
    copy = anonymize(table, ["age", "sex"], levels, 2, suppression=0.4, at_most={"age": 1})
    analyses = Analyses(copy)
    shown, kept = analyses._by_level(copy, (1, 0))
    rows = sorted(zip(shown[0].share(0.02, 0.06).round(9).tolist(), kept.tolist(), strict=True))
    assert rows == [(0.0, False), (0.0, False), (0.4, True), (0.4, True), (0.4, True)]


def test_the_page_and_the_picture_of_several_copies() -> None:
    copy = anonymize(TABLE, NAMES, HIERARCHIES, 5, suppression=0.05)
    page = render(copy, target="ill", positive="yes")
    assert "regression" in page
    assert "_blank" not in page
    assert page.count('class="node"') == page.count("discreet protect anonymize JOB.toml --node")
    for anchor in {part.split('"')[0] for part in page.split('xlink:href="#node')[1:]}:
        assert f'id="node{anchor}"' in page
    picture = together({"levels": copy, "boxes": mondrian(TABLE, NAMES, HIERARCHIES, 5)}, "ill", "yes")
    assert [axes.get_ylabel() for axes in picture.axes] == [
        "error of counts, median", "shift of a mean, in sd", "area under the ROC curve",
    ]  # fmt: skip
    with pytest.raises(InvalidRequest, match="positive value"):
        render(copy, target="ill")
