"""What every model does alike: a model that is public joins here, or the first test fails.

Fitted to arrays and through a session, people having several rows; paid for once; published and read back; all that is
missing said at once; sparse matrices refused with what to do; whatever records hold answered.
"""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.models.estimators.private_model import PrivateModel
from discreet.models.losses import Huber, HuberHinge

m = ds.models
ROWS = 90
RNG = np.random.default_rng(0)
X = RNG.random((ROWS, 3))
ARRAYS = {"two": (X[:, 0] > 0.5).astype(int), "three": (3 * X[:, 1]).astype(int), "count": RNG.integers(0, 9, ROWS) * 1.0}
ARRAYS["amount"] = ARRAYS["count"] + 1.0
TABLE = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    **{name: np.array(["k", "l", "m"])[y] if name in ("two", "three") else y for name, y in ARRAYS.items()},
    weight=RNG.random(ROWS),
    who=np.arange(ROWS) // 3,
)
COLUMNS = {
    **dict.fromkeys("abc", ds.Real(0, 1)), "two": ds.Categories(["k", "l"]), "three": ds.Categories(["k", "l", "m"]),
    "count": ds.Real(0, 8), "amount": ds.Real(1, 9), "weight": ds.Real(0, 1),
}  # fmt: skip
FACTS = {"two": {"classes": [0, 1]}, "three": {"classes": [0, 1, 2]}, "count": {"target_bounds": (0, 8)},
         "amount": {"target_bounds": (1, 9)}, "": {}}  # fmt: skip


class Model(NamedTuple):
    """How it is made, what it predicts, and what it cannot do without on arrays."""

    make: Any
    target: str
    needs: tuple[str, ...]
    more: dict[str, Any] = {}  # noqa: RUF012  what its fit to arrays takes
    weight: str | None = None

    @property
    def kind(self) -> Any:
        return self.make.func if isinstance(self.make, partial) else self.make


def mean_square(p: Any, x: Any, y: Any) -> Any:
    return (x @ p - y) ** 2


OWN: Any = m.jax_loss(mean_square, jnp.zeros(3))
USUAL, BY_STEPS = ("epsilon", "bounds", "classes"), ("epsilon", "delta", "bounds", "expected_rows")
FEW: dict[str, Any] = {"delta": 1e-3, "steps": 4, "expected_rows": ROWS}
RULE: dict[str, Any] = {"propensity": 0.5, "weight_bound": 2}
RULED = ("epsilon", "classes", "weight_bound", "benefit", "propensity")
GOOD = {"benefit": np.ones(ROWS)}
MODELS = [
    Model(m.AdditiveClassifier, "two", USUAL),
    Model(partial(m.Classifier, loss=HuberHinge()), "two", (*USUAL, "loss")),
    Model(partial(m.ConstrainedClassifier, loss=HuberHinge()), "two", (*USUAL, "loss")),
    Model(partial(m.ConstrainedRegression, loss=Huber()), "count", ("epsilon", "bounds", "target_bounds", "loss")),
    Model(m.GRPUA, "two", (*BY_STEPS, "classes")),
    Model(partial(m.GRPUANetwork, hidden_layer_sizes=(3,)), "three", (*BY_STEPS, "classes")),
    Model(m.GammaRegressor, "amount", ("epsilon", "bounds", "target_bounds")),
    Model(m.GaussianNB, "three", USUAL),
    Model(m.KMeans, "", ("epsilon", "bounds")),
    Model(partial(m.KernelOutcomeWeightedLearner, components=4, **RULE), "two", RULED, GOOD, "weight"),
    Model(partial(m.KernelSVC, components=4), "two", ("epsilon", "classes")),
    Model(m.LinearRegression, "count", ("epsilon", "bounds", "target_bounds")),
    Model(m.LinearSVC, "three", USUAL),
    Model(m.LogisticRegression, "two", USUAL),
    Model(partial(m.MLPClassifier, hidden_layer_sizes=(3,)), "three", (*BY_STEPS, "classes")),
    Model(partial(m.MLPRegressor, hidden_layer_sizes=(3,)), "count", (*BY_STEPS, "target_bounds")),
    Model(partial(m.OutcomeWeightedLearner, **RULE), "two", (*RULED, "bounds"), GOOD, "weight"),
    Model(partial(m.OwnNetwork, loss=OWN), "count", ("epsilon", "delta", "expected_rows", "loss")),
    Model(m.PCA, "", ("epsilon", "bounds")),
    Model(m.PoissonRegressor, "count", ("epsilon", "bounds", "target_bounds")),
    Model(m.RandomForestClassifier, "three", USUAL),
    Model(m.SGDClassifier, "three", (*BY_STEPS, "classes")),
    Model(m.SGDRegressor, "count", (*BY_STEPS, "target_bounds")),
    Model(m.SoftmaxRegression, "three", USUAL),
    Model(m.StandardScaler, "", ("bounds",)),
]
each = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind.__name__)


