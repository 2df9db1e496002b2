"""The habits of scikit-learn: its own checks, clones, pipelines, pickles, names, and what a search would spend."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.models.estimators.private_model import PrivateModel
from tests.models.declared import CHECKED

m = ds.models
MODELS = [
    m.LogisticRegression(epsilon=1, bounds=(-2, 2), classes=[0, 1]),
    m.LinearSVC(epsilon=1, delta=1e-6, bounds=(-2, 2), classes=[0, 1], method="output", width=0.2),
    m.KernelSVC(rho=0.5, components=7, classes=[0, 1]),
    m.OutcomeWeightedLearner(epsilon=1, bounds=(-2, 2), classes=[0, 1], propensity=0.5, weight_bound=2),
]
NAMES = [type(model).__name__ for model in MODELS]


def fitted(model: Any, X: Any, y: Any) -> Any:
    extra = {"benefit": np.ones(len(y))} if isinstance(model, m.OutcomeWeightedLearner) else {}
    return clone(model).fit(X, y, **extra)


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (200, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(("model", "excused"), CHECKED, ids=[type(model).__name__ for model, _ in CHECKED])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_accepts_it(model: Any, excused: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", SkipTestWarning)
        found = check_estimator(model, expected_failed_checks=excused, on_fail="raise")
    assert sum(check["status"] == "passed" for check in found) > 40
    for reason in excused.values():
        assert len(reason) > 20, "every waiver has its reason"


def test_no_model_scores_private_rows_for_nothing() -> None:
    kinds = [found for found in (getattr(m, name) for name in m.__all__) if isinstance(found, type)]
    models = [kind for kind in kinds if issubclass(kind, PrivateModel)]
    assert len(models) > 5
    for kind in models:
        with pytest.raises(InvalidRequest, match="itself a release"):
            kind.score(None, [[0.0]], [0])


def test_few_are_excused() -> None:
    assert sum(len(excused) for _, excused in CHECKED) <= 10


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_clones_pickles_and_parameters(model: Any, data: tuple[Any, Any]) -> None:
    X, y = data
    done = fitted(model, X, y)
    assert clone(done).get_params() == model.get_params()
    assert not hasattr(clone(done), "coef_"), "a clone has learned nothing"
    again = pickle.loads(pickle.dumps(done))
    assert np.array_equal(again.decision_function(X), done.decision_function(X))
    assert again.privacy_.cost == done.privacy_.cost
    assert np.array_equal(copy.deepcopy(done).coef_, done.coef_)
    changed = clone(done).set_params(ridge=3)
    assert changed.get_params()["ridge"] == 3
    assert type(model).__name__ in repr(model)
    assert done.n_features_in_ == 3


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_input_that_scikit_learn_refuses(model: Any, data: tuple[Any, Any]) -> None:
    X, y = data
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        fitted(model, sparse.csr_matrix(X), y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    done = fitted(model, X, y)
    with pytest.raises(ValueError, match="features"):
        done.predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        done.predict(np.full((1, 3), np.nan))


def test_names_of_data_frames(data: tuple[Any, Any]) -> None:
    X, y = data
    frame = pd.DataFrame(X, columns=["y", "weight", "x"])
    model = clone(MODELS[0]).fit(frame, y, sample_weight=np.ones(200))
    assert model.feature_names_in_.tolist() == model.feature_names_ == ["y", "weight", "x"]
    assert np.array_equal(model.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["x", "weight", "y"]])


def test_pipelines(data: tuple[Any, Any]) -> None:
    X, y = data
    pipe = make_pipeline(FunctionTransformer(lambda a: a / 2), clone(MODELS[0]))
    pipe.set_params(logisticregression__epsilon=100).fit(X, y)
    assert np.mean(pipe.predict(X) == y) > 0.8
    with pytest.raises(InvalidRequest, match="paid_score"):
        pipe.score(X, y)


def test_every_fit_of_a_search_pays(data: tuple[Any, Any]) -> None:
    X, y = data
    with ds.Ledger("sqlite://", ds.Budget(epsilon=10)) as ledger:
        model = clone(MODELS[0]).set_params(ledger=ledger)
        assert clone(model).ledger is ledger, "a clone has no budget of its own"
        cross_val_score(model, X, y, cv=3, scoring="accuracy")
        assert str(ledger.spent()) == "ε=3", "three fits, three times the price"
        GridSearchCV(model, {"ridge": [1, 2]}, cv=2, scoring="accuracy", refit=True).fit(X, y)
        assert str(ledger.spent()) == "ε=8", "four and the last one"
        with pytest.raises(InvalidRequest, match="itself a release"):
            cross_val_score(model, X, y, cv=3, error_score="raise")
        assert str(ledger.spent()) == "ε=9", "a search that cannot score ends after its first fit"
        with pytest.raises(InvalidRequest, match="not pickled"):
            pickle.dumps(model)
