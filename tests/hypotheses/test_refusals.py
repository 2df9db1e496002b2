"""What somebody gets wrong is refused in one line that says the rule and the value, and costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InvalidRequest

H = ds.hypotheses
X = np.linspace(-1, 1, 40)
BOUNDS: dict[str, Any] = {"bounds": (-3, 3), "epsilon": 1}
ARMS = ["a", "b"] * 20
SCHEMA = ds.Schema({"x": ds.Real(-3, 3), "e": ds.Integer(0, 1), "arm": ds.Categories(["a", "b"])})
LEDGER = ds.Ledger("sqlite://", ds.Budget(epsilon=3))
SESSION = ds.Session({"x": X, "e": [0, 1] * 20, "arm": ARMS}, SCHEMA, ledger=LEDGER)
COMPARED = SESSION.compare("x", by="arm", epsilon=1)
LIVES = SESSION.survival("x", "e", by="arm", epsilon=1)
ODD: Any = "many"

WRONG: list[tuple[str, Callable[[], Any]]] = [
    ("popmean", lambda: H.ttest_1samp(X, ODD, **BOUNDS)),
    ("p=", lambda: H.binomtest(X > 0, p=ODD, epsilon=1)),
    ("got 1000000000000", lambda: H.kruskal(X, X, X, draws=10**12, **BOUNDS)),
    ("draws must be", lambda: SESSION.test("ks_2samp", "x", by="arm", draws=10**12, epsilon=1)),
    ("draws must be", lambda: COMPARED.test("f_oneway", draws=10**12)),
    ("'neighbours'", lambda: H.of_tests(lambda part: 0.5, X, epsilon=1, neighbours="replace")),  # type: ignore[call-arg]
    ("list of tests", lambda: H.holm(ODD)),
    ("list of tests", lambda: H.holm(0.1)),  # type: ignore[arg-type]
    ("list of tests", lambda: H.holm([ODD])),
    ("at least the 2", lambda: H.holm([0.1, 0.2], tests=2.5)),  # type: ignore[arg-type]
    ("'wrong'", lambda: COMPARED.test("ttest_ind", wrong=1)),
    ("between", lambda: COMPARED.test("ttest_ind", between=3)),
    ("until must be an edge", lambda: LIVES.restricted_mean(ODD)),
    ("effect must be a number", lambda: ds.power("ttest_ind", effect=ODD, sd=0.1, epsilon=1)),
    ("sd must be a number", lambda: ds.power("ttest_ind", effect=0.1, sd=ODD, epsilon=1)),
    ("bounds must be two", lambda: ds.power("ttest_ind", effect=0.1, sd=0.1, bounds=3, epsilon=1)),
    ("about must be a number", lambda: ds.power("ttest_ind", effect=0.1, sd=0.1, about=ODD, epsilon=1)),
    ("give its inverse", lambda: ds.power("logrank", effect=0.65, events=0.5, epsilon=1)),
    ("bins must be at least 1", lambda: ds.power("logrank", effect=2, events=0.5, bins=0, epsilon=1)),
    ("groups must be a whole", lambda: ds.power("kruskal", effect=0.1, groups=3.5, epsilon=1)),
    ("shape must be two", lambda: ds.power("chi2_contingency", effect=0.1, shape=3, epsilon=1)),
    ("n must be a number", lambda: ds.power("mannwhitneyu", effect=0.1, n=ODD, epsilon=1)),
    ("alpha must be a number", lambda: ds.power("mannwhitneyu", effect=0.1, alpha=ODD, epsilon=1)),
    ("sd must be positive", lambda: ds.power("mannwhitneyu", effect=0.1, sd=0, epsilon=1)),
    ("sd must be positive", lambda: ds.power("kruskal", effect=0.1, sd=-1, epsilon=1)),
    ("cells must be a whole", lambda: ds.power("chisquare", effect=0.1, cells=2.5, epsilon=1)),
    ("events must be a number", lambda: ds.power("logrank", effect=2, events=ODD, epsilon=1)),
]


@pytest.mark.parametrize(("words", "wrong"), WRONG, ids=[f"{i} {words}" for i, (words, _) in enumerate(WRONG)])
def test_it_is_refused_in_one_line(words: str, wrong: Callable[[], Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        wrong()
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert LEDGER.spent().epsilon == 2
