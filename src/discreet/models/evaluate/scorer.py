"""What is judged: a fitted model, a published one, or anything that gives scores; as what makes scores of rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.codec import read_as
from discreet.core.documents import reading
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.models.design import Design
from discreet.models.feature import Feature
from discreet.models.gradient.network import Network, classifier
from discreet.models.losses import Logistic
from discreet.models.publish.network_predictor import NetworkPredictor
from discreet.models.publish.predictor import LinearPredictor, Predictor
from discreet.models.target import Target

Floats = npt.NDArray[np.float64]
SURE = 60.0  # scores beyond are as good as this: the last cell of a ROC curve begins far below


@dataclass(frozen=True, eq=False)
class Scorer:
    """How rows become scores, which classes there are, and above which score a row is of the second."""

    design: Design
    network: Network
    flat: Floats
    classes: tuple[Any, ...]
    threshold: float = 0.0

    @property
    def digest(self) -> str:
        """Tells it apart from others."""
        return hashlib.sha256(self.flat.tobytes()).hexdigest()


def scorer_of(model: Any) -> Scorer:
    """A fitted classifier of discreet.models, or a published one; others are judged by their scores, on arrays."""
    if isinstance(model, Predictor):
        with reading("a published model"):
            made = _published(model)
            fits = made.flat.shape == (made.network.size,) and made.design.inputs == model.inputs
            if not fits or len(made.classes) != len(made.design.target.classes):
                raise UnsupportedFormat("the data card of a published model is about other columns than the model itself")
        return made
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    fitted = model.fitted_
    design = replace(fitted.design, weight=None)
    if not design.target.classes:
        raise InvalidRequest(f"only classifiers are judged so, got {type(model).__name__}; use paid_score")
    network = getattr(fitted, "network", None) or Network((design.width, 1), Logistic(), bias=False)
    flat = np.asarray(fitted.theta, np.float64)
    return Scorer(design, network, flat, tuple(model.classes_.tolist()), getattr(model, "threshold_", 0.0))


def _published(model: Predictor) -> Scorer:
    """A published classifier: its data card says how columns become rows."""
    card = model.document.get("card")
    written = card.get("design") if isinstance(card, dict) else None
    if written is None or not isinstance(model, LinearPredictor | NetworkPredictor):
        raise UnsupportedFormat("a published classifier is judged by the design of its data card, and this file has none")
    design = replace(read_as(Design, written), weight=None)
    if isinstance(model, NetworkPredictor):
        sizes = tuple(layer.shape[1] for layer in model.layers[:-1])
        network = classifier(design.width, sizes, len(model.classes), model.activation)  # type: ignore[arg-type]
        flat = np.concatenate([layer.ravel() for layer in model.layers])
        return Scorer(design, network, flat, model.classes, model.threshold)
    coefficients = model.coefficients if model.kernel is not None else _coded(design, model.coefficients)
    if model.intercept and not design.intercept:
        raise UnsupportedFormat("the data card of a published model knows no intercept, and the model has one")
    constant = [model.intercept] if design.intercept else []
    flat = np.append(coefficients, constant) * design.units
    return Scorer(design, Network((design.width, 1), Logistic(), bias=False), flat, model.classes, model.threshold)


def _coded(design: Design, coefficients: Floats) -> Floats:
    """Coefficients of labels without those of the reference levels, which are 0."""
    kept, place = [], 0
    for feature in design.features:
        kept += [place + code for code in feature.coded]
        place += feature.places
    return coefficients[kept]


def by_scores(model: Any, X: Any) -> tuple[Scorer, Floats]:
    """Anything with ``decision_function`` and two ``classes``: rows are their scores, each computed by itself.

    Proof that a person moves one count alone: a row's score is computed without any other row.
    """
    classes = getattr(model, "classes_", getattr(model, "classes", None))
    if not hasattr(model, "decision_function") or classes is None or len(classes) != 2:
        raise InvalidRequest(
            f"a classifier is judged by its scores: it needs decision_function and two classes, got {type(model).__name__}"
        )
    rows = np.asarray(X)
    found = [float(np.ravel(model.decision_function(rows[i : i + 1]))[0]) for i in range(len(rows))]
    scores = np.clip(np.nan_to_num(np.array(found)), -SURE, SURE)
    design = Design((Feature("score", -SURE, SURE),), Target("class", tuple(classes)), intercept=False)
    flat = design.units.astype(np.float64)
    return Scorer(design, Network((1, 1), Logistic(), bias=False), flat, tuple(classes)), scores[:, None]
