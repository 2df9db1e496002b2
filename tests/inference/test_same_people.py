"""Releases say which rows they are about, and inference heeds it before anything is compiled."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InvalidRequest


def session() -> ds.Session:
    rng = np.random.default_rng(1)
    table = {"ill": rng.choice(["no", "yes"], 300), "x": rng.normal(size=300)}
    schema = ds.Schema({"ill": ds.Categories(["no", "yes"]), "x": ds.Real(-3, 3)})
    return ds.Session(table, schema, ds.Budget(epsilon=30), "sqlite://")


def test_a_release_says_which_rows_it_is_about() -> None:
    made = session()
    some, every = made.count(epsilon=1, where={"ill": "yes"}), made.count(epsilon=1)
    assert some.releases[0].where == (("ill", ("yes",)),)
    assert ds.Result.from_json(some.to_json()).releases[0].where == some.releases[0].where
    assert every.releases[0].where == ()
    assert "where" not in every.releases[0].to_dict()


def test_releases_about_different_people_are_refused() -> None:
    made = session()
    both = [made.mean("x", epsilon=1, where={"ill": label}) for label in ("no", "yes")]
    with pytest.raises(InvalidRequest, match="about the same people, got ill is no; ill is yes"):
        ds.inference.infer(both, ds.inference.Normal(0, 3))


def test_a_value_that_the_law_cannot_give_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="whole multiples of 1"):
        ds.inference.infer(ds.Release.of(ds.DiscreteLaplace("0.8"), 5.5), ds.inference.BetaBernoulli(1, 1), n=12)
