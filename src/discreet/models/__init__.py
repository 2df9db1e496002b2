"""Private models in the habit of scikit-learn, with confidence intervals. Names are loaded when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.models.callers import FittedBefore as FittedBefore
    from discreet.models.callers import RepeatedFits as RepeatedFits
    from discreet.models.classifier import Classifier as Classifier
    from discreet.models.constrained_models import ConstrainedClassifier as ConstrainedClassifier
    from discreet.models.constrained_models import ConstrainedRegression as ConstrainedRegression
    from discreet.models.evaluation import confusion_matrix as confusion_matrix
    from discreet.models.evaluation import roc_curve as roc_curve
    from discreet.models.gradient.clip_quantile import ClipQuantile as ClipQuantile
    from discreet.models.gradient.grpua import GRPUA as GRPUA
    from discreet.models.gradient.steps import InverseRoot as InverseRoot
    from discreet.models.gradient.steps import StronglyConvex as StronglyConvex
    from discreet.models.kernel_svc import KernelSVC as KernelSVC
    from discreet.models.linear_regression import LinearRegression as LinearRegression
    from discreet.models.linear_svc import LinearSVC as LinearSVC
    from discreet.models.logistic_regression import LogisticRegression as LogisticRegression
    from discreet.models.losses import own_loss as own_loss
    from discreet.models.mlp_classifier import MLPClassifier as MLPClassifier
    from discreet.models.opera import Opera as Opera
    from discreet.models.outcome_weighted import OutcomeWeightedLearner as OutcomeWeightedLearner
    from discreet.models.predictor import load as load
    from discreet.models.publish import document as document
    from discreet.models.regions import Ball as Ball
    from discreet.models.regions import Box as Box
    from discreet.models.regions import own_region as own_region
    from discreet.models.sgd_classifier import SGDClassifier as SGDClassifier
    from discreet.models.sgd_regressor import SGDRegressor as SGDRegressor
    from discreet.models.tuning import tune as tune

_HOMES = {
    "ClipQuantile": "discreet.models.gradient.clip_quantile",
    "GRPUA": "discreet.models.gradient.grpua",
    "InverseRoot": "discreet.models.gradient.steps",
    "MLPClassifier": "discreet.models.mlp_classifier",
    "SGDClassifier": "discreet.models.sgd_classifier",
    "SGDRegressor": "discreet.models.sgd_regressor",
    "StronglyConvex": "discreet.models.gradient.steps",
    "confusion_matrix": "discreet.models.evaluation",
    "roc_curve": "discreet.models.evaluation",
    "Opera": "discreet.models.opera",
    "tune": "discreet.models.tuning",
    "Ball": "discreet.models.regions",
    "Box": "discreet.models.regions",
    "Classifier": "discreet.models.classifier",
    "ConstrainedClassifier": "discreet.models.constrained_models",
    "ConstrainedRegression": "discreet.models.constrained_models",
    "KernelSVC": "discreet.models.kernel_svc",
    "LinearRegression": "discreet.models.linear_regression",
    "LinearSVC": "discreet.models.linear_svc",
    "LogisticRegression": "discreet.models.logistic_regression",
    "OutcomeWeightedLearner": "discreet.models.outcome_weighted",
    "FittedBefore": "discreet.models.callers",
    "RepeatedFits": "discreet.models.callers",
    "document": "discreet.models.publish",
    "load": "discreet.models.predictor",
    "own_loss": "discreet.models.losses",
    "own_region": "discreet.models.regions",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.models' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
