"""A published network. Needs NumPy and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.codec import written
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.models.publish.predictor import Floats, Input, Predictor, number, register

_SMALLEST_UNIT = 1e-100  # what a column is divided by: nothing finite leaves the doubles by it


@dataclass(frozen=True, eq=False)
class Layers(Predictor):
    """Layers of weights, the bias as the last line of each; ``units`` is what the columns are divided by first."""

    units: Floats
    layers: tuple[Floats, ...]
    activation: str = "relu"
    radius: float | None = None

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def outputs(self, X: Any, product: Callable[[Any, Any], Any] = np.matmul) -> Floats:
        """What the last layer puts out for each row; ``product`` says how rows are multiplied by a layer."""
        x = self.rows(X) / self.units
        if self.radius is not None:
            length = np.sqrt(np.einsum("ij,ij->i", x, x)) / self.radius
            x = x / np.maximum(length, 1.0)[:, None]
        for place, layer in enumerate(self.layers):
            x = product(x, layer[:-1]) + layer[-1]
            if place < len(self.layers) - 1:
                x = np.maximum(x, 0.0) if self.activation == "relu" else np.tanh(x)
        return np.asarray(x)

    def _written(self, kind: str) -> dict[str, Any]:
        return {
            "kind": kind,
            "inputs": written(self.inputs),
            "units": self.units.tolist(),
            "layers": [layer.tolist() for layer in self.layers],
            "activation": self.activation,
            "radius": self.radius,
        }


def read_layers(doc: Mapping[str, Any]) -> dict[str, Any]:
    """The checked fields of ``Layers``, and ``width``, the number of outputs."""
    inputs = tuple(Input.read(i) for i in doc["inputs"])
    width = sum(i.size for i in inputs)
    units = np.asarray(doc["units"], np.float64)
    layers = tuple(np.asarray(layer, np.float64) for layer in doc["layers"])
    if units.shape != (width,) or not (units > _SMALLEST_UNIT).all() or not np.isfinite(units).all():
        raise UnsupportedFormat(f"a network needs a positive unit for each of {width} numbers, got {doc['units']!r:.60}")
    if not layers or doc["activation"] not in ("relu", "tanh"):
        raise UnsupportedFormat(f"a network needs layers and a known activation, got {doc['activation']!r:.60}")
    for layer in layers:
        if layer.ndim != 2 or layer.shape[0] != width + 1 or not np.isfinite(layer).all():
            raise UnsupportedFormat(f"a layer of a network must have {width + 1} lines of finite numbers")
        width = layer.shape[1]
    radius = None if doc["radius"] is None else float(doc["radius"])
    found = {"inputs": inputs, "units": units, "layers": layers, "activation": str(doc["activation"]), "radius": radius}
    return found | {"width": width}


@register("network")
@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkPredictor(Layers):
    """One output is the score of the second of two classes, several are the scores of as many classes."""

    classes: tuple[Any, ...]
    threshold: float = 0.0
    probabilities: bool = True

    def decision_function(self, X: Any) -> Floats:
        """The score of each row: one number for two classes, positive for the second; one for each of more."""
        x = self.outputs(X)
        return x[:, 0] if x.shape[1] == 1 else x

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row; only of a model that has probabilities."""
        if not self.probabilities:
            raise InvalidRequest("this model gives classes and scores, no probabilities; use decision_function")
        score = self.decision_function(X)
        if score.ndim == 1:
            yes = 0.5 * (1.0 + np.tanh(0.5 * score))
            return np.column_stack([1.0 - yes, yes])
        share = np.exp(score - score.max(axis=1, keepdims=True))
        return np.asarray(share / share.sum(axis=1, keepdims=True))

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def predict(self, X: Any) -> Any:
        """The class of each row."""
        score = self.decision_function(X)
        return np.array(self.classes)[(score > self.threshold).astype(int) if score.ndim == 1 else score.argmax(axis=1)]

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        decides = {"classes": list(self.classes), "threshold": self.threshold, "probabilities": self.probabilities}
        return self._written("network") | decides

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> NetworkPredictor:
        found, classes = read_layers(doc), tuple(doc["classes"])
        width = found.pop("width")
        if (
            len(classes) < 2
            or width != (1 if len(classes) == 2 else len(classes))
            or not all(isinstance(c, str | int | float) for c in classes)
        ):
            raise UnsupportedFormat(f"a network with {width} outputs does not fit the classes {list(classes)}")
        found |= {"threshold": number(doc.get("threshold", 0.0)), "probabilities": doc.get("probabilities", True) is True}
        return cls(classes=classes, document=document, **found)


@register("number_network")
@dataclass(frozen=True, eq=False, kw_only=True)
class NumberNetworkPredictor(Layers):
    """One output: 0 is the middle of the target's bounds, 1 and -1 are their ends, and what lies beyond is cut off."""

    bounds: tuple[float, float]

    def predict(self, X: Any, product: Callable[[Any, Any], Any] = np.matmul) -> Floats:
        """The number predicted for each row."""
        lo, hi = self.bounds
        found = (lo + hi) / 2 + (hi - lo) / 2 * self.outputs(X, product)[:, 0]
        return np.clip(np.nan_to_num(found, nan=(lo + hi) / 2), lo, hi)

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        return self._written("number_network") | {"bounds": list(self.bounds)}

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> NumberNetworkPredictor:
        found, bounds = read_layers(doc), np.asarray(doc["bounds"], np.float64)
        if found.pop("width") != 1 or bounds.shape != (2,) or not -np.inf < bounds[0] < bounds[1] < np.inf:
            raise UnsupportedFormat(f"a network of a number needs one output and finite bounds, got {doc['bounds']!r:.60}")
        return cls(bounds=(float(bounds[0]), float(bounds[1])), document=document, **found)
