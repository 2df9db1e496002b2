"""Published models: what a file holds, read back as something that predicts. Needs NumPy and nothing else.

A file is JSON. It names its ``kind`` of predictor by a word of the closed table ``KINDS`` and holds numbers and labels
besides: nothing in it is imported, looked up or run.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.codec import written
from discreet.core.documents import reading
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.manifest import homes

Floats = npt.NDArray[np.float64]

VERSION = 1
_AT_ONCE = 1 << 13  # rows whose random features are in memory at a time
KINDS = homes("predictor")
_readers: dict[str, Callable[[Mapping[str, Any]], Predictor]] = {}


@dataclass(frozen=True, eq=False)
class Predictor(ABC):
    """A published model: ``predict`` from columns, and ``document`` with all that the file says about it."""

    inputs: tuple[Input, ...]
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, kw_only=True)

    @classmethod
    @abstractmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> Predictor:
        """From the object ``predictor`` of a document; ``document`` is the whole of it."""

    def rows(self, X: Any) -> Floats:
        """Rows of numbers, clipped to the bounds as they were when the model was fitted, one column for each label."""
        return matrix(self.inputs, X)

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """The prediction for each row."""

    @property
    def guarantee(self) -> str:
        """What fitting it cost, in words."""
        return str(self.document.get("guarantee", {}).get("words", ""))


def register(kind: str) -> Callable[[type[Predictor]], type[Predictor]]:
    """A decorator for a class of predictors: ``kind`` is a word of ``KINDS``, beside the module the class is in."""

    def keep(cls: type[Predictor]) -> type[Predictor]:
        if kind not in KINDS:
            raise InvalidRequest(f"a kind of predictor must be listed in KINDS with its module, got {kind!r}")
        _readers[kind] = lambda document: cls.read(document["predictor"], document)
        return cls

    return keep


def load(path: str | Path) -> Any:
    """The model that a file holds, as something that predicts. Needs NumPy only; nothing in the file is ever run."""
    if not Path(path).is_file():
        raise UnsupportedFormat(f"a published model must be a file that exists, got {str(path)!r}; publish() writes one")
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (OSError, ValueError, RecursionError) as problem:
        raise UnsupportedFormat(
            f"{path}: not a published model ({problem}); expected the JSON that publish() writes"
        ) from None
    return read(document)


def read(document: Any) -> Any:
    """The predictor that a document describes; other kinds and newer versions are refused."""
    if not isinstance(document, dict) or document.get("kind") != "model":
        found = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise UnsupportedFormat(f"expected a document of kind 'model', got {found!r}")
    version = document.get("schema")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UnsupportedFormat(f"a model needs a schema version of at least 1, got {version!r}")
    if version > VERSION:
        raise UnsupportedFormat(
            f"the model has schema version {version}, this package reads up to {VERSION}; upgrade discreet"
        )
    inner = document.get("predictor")
    kind = inner.get("kind") if isinstance(inner, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnsupportedFormat(f"no predictor is called {kind!r}; known: {', '.join(sorted(KINDS))}")
    import_module(KINDS[kind])
    with reading("a published model"):
        if not isinstance(document.get("guarantee", {}), dict):
            raise UnsupportedFormat(f"the guarantee of a model is an object, got {document['guarantee']!r:.60}")
        return _readers[kind](document)


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number")


@dataclass(frozen=True)
class Input:
    """A column that a predictor reads: numbers clipped to public bounds (None: as they are), or declared labels.

    Numbers with ``cuts`` become one number for each bin between them, 1 where the value lies (at a cut, in the bin above).
    """

    column: str
    bounds: tuple[float, float] | None = None
    labels: tuple[Any, ...] = ()
    cuts: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """How many numbers it becomes."""
        return len(self.labels) or len(self.cuts) + 1

    @property
    def floors(self) -> Floats:
        """The least number of each bin."""
        return np.array([self.bounds[0] if self.bounds else -math.inf, *self.cuts])

    @staticmethod
    def read(doc: Mapping[str, Any]) -> Input:
        bounds = None if doc["bounds"] is None else (number(doc["bounds"][0]), number(doc["bounds"][1]))
        if bounds is not None and not bounds[0] < bounds[1]:
            raise UnsupportedFormat(f"bounds of {doc['column']!r} must be lo < hi, got {bounds}")
        cuts = tuple(map(number, doc.get("cuts", ())))
        if any(not a < b for a, b in pairwise(cuts)):
            raise UnsupportedFormat(f"the cuts of {doc['column']!r} must rise, got {list(cuts)}")
        return Input(str(doc["column"]), bounds, tuple(map(_label, doc["labels"])), cuts)

    def numbers(self, values: Any) -> Floats:
        """The column as numbers, one row for each value."""
        if not self.labels:
            array = np.asarray(values, np.float64)
            if not np.isfinite(array).all():
                raise InvalidRequest(
                    f"{self.column!r} must hold finite numbers to predict from; leave out or fill such rows"
                )
            clipped: Floats = array if self.bounds is None else np.clip(array, *self.bounds)
            return self._one_hot(np.searchsorted(self.cuts, clipped, side="right")) if self.cuts else clipped[:, None]
        known = {_text(label): place for place, label in enumerate(self.labels)}
        array = np.asarray(values)
        codes = np.empty(len(array), np.intp)
        for place, value in enumerate(array.tolist()):
            code = known.get(_text(value))
            if code is None:
                raise InvalidRequest(f"{self.column!r} must hold one of {list(self.labels)}, got {value!r}")
            codes[place] = code
        return self._one_hot(codes)

    def _one_hot(self, codes: Any) -> Floats:
        made: Floats = (codes[:, None] == np.arange(self.size)).astype(np.float64)
        return made


def row_scores(x: Floats, coefficients: Floats) -> Floats:
    """x . coefficients, each row by the same operations wherever it stands: a product may round it as its place is."""
    score: Floats = np.zeros(len(x))
    for column, coefficient in enumerate(coefficients):
        score += x[:, column] * coefficient
    return score


def matrix(inputs: Sequence[Input], X: Any) -> Floats:
    """Rows of numbers from named columns (a dict, a data frame) or from an array with one column for each input."""
    if isinstance(X, Mapping) or hasattr(X, "columns"):
        missing = [i.column for i in inputs if i.column not in (X if isinstance(X, Mapping) else list(X.columns))]
        if missing:
            raise InvalidRequest(
                f"a prediction needs the column {missing[0]!r}; the model reads {[i.column for i in inputs]}"
            )
        columns = [X[i.column] for i in inputs]
    else:
        if isinstance(X, str | bytes | Path):
            raise InvalidRequest(
                f"X must be rows to predict from, got {str(X)!r}; read the file first, as with pandas.read_csv"
            )
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != len(inputs):
            raise InvalidRequest(f"X must have one column for each of {len(inputs)} features, got shape {array.shape}")
        columns = [array[:, place] for place in range(len(inputs))]
    return np.concatenate([i.numbers(c) for i, c in zip(inputs, columns, strict=True)], axis=1)


@dataclass(frozen=True, eq=False)
class RandomFeatures:
    """Random features sqrt(2/D) cos(x / units . frequencies + phases) of a Gaussian kernel."""

    units: Floats
    frequencies: Floats
    phases: Floats

    def __call__(self, x: Floats) -> Floats:
        with np.errstate(all="ignore"):  # an angle beyond the doubles has no cosine; it becomes no feature
            made: Floats = (x / self.units) @ self.frequencies
            made += self.phases
            np.cos(made, out=made)
        made *= math.sqrt(2.0 / len(self.phases))
        made[np.isnan(made)] = 0.0
        return made

    def to_dict(self) -> dict[str, Any]:
        return {"units": self.units.tolist(), "frequencies": self.frequencies.tolist(), "phases": self.phases.tolist()}


@register("linear")
@dataclass(frozen=True, eq=False)
class LinearPredictor(Predictor):
    """A classifier by the sign of a score that is linear in columns, or in random features of them."""

    coefficients: Floats
    intercept: float
    classes: tuple[Any, Any]
    probabilities: bool = False
    kernel: RandomFeatures | None = None
    threshold: float = 0.0

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def decision_function(self, X: Any) -> Floats:
        """The score of each row: positive for the second class."""
        x = self.rows(X)
        if self.kernel is None:
            return row_scores(x, self.coefficients) + self.intercept
        score = np.empty(len(x))
        for start in range(0, len(x), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            score[part] = row_scores(self.kernel(x[part]), self.coefficients) + self.intercept
        return score

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def predict(self, X: Any) -> Any:
        """The class of each row."""
        return np.array(self.classes)[(self.decision_function(X) > self.threshold).astype(int)]

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row; only of a model that has probabilities."""
        if not self.probabilities:
            raise InvalidRequest("this model gives classes and scores, no probabilities; use decision_function")
        yes = 0.5 * (1.0 + np.tanh(0.5 * self.decision_function(X)))
        return np.column_stack([1.0 - yes, yes])

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        return {
            "kind": "linear",
            "inputs": written(self.inputs),
            "coefficients": self.coefficients.tolist(),
            "intercept": self.intercept,
            "classes": list(self.classes),
            "probabilities": self.probabilities,
            "kernel": None if self.kernel is None else self.kernel.to_dict(),
            "threshold": self.threshold,
        }

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> LinearPredictor:
        inputs = tuple(Input.read(i) for i in doc["inputs"])
        wide, kernel = sum(i.size for i in inputs), None
        if doc["kernel"] is not None:
            phases = _array(doc["kernel"]["phases"])
            waves = _array(doc["kernel"]["frequencies"], (wide, len(phases)))
            kernel = RandomFeatures(_array(doc["kernel"]["units"], (wide,)), waves, phases)
            wide = len(phases)
        no, yes = map(_label, doc["classes"])
        coefficients = _array(doc["coefficients"], (wide,))
        truth = doc["probabilities"] is True
        line = number(doc.get("threshold", 0.0))
        return cls(inputs, coefficients, number(doc["intercept"]), (no, yes), truth, kernel, line, document=document)


def _array(values: Any, shape: tuple[int, ...] | None = None) -> Floats:
    array = np.asarray(values, np.float64)
    if array.shape != (shape or (array.size,)) or not np.isfinite(array).all():
        raise UnsupportedFormat(f"expected finite numbers of shape {shape}, got shape {array.shape}")
    return array


def number(value: Any) -> float:
    """A finite number of a document."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnsupportedFormat(f"expected a finite number, got {value!r}")
    return float(value)


def _label(value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise UnsupportedFormat(f"a label must be text, a number or true/false, got {value!r}")
    return value


def _text(label: Any) -> str:
    """The text by which labels are compared: ``1``, ``"1"`` and ``1.0`` are the same."""
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
