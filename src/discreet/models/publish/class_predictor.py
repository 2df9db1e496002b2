"""Published classifiers that give every class a score. Needs NumPy and nothing else."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UnsupportedFormat
from discreet.models.publish.predictor import Floats, Input, Predictor


@dataclass(frozen=True, eq=False)
class ClassPredictor(Predictor):
    """The class with the highest score; scores are logarithms of probabilities, up to a constant for each row."""

    classes: tuple[Any, ...]

    @abstractmethod
    def scores(self, x: Floats) -> Floats:
        """The score of every class, for rows as ``Predictor.rows`` makes them."""

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def decision_function(self, X: Any) -> Floats:
        """The score of every class, for each row."""
        return self.scores(self.rows(X))

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row."""
        score = self.decision_function(X)
        share = np.exp(score - score.max(axis=1, keepdims=True))
        return np.asarray(share / share.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        return np.array(self.classes)[self.decision_function(X).argmax(axis=1)]


def read_inputs(doc: Mapping[str, Any]) -> tuple[Input, ...]:
    """The columns that a predictor reads."""
    return tuple(Input.read(i) for i in doc["inputs"])


def read_classes(doc: Mapping[str, Any]) -> tuple[Any, ...]:
    """At least two classes."""
    classes = tuple(doc["classes"])
    if len(classes) < 2 or not all(isinstance(c, str | int | float) for c in classes):
        raise UnsupportedFormat(f"classes must be at least two labels, got {list(classes)!r:.60}")
    return classes


def read_array(values: Any, shape: tuple[int, ...]) -> Floats:
    """Finite numbers of a shape; -1 is any size."""
    array = np.asarray(values, np.float64)
    fits = array.ndim == len(shape) and all(want in (-1, got) for want, got in zip(shape, array.shape, strict=True))
    if not fits or not np.isfinite(array).all():
        raise UnsupportedFormat(f"expected finite numbers of shape {shape}, got shape {array.shape}")
    return array