def made(model: Model, **more: Any) -> Any:
    return model.make(epsilon=1, **(FEW if "expected_rows" in model.needs else {}) | more)


def on_arrays(model: Model, fresh: Any, x: Any = X) -> Any:
    return fresh.fit(x, ARRAYS[model.target], **model.more) if model.target else fresh.fit(x)


def in_session(model: Model, table: Any, relation: Any = "add_remove") -> tuple[Any, ds.Session]:
    schema = ds.Schema(COLUMNS, person="who", max_rows=2, neighbors=relation, expected_rows=ROWS)
    session = ds.Session(table, schema, ds.Budget(epsilon=5, delta="0.1"), ledger="test", seed=1)
    return session.fit(made(model), ["a", "b", "c"], model.target or None, weight=model.weight), session


def test_every_public_model_is_here() -> None:
    public = [kind for kind in (getattr(m, name) for name in m.__all__) if isinstance(kind, type)]
    assert {model.kind for model in MODELS} == {kind for kind in public if issubclass(kind, PrivateModel)}


@each
def test_all_that_is_missing_is_said_at_once(model: Model) -> None:
    fresh = model.kind()
    with pytest.raises(InvalidRequest) as raised:
        fresh.fit(X, ARRAYS["two"]) if model.target else fresh.fit(X)
    for word in model.needs:
        assert re.search(rf"\b{word}\b", str(raised.value)), word


@each
def test_a_sparse_matrix_is_refused_with_what_to_do(model: Model) -> None:
    facts: dict[str, Any] = {} if model.kind is m.OwnNetwork else FACTS[model.target]
    bounds = {"bounds": (0, 1)} if "bounds" in model.needs else {}
    on_arrays(model, made(model, **facts, **bounds))
    with pytest.raises((TypeError, InvalidRequest), match="toarray"):
        on_arrays(model, made(model, **facts, **bounds), sparse.csr_matrix(X))


@each
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_people_have_several_rows_and_a_fit_is_paid_for_once_and_published(
    model: Model, relation: Any, tmp_path: Path
) -> None:
    fitted, session = in_session(model, TABLE, relation)
    assert session.ledger.spent().epsilon == 1
    if model.kind is m.OwnNetwork:
        with pytest.raises(InvalidRequest, match="publish"):
            fitted.publish(tmp_path / "model.json")
        return
    read, rows = m.load(fitted.publish(tmp_path / "model.json")), TABLE[["a", "b", "c"]]
    how = "predict" if hasattr(fitted, "predict") else "transform"
    mine, theirs = np.asarray(getattr(fitted, how)(rows)), np.asarray(getattr(read, how)(rows))
    assert np.allclose(mine, theirs) if mine.dtype.kind == "f" else (mine == theirs).all()


@each
def test_whatever_records_hold_is_answered(model: Model) -> None:
    alone = TABLE.assign(two="k", three="m", count=-math.inf, amount=0.0)
    strange = TABLE.assign(two="?", three=None, count=1e300, amount=math.nan, a=math.nan, weight=-7.0)
    for table in (alone, strange, TABLE.iloc[:0]):
        fitted, session = in_session(model, table)
        assert session.ledger.spent().epsilon == 1
        assert fitted.privacy_.cost.epsilon == 1
