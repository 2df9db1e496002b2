"""Errors carry what they are about as fields: whoever shows them changes a remedy or adds a place without reading text."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import errors
from discreet.core import numbers
from discreet.core.price import Price

KINDS = [
    kind for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.DiscreetError) and kind is not errors.NoSuchLedger
]  # fmt: skip
WORDS = st.text(min_size=1)


@given(st.sampled_from(KINDS), WORDS, WORDS, WORDS, WORDS)
def test_place_rule_and_remedy_stay_apart(kind: Any, rule: str, key: str, remedy: str, at: str) -> None:
    made = kind(rule, key=key, remedy=remedy)
    assert str(made) == f"{rule}; {remedy}"
    moved = made.at(at).remedied("another")
    assert (str(moved), moved.key, type(moved)) == (f"{at}{rule}; another", key, kind)
    assert str(moved.at("elsewhere")) == str(moved), "the first place is the nearest"
    assert str(made) == f"{rule}; {remedy}", "the error itself is as it was"
    again = pickle.loads(pickle.dumps(moved))
    assert (str(again), again.key) == (str(moved), key)


@pytest.mark.parametrize("word", ["epsilon", "rho", "delta"])
def test_a_refused_amount_says_which_and_what_to_write(word: str) -> None:
    price = {"epsilon": 1, "delta": -1} if word == "delta" else {word: -1}
    for give in (lambda: numbers.positive(-1, f"price: {word}"), lambda: Price(**price)):  # type: ignore[arg-type]
        with pytest.raises(errors.InvalidRequest) as refused:
            give()
        assert refused.value.key == word
        assert f"such as {word} = " in refused.value.remedy


def test_a_ledger_that_is_not_there_says_where() -> None:
    made = errors.NoSuchLedger("called 'a' at b", " (there are: 'c')")
    assert made.where == "called 'a' at b (there are: 'c')"
    again = pickle.loads(pickle.dumps(made.remedied("look")))
    assert str(again) == "a new ledger needs a budget, and there is none called 'a' at b yet (there are: 'c'); look"
