"""Tables of counts with missing values as a level, and the utilities of a choice: against brute force on neighbours."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.query import queries
from discreet.errors import InvalidRequest
from discreet.sources import open_source
from discreet.synthetic.domain import domain_of
from discreet.synthetic.queries import Misfit, marginal

COLUMNS = {"a": ds.Categories(["p", "q"]), "x": ds.Real(0, 4)}
ROWS: list[Any] = list(itertools.product(["p", "q", None], [0.5, 3.5, None]))


def source(rows: list[Any], schema: ds.Schema, ids: Any = None) -> Any:
    table = {"a": np.array([r[0] for r in rows], object), "x": np.array([r[1] for r in rows], object)}
    return open_source(table if ids is None else table | {"who": np.array(ids)}, schema)


def test_counts_with_missing_values_as_a_level() -> None:
    schema = ds.Schema(COLUMNS)
    domain = domain_of(schema, ["a", "x"], {"x": [0, 2, 4]})
    assert domain.sizes == (3, 3)
    found = marginal(domain, (0, 1)).evaluate(source(ROWS + ROWS[:1], schema)).counts
    assert found.tolist() == [[2, 1, 1], [1, 1, 1], [1, 1, 1]]
    filled = ds.Schema({"a": ds.Categories(["p", "q"], missing="q", other="q"), "x": ds.Real(0, 4, missing=1)})
    assert domain_of(filled, ["a", "x"], {"x": 2}).sizes == (2, 2)


@pytest.mark.parametrize("relation", ["add_remove", "replace", "both"])
@pytest.mark.parametrize("several", [1, 2])
def test_no_neighbour_moves_them_further_than_they_say(relation: Any, several: int) -> None:
    """Every table of two people with up to ``several`` rows of a kind each, and every neighbour; bounds are met."""
    people = {} if several == 1 else {"person": "who", "max_rows": several}
    schema = ds.Schema({name: ds.Categories(["p", "q"]) for name in "ab"}, neighbors=relation, **people)  # type: ignore[arg-type]
    domain = domain_of(schema, ["a", "b"])
    kinds = list(itertools.product(["p", "q", None], ["p", None]))
    count = marginal(domain, (0, 1))
    choice = Misfit(domain.attributes, ((0,), (0, 1)), ((1, 0, 0), (1,) * 9), (1, 2), (2, 3), several)
    assert queries.read(choice.to_dict()) == choice
    assert queries.read(count.to_dict()) == count

    def values(*held: Any) -> tuple[Any, Any]:
        rows = [kind for kind in held if kind is not None for _ in range(several)]
        ids = [i for i, kind in enumerate(held) if kind is not None for _ in range(several)]
        table = {name: np.array([r[i] for r in rows], object) for i, name in enumerate("ab")}
        if several > 1:
            table["who"] = np.array(ids, dtype=object)
        made = open_source(table, schema)
        return np.asarray(count.evaluate(made).counts), np.asarray(choice.evaluate(made))

    worst = np.zeros(3)
    for one, other, third in itertools.product(kinds, kinds, kinds):
        here = values(one, other)
        others = [values(one, third)] if relation != "add_remove" else []
        others += [values(one, None)] if relation != "replace" else []
        for there in others:
            moved = np.abs(here[0] - there[0])
            worst = np.maximum(worst, [moved.sum(), np.sqrt((moved**2).sum()), np.abs(here[1] - there[1]).max()])
    said, chosen = count.distance(relation), choice.distance(relation)
    assert worst[0] == float(said.l1)
    assert worst[1] == pytest.approx(float(said.l2))
    assert worst[2] <= float(chosen.linf)
    assert float(chosen.linf) == 3 * several * (1 if relation == "add_remove" else 2)


def test_all_tables_are_about_the_same_rows_of_a_person() -> None:
    """Which rows count is chosen by all columns, so that tables agree on what they share."""
    schema = ds.Schema({name: ds.Categories(list("pqr")) for name in "abc"}, person="who", max_rows=2)
    rng = np.random.default_rng(1)
    table: dict[str, Any] = {name: rng.choice(list("pqr"), 300) for name in "abc"} | {"who": np.repeat(np.arange(50), 6)}
    domain, made = domain_of(schema, list("abc")), open_source(table, schema)
    ab, bc = (marginal(domain, places).evaluate(made).counts for places in ((0, 1), (1, 2)))
    assert ab.sum() == 100
    assert (ab.sum(0) == bc.sum(1)).all()


@pytest.mark.parametrize(
    ("columns", "bins", "words"),
    [
        (["x"], {}, "needs public bins"),
        (["a", "a"], {}, "must differ"),
        (["a"], {"x": 3}, "not synthesised"),
        (["a"], {"a": 3}, "takes no bins"),
        (["x"], {"x": [1, 2]}, "must reach from"),
        ([], {}, "at least one"),
        (["nothing"], {}, "no column"),
        (["x"], {"x": 0}, "between 1 and"),
        (["x"], {"x": "abc"}, "a list of edges"),
    ],
)
def test_declarations_that_are_refused(columns: list[str], bins: Any, words: str) -> None:
    with pytest.raises((InvalidRequest, LookupError), match=words):
        domain_of(ds.Schema(COLUMNS), columns, bins)


def test_every_bin_of_whole_numbers_holds_one() -> None:
    schema = ds.Schema({"n": ds.Integer(0, 9)})
    assert domain_of(schema, ["n"]).sizes == (11,)
    with pytest.raises(InvalidRequest, match="hold a whole number"):
        domain_of(schema, ["n"], {"n": 20})


def test_posteriors_read_the_counts_of_a_synthetic_table() -> None:
    """All of them at once, a missing value as a level: theta is where the table without noise has it."""
    table = {"a": np.repeat(["x", "y", "?"], [300, 600, 100]), "b": np.tile(["u", "v"], 500)}
    schema = ds.Schema({"a": ds.Categories(["x", "y"]), "b": ds.Categories(["u", "v"], missing="u")})
    made = ds.Session(table, schema, ledger="test", seed=1).synthesize(["a", "b"], rho=2, tables=2)
    model = ds.inference.DirichletMultinomial(1.0, shape=(3, 2), columns=("a", "b"))
    theta = ds.inference.infer(made.releases, model, draws=100, warmup=100, chains=2, seed=1).posterior["theta"]
    # Of 1,000 people a share's posterior deviation is at most .016, and noise of deviation 2 a cell moves it by .002.
    assert np.abs(np.asarray(theta).mean((0, 1)).sum(1) - [0.3, 0.6, 0.1]).max() < 0.05
