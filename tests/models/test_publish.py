"""Published models: what is in the file, that it predicts with NumPy alone, and that no file can do anything else."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat
from discreet.models.publish import predictor
from discreet.models.publish.predictor import Predictor, read, register

m = ds.models
SCHEMA = ds.Schema({"age": ds.Real(0, 100), "sex": ds.Categories(["f", "m"]), "ill": ds.Categories([0, 1])})


def table(rows: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    age, sex = rng.uniform(0, 100, rows), rng.choice(["f", "m"], rows)
    return {"age": age, "sex": sex, "ill": (age / 50 + (sex == "m") > 1.5).astype(int)}


def session() -> Any:
    return ds.Session(table(), SCHEMA, ds.Budget(epsilon=50))


MODELS = [
    m.LogisticRegression(epsilon=2),
    m.LogisticRegression(epsilon=2, intervals=True),
    m.LinearSVC(epsilon=2, fit_intercept=False),
    m.KernelSVC(epsilon=2, components=9),
]


@pytest.mark.parametrize("model", MODELS, ids=["logistic", "intervals", "svc", "kernel"])
def test_what_is_published_predicts_the_same(model: Any, tmp_path: Path) -> None:
    data = table()
    fitted = session().fit(model, ["age", "sex"], "ill")
    path = fitted.publish(tmp_path / "model.json")
    loaded = m.load(path)
    rows = {"age": [-5.0, 30, 70, 500], "sex": ["f", "m", "f", "m"]}
    for X in (data, pd.DataFrame(rows), rows, np.array([[20, "f"], [90, "m"]], object)):
        assert np.array_equal(loaded.decision_function(X), fitted.decision_function(X))
        assert np.array_equal(loaded.predict(X), fitted.predict(X))
    if isinstance(model, m.LogisticRegression):
        assert np.array_equal(loaded.predict_proba(rows), fitted.predict_proba(rows))
        assert np.allclose(loaded.predict_proba(rows).sum(1), 1)
    else:
        with pytest.raises(InvalidRequest, match="no probabilities"):
            loaded.predict_proba(rows)
    assert loaded.guarantee == str(fitted.privacy_)


def test_what_the_file_says(tmp_path: Path) -> None:
    fitted = session().fit(m.LogisticRegression(epsilon=2, ridge=3, intervals=True), ["age", "sex"], "ill")
    doc = json.loads(fitted.publish(tmp_path / "model.json").read_text())
    assert doc["guarantee"]["cost"]["epsilon"] == "2"
    assert doc["guarantee"]["neighbors"] == "add_remove"
    assert doc["guarantee"]["private"] is True
    assert len({entry["number"] for entry in doc["ledger"]}) == 3, "the coefficients and the two sums of the intervals"
    assert all(len(entry["hash"]) == 64 for entry in doc["ledger"])
    assert doc["card"]["design"]["features"][0] == {
        "column": "age", "lo": 0.0, "hi": 100.0, "labels": [], "raw": False, "reference": None, "centred": False,
        "cuts": [],
    }  # fmt: skip
    assert doc["card"]["classes"] == [0, 1]
    assert doc["card"]["method"] == "objective"
    assert doc["card"]["ridge"] == fitted.ridge_
    assert doc["card"]["not_for"]
    assert doc["intervals"]["names"] == ["age", "sex=m", "intercept"]
    assert np.allclose(doc["intervals"]["lower"], [low for low, _ in fitted.confidence_intervals()])
    assert [ds.Release.from_dict(r).cost for r in doc["releases"]] == [r.cost for r in fitted.privacy_.releases]
    assert "warning" not in doc["card"]
    mocked = ds.Session(table(), SCHEMA, ledger="test", seed=1).fit(m.LinearSVC(epsilon=1), ["age"], "ill")
    assert "not private" in m.document(mocked)["card"]["warning"]
    assert m.document(mocked)["intervals"] is None


def test_numpy_alone_is_enough(tmp_path: Path) -> None:
    """Neither scikit-learn nor SciPy nor pandas nor the cipher is loaded by a prediction."""
    path = session().fit(m.KernelSVC(epsilon=2, components=9), ["age", "sex"], "ill").publish(tmp_path / "model.json")
    code = (
        "import sys, discreet as ds; model = ds.models.load(sys.argv[1]); "
        "assert model.predict({'age': [20, 80], 'sex': ['f', 'm']}).shape == (2,); "
        "roots = {name.split('.')[0] for name in sys.modules}; "
        "print(sorted(roots & {'sklearn', 'scipy', 'pandas', 'polars', 'duckdb', 'pyarrow', 'cryptography', 'sqlalchemy', "
        "'narwhals', 'jax', 'pickle5', 'matplotlib'}))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def document() -> dict[str, Any]:
    return m.document(session().fit(m.KernelSVC(epsilon=2, components=3), ["age", "sex"], "ill"))


def garbled(doc: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = json.loads(json.dumps(doc))
    inside = made
    for key in path[:-1]:
        inside = inside[key]
    if value is None:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return made


BROKEN = [
    (("kind",), "release", "kind 'model'"),
    (("schema",), 2, "upgrade discreet"),
    (("schema",), 0, "at least 1"),
    (("schema",), "1", "at least 1"),
    (("predictor",), None, "no predictor"),
    (("predictor", "kind"), "os.system", "no predictor is called 'os.system'"),
    (("predictor", "kind"), ["linear"], "no predictor"),
    (("predictor", "coefficients"), [1, 2], "shape"),
    (("predictor", "coefficients"), ["x", 1, 2], "garbles"),
    (("predictor", "coefficients", 0), 1e999, "finite"),
    (("predictor", "intercept"), "0", "finite number"),
    (("predictor", "intercept"), True, "finite number"),
    (("predictor", "classes"), [1], "garbles"),
    (("predictor", "classes"), [{}, 1], "label"),
    (("predictor", "inputs"), None, "garbles"),
    (("predictor", "inputs", 0, "bounds"), [1, 0], "lo < hi"),
    (("predictor", "inputs", 1, "labels"), [[], "m"], "label"),
    (("predictor", "kernel", "phases"), [1.0], "shape"),
    (("predictor", "kernel", "frequencies"), [[1.0] * 3], "shape"),
]


@pytest.mark.parametrize(("path", "value", "words"), BROKEN)
def test_broken_documents_are_refused(path: tuple[Any, ...], value: Any, words: str) -> None:
    doc = document()
    read(json.loads(json.dumps(doc)))
    with pytest.raises(UnsupportedFormat, match=words):
        read(garbled(doc, path, value))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_anything_in_a_document_is_read_or_refused(data: Any) -> None:
    doc = {
        "kind": "model",
        "schema": 1,
        "predictor": {
            "kind": "linear",
            "inputs": [{"column": "a", "bounds": [0, 1], "labels": []}, {"column": "b", "bounds": None, "labels": ["x"]}],
            "coefficients": [1.0, 2.0],
            "intercept": 0.5,
            "classes": [0, 1],
            "probabilities": True,
            "kernel": None,
        },
    }
    where = data.draw(st.sampled_from([("predictor", k) for k in doc["predictor"]] + [("kind",), ("schema",)]))  # type: ignore[attr-defined]
    try:
        model = read(garbled(doc, where, data.draw(JSON.filter(lambda v: v is not None))))
    except DiscreetError:
        return
    assert isinstance(model, Predictor)


def test_files_that_are_no_models(tmp_path: Path) -> None:
    for text in ("", "{", "[]", "3", '{"kind": "model", "schema": 1, "predictor": {"intercept": NaN}}', "[" * 100_000):
        path = tmp_path / "model.json"
        path.write_text(text)
        with pytest.raises(UnsupportedFormat):
            m.load(path)
    (tmp_path / "model.json").write_bytes(b"\x80\x04\x95")
    with pytest.raises(UnsupportedFormat, match="not a published model"):
        m.load(tmp_path / "model.json")
    with pytest.raises(UnsupportedFormat, match="nowhere"):
        m.load(tmp_path / "nowhere.json")


def test_predictions_need_what_was_declared() -> None:
    model = read(json.loads(json.dumps(document())))
    with pytest.raises(InvalidRequest, match="needs the column 'sex'"):
        model.predict({"age": [3]})
    with pytest.raises(InvalidRequest, match="one of"):
        model.predict({"age": [3], "sex": ["x"]})
    with pytest.raises(InvalidRequest, match="finite"):
        model.predict({"age": [math.nan], "sex": ["f"]})
    with pytest.raises(InvalidRequest, match="2 features"):
        model.predict(np.ones((3, 3)))


def test_publishing_needs_a_fit_and_a_place(tmp_path: Path) -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        m.LogisticRegression(epsilon=1).publish(tmp_path / "m.json")
    fitted = session().fit(m.LinearSVC(epsilon=1), ["age"], "ill")
    with pytest.raises(InvalidRequest, match="can be written"):
        fitted.publish(tmp_path / "no" / "m.json")
    (tmp_path / "m.json").mkdir()
    with pytest.raises(InvalidRequest, match="can be written"):
        fitted.publish(tmp_path / "m.json")
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"], "nothing half-written is left"


def test_another_kind_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    class Always(Predictor):
        @classmethod
        def read(cls, doc: Any, document: Any) -> Predictor:
            made = cls(document=document, inputs=())
            object.__setattr__(made, "answer", doc["answer"])
            return made

        def predict(self, X: Any) -> Any:
            return self.answer  # type: ignore[attr-defined]

    with pytest.raises(InvalidRequest, match="listed in KINDS"):
        register("always")(Always)
    monkeypatch.setitem(predictor.KINDS, "always", "discreet.models.publish.predictor")
    monkeypatch.setattr(predictor, "_readers", dict(predictor._readers))
    register("always")(Always)
    assert read({"kind": "model", "schema": 1, "predictor": {"kind": "always", "answer": 7}}).predict(None) == 7
