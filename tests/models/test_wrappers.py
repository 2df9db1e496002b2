"""Wrappers of scikit-learn that fit several times pay several times, and errors say all that is missing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier

import discreet as ds
from discreet.errors import BudgetExceeded, InvalidRequest, UnknownName

m = ds.models
X, Y = load_iris(return_X_y=True)
BOUNDS = [(4, 8), (2, 5), (1, 7), (0, 3)]


def test_one_against_the_rest_pays_for_each_class_and_stops_at_the_budget() -> None:
    with ds.Ledger("sqlite://", ds.Budget(epsilon=5)) as ledger:
        inner = m.LogisticRegression(epsilon=1, bounds=BOUNDS, classes=[0, 1], ledger=ledger)
        OneVsRestClassifier(inner).fit(X, Y)
        assert ledger.spent().epsilon == 3
        with pytest.raises(BudgetExceeded):
            OneVsRestClassifier(inner).fit(X, Y)
        assert ledger.spent().epsilon == 5, "two more were paid for, the third was not"


def test_a_vote_pays_for_each_voter() -> None:
    with ds.Ledger("sqlite://", ds.Budget(epsilon=5)) as ledger:
        voters = [
            ("bayes", m.GaussianNB(epsilon=1, bounds=BOUNDS, classes=[0, 1, 2], ledger=ledger)),
            ("forest", m.RandomForestClassifier(epsilon=2, bounds=BOUNDS, classes=[0, 1, 2], ledger=ledger)),
        ]
        vote = VotingClassifier(voters, voting="soft").fit(X, Y)
        assert ledger.spent().epsilon == 3
        assert np.allclose(vote.predict_proba(X).sum(1), 1)


def test_calibration_and_a_search_pay_for_each_fit_and_stop_at_the_budget() -> None:
    y, facts = (Y > 0).astype(int), {"bounds": BOUNDS, "classes": [0, 1]}
    with ds.Ledger("sqlite://", ds.Budget(epsilon=6)) as ledger:
        inner = m.LogisticRegression(epsilon=1, ledger=ledger, **facts)
        CalibratedClassifierCV(inner, cv=3).fit(X, y)
        assert ledger.spent().epsilon == 3, "a fit for each fold"
        search = GridSearchCV(inner, {"ridge": [1, 2]}, cv=2, scoring="accuracy", error_score="raise")
        with pytest.raises(BudgetExceeded):
            search.fit(X, y)
        assert ledger.spent().epsilon == 6, "three of four fits of the search"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (m.LogisticRegression(), ["epsilon", "bounds", "classes"]),
        (m.GaussianNB(), ["epsilon", "bounds", "classes"]),
        (m.PoissonRegressor(), ["epsilon", "bounds", "target_bounds"]),
        (m.LinearRegression(epsilon=1), ["bounds", "target_bounds"]),
        (m.LinearSVC(), ["epsilon", "bounds", "classes"]),
        (m.SGDClassifier(), ["epsilon", "delta", "bounds", "classes", "expected_rows"]),
        (m.MLPClassifier(epsilon=1), ["delta", "bounds", "classes", "expected_rows"]),
        (m.GammaRegressor(target_bounds=(1, 9)), ["epsilon", "bounds"]),
        (m.SGDRegressor(epsilon=1), ["delta", "bounds", "target_bounds", "expected_rows"]),
    ],
)
def test_all_that_is_missing_is_said_at_once(model: object, words: list[str]) -> None:
    with pytest.raises(InvalidRequest) as raised:
        model.fit(X, Y)  # type: ignore[attr-defined]
    for word in words:
        assert word in str(raised.value)
    assert "got 0 in y" not in str(raised.value), "nothing is said about targets that are not there"


def test_a_session_says_all_that_is_wrong_at_once() -> None:
    columns = {"a": ds.Real(0, 1), "y": ds.Categories([0, 1])}
    session = ds.Session({"a": [0.5], "y": [1]}, ds.Schema(columns), ds.Budget(epsilon=1))
    wrong = m.LogisticRegression(epsilon=1, bounds=(0, 1), classes=[0, 1], neighbors="replace", random_state=1)
    for call in (session.fit, session.preview_fit, lambda model, *names: session.tune([model], *names)):
        with pytest.raises(InvalidRequest, match=r"bounds come.*classes come.*neighbors is.*noise comes.*needs target="):
            call(wrong, ["a"])
        with pytest.raises(UnknownName, match="no columns are declared as 'b', 'c', 'z'; known: a, y"):
            call(m.LogisticRegression(epsilon=1), ["a", "b", "c"], "z")
    with pytest.raises(InvalidRequest, match="got no epsilon and no delta"):
        session.fit(m.SGDClassifier(), ["a"], "y")
    assert session.spent().epsilon == 0


def test_a_pipeline_keeps_names_in_what_it_publishes_and_sparse_matrices_are_refused_with_a_remedy() -> None:
    import pandas as pd
    from scipy.sparse import csr_matrix
    from sklearn.pipeline import make_pipeline

    frame = pd.DataFrame(np.random.default_rng(0).random((60, 2)), columns=["age", "pay"])
    goal = (frame["age"] > 0.5).astype(int)
    ends = m.LogisticRegression(epsilon=1, bounds=(-4, 4), classes=[0, 1])
    made = make_pipeline(m.StandardScaler(bounds=(0, 1)), ends).set_output(transform="pandas").fit(frame, goal)
    inputs = m.document(made[-1])["predictor"]["inputs"]
    assert [each["column"] for each in inputs] == ["age", "pay"] == made[-1].feature_names_
    with pytest.raises(TypeError, match="toarray"):
        ends.fit(csr_matrix(frame.to_numpy()), goal)
