"""Asks of one batch that are about different rows: one payment, one pass for each restriction, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.core.ask import Account, Ask, Open
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.random import Random
from discreet.core.runner import Bill, Desk, Paid
from discreet.errors import BudgetExceeded, InvalidRequest, UnknownName
from discreet.ledger import Ledger
from discreet.mechanisms import DiscreteLaplace, NoNoise
from discreet.sources.base import BaseSource
from discreet.sources.memory import MemorySource
from discreet.statistics.question import Table, build

SCHEMA = ds.Schema({"age": ds.Integer(0, 9), "sex": ds.Categories(["f", "m", "x"]), "town": ds.Categories(["a", "b"])})
TABLE = {"age": np.arange(60) % 10, "sex": np.array(["f", "m", "x"])[np.arange(60) % 3],
         "town": np.array(["a", "b"])[np.arange(60) // 7 % 2]}  # fmt: skip
COUNT = build("count", Table(SCHEMA)).query
BY_AGE = build("histogram", Table(SCHEMA), "age", bins=5).query

_labels = st.lists(st.sampled_from(["f", "m", "x"]), min_size=1, max_size=3)
_towns = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2)
_where = st.builds(
    lambda sex, town: (*([("sex", tuple(sex))] if sex else []), *([("town", tuple(town))] if town else [])),
    st.none() | _labels,
    st.none() | _towns,
)


class Watched(Ledger):
    """A ledger that counts payments."""

    payments = 0

    def buy(self, bills: Sequence[Bill], relation: Relation, *rest: Any, **more: Any) -> list[Paid]:
        self.payments += bool(bills)
        return super().buy(bills, relation, *rest, **more)


def _source() -> tuple[BaseSource, list[Any]]:
    """The table, and a list that grows by what each pass over it was restricted to."""
    source = ds.sources.open_source(TABLE, SCHEMA, version="1")
    passes: list[Any] = []
    assert isinstance(source, MemorySource)

    class Seen(type(source)):  # type: ignore[misc]
        def fold(self, *arguments: Any) -> Any:
            passes.append(self.restriction)
            return super().fold(*arguments)

    source.__class__ = Seen
    return source, passes


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(_where, st.booleans()), min_size=1, max_size=6))
def test_a_batch_answers_as_its_asks_would_alone(asked: list[tuple[Any, bool]]) -> None:
    """Without noise: what each ask gives of the narrowed table, in one payment and one pass for each restriction."""
    source, passes = _source()
    asks = tuple(Ask(BY_AGE if grouped else COUNT, NoNoise(), where=where) for where, grouped in asked)
    with Watched("test") as ledger:
        releases = Desk(source, ledger, Random(1), "add_remove").answer(asks)
        assert ledger.payments == 1
        assert len(passes) == len(set(passes))
        for ask, release in zip(asks, releases, strict=True):
            narrowed = source.where(**dict(ask.where)) if ask.where else source
            np.testing.assert_array_equal(release.value, ask.query.evaluate(narrowed).counts)
            assert release.where == narrowed.restriction


@settings(max_examples=25, deadline=None)
@given(
    st.lists(_where, min_size=2, max_size=6, unique_by=lambda w: str([(n, sorted(set(v))) for n, v in w])), st.integers(1, 5)
)
def test_a_batch_is_paid_whole_or_not_at_all(filters: list[Any], too_few: int) -> None:
    """With a budget one ask short of the batch, nothing is charged and nothing is looked at; asked again it is free."""
    source, passes = _source()
    law, n = DiscreteLaplace(scale=10), len(filters)
    asks = tuple(Ask(COUNT, law, where=where) for where in filters)
    with Ledger("test", ds.Budget(epsilon=f"{n * 0.1 - 0.01 * too_few:.2f}")) as short:
        with pytest.raises(BudgetExceeded):
            Desk(source, short, Random(1), "add_remove").answer(asks)
        assert short.spent() == Cost.nothing()
        assert not passes
    with Ledger("test", ds.Budget(epsilon=f"{n * 0.1:.1f}")) as enough:
        desk = Desk(source, enough, Random(1), "add_remove")
        first, looked = desk.answer(asks), len(passes)
        again = Desk(_source()[0], enough, Random(2), "add_remove").answer(asks[::-1])
        assert [int(r.value) for r in again[::-1]] == [int(r.value) for r in first]
        assert len(passes) == looked
        assert enough.spent().epsilon * 10 == n


def test_a_filter_that_names_nothing_is_refused_unpaid() -> None:
    source, passes = _source()
    law = DiscreteLaplace(scale=10)
    with Ledger("test", ds.Budget(epsilon=1)) as ledger:
        asks = (Ask(COUNT, law), Ask(COUNT, law, where=(("sex", ("q",)),)))
        with pytest.raises(UnknownName, match="no category 'q'"):
            Desk(source, ledger, Random(1), "add_remove").answer(asks)
        assert ledger.spent() == Cost.nothing()
    assert not passes


def test_rows_of_its_own_are_for_asks_that_pay_themselves() -> None:
    where = (("sex", ("f",)),)
    with pytest.raises(InvalidRequest, match="an account pays for the rows it was opened for"):
        Ask(COUNT, NoNoise(), account=Account(1), where=where)
    with pytest.raises(InvalidRequest, match="an account pays for the rows of its table"):
        Open(Cost.pure(1), plan=Ask(COUNT, NoNoise(), where=where))


def test_labels_that_python_takes_for_equal_are_different_rows() -> None:
    """1 and true are two labels of one column: each ask of a batch is about its own."""
    schema = ds.Schema({"c": ds.Categories([1, True, 0, False])})
    table = {"c": ["1"] * 5 + ["true"] * 7 + ["0"] * 11 + ["false"] * 13}
    asks = tuple(Ask(COUNT, NoNoise(), where=(("c", (label,)),)) for label in (1, True, 0, False))
    with Ledger("test") as ledger:
        releases = Desk(ds.sources.open_source(table, schema, version="1"), ledger, Random(1), "add_remove").answer(asks)
    assert [int(release.value) for release in releases] == [5, 7, 11, 13]
    assert [repr(release.where) for release in releases] == [repr(ask.where) for ask in asks]
