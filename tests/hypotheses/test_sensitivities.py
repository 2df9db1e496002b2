"""Every person that a small grid of records allows, one row or two, missing labels and values beyond the bounds included.

The sums behind these tests and population statistics add up over people, so what a person can add, and how far two people
are apart, is all that a neighbour can move, whoever else is in the table. Sums of ranks do not add up: ``test_ranks``
searches whole tables for them.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.query import RELATIONS, Relation
from discreet.sources import open_source
from discreet.statistics.question import Table, builder

POPULATION = {"of": "population"}
ASKED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "ttest_1samp": (("x",), {"popmean": 1}),
    "ttest_rel": (("x", "y"), {}),
    "ttest_ind": (("x",), {"by": "arm"}),
    "binomtest": (("arm",), {}),
    "chi2_contingency": (("arm", "town"), {}),
    "chisquare": (("town",), {}),
    "f_oneway": (("x",), {"by": "town"}),
    "ks_2samp": (("x",), {"by": "arm", "bins": 4}),
    "pearsonr": (("x", "y"), {}),
    "linregress": (("x", "y"), {}),
    "equal_variances": (("x",), {"by": "arm"}),
    "mean": (("x",), POPULATION),
    "variance": (("x",), POPULATION),
    "covariance": (("x", "y"), POPULATION),
    "correlation": (("x", "y"), POPULATION),
    "sum": (("x",), POPULATION),
    "share": (("town",), {}),
    "distribution": (("x",), {"bins": 100}),
    "logrank": (("x", "event"), {"by": "arm", "strata": "town", "bins": 3}),
}
COLUMNS = {
    "x": ds.Real(-1, 3),
    "y": ds.Real(0, 1),
    "event": ds.Integer(0, 1),
    "arm": ds.Categories(["a", "b"], missing="a"),
    "town": ds.Categories(["n", "e", "s"]),
}
MANY = [
    {"x": x, "y": y, "event": event, "arm": arm, "town": town}
    for x, (y, event), arm, town in itertools.product(
        (-1.0, 0.4, 3.0, math.nan, 99.0), ((0.0, 1), (1.0, 0)), ("a", "b"), ("n", "s", "?")
    )
]
FEW = [r for r in MANY if r["x"] in (-1.0, 3.0) and (r["arm"], r["town"]) in (("a", "n"), ("b", "s"))]


def added(name: str, relation: Relation, most: int, filtered: bool = False) -> tuple[Any, np.ndarray]:
    """The query, and what every person adds to its sums; ``filtered``: of the rows of two towns, who are not counted."""
    facts = ds.Schema(COLUMNS, neighbors=relation, **({"person": "id", "max_rows": most} if most > 1 else {}))
    args, options = ASKED[name]
    public = relation == "replace" and most == 1 and not filtered
    query: Any = builder(name)(Table(facts, 1 if public else None), *args, **options).query
    people = (
        [(r,) for r in MANY] if most == 1 else [(r,) for r in FEW] + list(itertools.combinations_with_replacement(FEW, 2))
    )
    made = []
    for rows in people:
        table = {key: [row[key] for row in rows] for key in COLUMNS} | {"id": [7] * len(rows)}
        source: Any = open_source(table, facts)
        made.append(np.ravel(query.evaluate(source.where(town=["n", "e"]) if filtered else source).value))
    return query, np.unique(np.array(made, np.float64), axis=0)


def moved(query: Any, people: np.ndarray, relation: Relation) -> float:
    """The share of the L1 distance that is reached; no norm is passed."""
    moves = [] if relation == "replace" else [people]
    if relation != "add_remove":
        moves.append((people[:, None] - people[None]).reshape(-1, people.shape[1]))
    apart = np.abs(np.concatenate(moves))
    bound = query.distance(relation)
    reached = apart.sum(1).max(), np.sqrt((apart**2).sum(1)).max(), apart.max()
    for found, limit in zip(reached, (bound.l1, bound.l2, bound.linf), strict=True):
        assert found <= float(limit) * (1 + 1e-12)
    return float(reached[0]) / float(bound.l1)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ASKED)
def test_no_person_moves_further(name: str, relation: Relation) -> None:
    for most in (1,) if name == "logrank" else (1, 2):
        assert moved(*added(name, relation, most), relation) >= 0.98  # the distance is not idle


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ASKED)
def test_nor_by_entering_or_leaving_a_filter(name: str, relation: Relation) -> None:
    """A person who is replaced may begin or cease to be among the filtered rows, whose number is then private."""
    moved(*added(name, relation, 1, filtered=True), relation)


ORDERED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "mannwhitneyu": (("x",), {"by": "arm"}),
    "kruskal": (("x",), {"by": "town"}),
    "wilcoxon": (("x", "y"), {}),
    "ks_2samp": (("x",), {"by": "arm"}),
    "two_sample": (("x",), {"by": "arm"}),
    "compare": (("x",), {"by": "arm"}),
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", [*ASKED, *ORDERED, "of_tests"])
def test_what_is_asked_of_filtered_rows_tells_nothing_of_them(name: str, relation: Relation) -> None:
    """One query, law and reading, however many of six rows pass the filter; of all rows only their public number counts."""

    def asked(sexes: str, where: dict[str, str]) -> tuple[Any, ...]:
        table = {key: [MANY[0][key]] * 6 for key in COLUMNS} | {"sex": list(sexes)}
        schema = ds.Schema(COLUMNS | {"sex": ds.Categories(["f", "m"])}, neighbors=relation)
        session = ds.Session(table, schema, ledger="test", seed=1)
        if name == "of_tests":
            found = session.of_tests(lambda part: 0.5, ["x"], where=where, epsilon=1)
        else:
            args, options = (ASKED | ORDERED)[name]
            found = session.ask(name, *args, **options, where=where, epsilon=1)
        (release,) = found.releases
        query: Any = release.query
        return query.to_dict(), release.mechanism.to_dict(), release.distance, found.reading.to_dict(), found.cost

    assert asked("ffffmm", {"sex": "f"}) == asked("fmmmmm", {"sex": "f"}) == asked("mmmmmm", {"sex": "f"})
    assert asked("ffffmm", {}) == asked("mmmmmm", {})
