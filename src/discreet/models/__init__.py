"""Private models in the habit of scikit-learn, with confidence intervals. Names are loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import lazy

if TYPE_CHECKING:
    from discreet.models.estimators.additive_classifier import AdditiveClassifier as AdditiveClassifier
    from discreet.models.estimators.classifier import Classifier as Classifier
    from discreet.models.estimators.constrained_models import ConstrainedClassifier as ConstrainedClassifier
    from discreet.models.estimators.constrained_models import ConstrainedRegression as ConstrainedRegression
    from discreet.models.estimators.gaussian_nb import GaussianNB as GaussianNB
    from discreet.models.estimators.grpua import GRPUA as GRPUA
    from discreet.models.estimators.grpua import GRPUANetwork as GRPUANetwork
    from discreet.models.estimators.kernel_outcome_weighted import (
        KernelOutcomeWeightedLearner as KernelOutcomeWeightedLearner,
    )
    from discreet.models.estimators.kernel_svc import KernelSVC as KernelSVC
    from discreet.models.estimators.kmeans import KMeans as KMeans
    from discreet.models.estimators.linear_regression import LinearRegression as LinearRegression
    from discreet.models.estimators.linear_svc import LinearSVC as LinearSVC
    from discreet.models.estimators.logistic_regression import LogisticRegression as LogisticRegression
    from discreet.models.estimators.mlp_classifier import MLPClassifier as MLPClassifier
    from discreet.models.estimators.mlp_regressor import MLPRegressor as MLPRegressor
    from discreet.models.estimators.outcome_weighted import OutcomeWeightedLearner as OutcomeWeightedLearner
    from discreet.models.estimators.own_network import OwnNetwork as OwnNetwork
    from discreet.models.estimators.pca import PCA as PCA
    from discreet.models.estimators.poisson_regressor import PoissonRegressor as PoissonRegressor
    from discreet.models.estimators.random_forest import RandomForestClassifier as RandomForestClassifier
    from discreet.models.estimators.sgd_classifier import SGDClassifier as SGDClassifier
    from discreet.models.estimators.sgd_regressor import SGDRegressor as SGDRegressor
    from discreet.models.estimators.softmax_regression import SoftmaxRegression as SoftmaxRegression
    from discreet.models.estimators.standard_scaler import StandardScaler as StandardScaler
    from discreet.models.estimators.tuning import tune as tune
    from discreet.models.evaluate.confusion import confusion_matrix as confusion_matrix
    from discreet.models.evaluate.confusion import roc_curve as roc_curve
    from discreet.models.gradient.adapters import low_rank as low_rank
    from discreet.models.gradient.clip_quantile import ClipQuantile as ClipQuantile
    from discreet.models.gradient.jax_loss import jax_loss as jax_loss
    from discreet.models.gradient.optimizers import Adam as Adam
    from discreet.models.gradient.person_loss import gradient_loss as gradient_loss
    from discreet.models.gradient.steps import Cosine as Cosine
    from discreet.models.gradient.steps import InverseRoot as InverseRoot
    from discreet.models.gradient.steps import StronglyConvex as StronglyConvex
    from discreet.models.gradient.torch_loss import torch_loss as torch_loss
    from discreet.models.own_losses import own_loss as own_loss
    from discreet.models.publish.document import document as document
    from discreet.models.publish.predictor import load as load
    from discreet.models.queries.opera import Opera as Opera
    from discreet.models.queries.outpert import OutPert as OutPert
    from discreet.models.regions import Ball as Ball
    from discreet.models.regions import Box as Box
    from discreet.models.regions import own_region as own_region

_HOMES = {
    "AdditiveClassifier": "discreet.models.estimators.additive_classifier",
    "Adam": "discreet.models.gradient.optimizers",
    "Cosine": "discreet.models.gradient.steps",
    "ClipQuantile": "discreet.models.gradient.clip_quantile",
    "GaussianNB": "discreet.models.estimators.gaussian_nb",
    "GRPUA": "discreet.models.estimators.grpua",
    "GRPUANetwork": "discreet.models.estimators.grpua",
    "InverseRoot": "discreet.models.gradient.steps",
    "MLPRegressor": "discreet.models.estimators.mlp_regressor",
    "MLPClassifier": "discreet.models.estimators.mlp_classifier",
    "RandomForestClassifier": "discreet.models.estimators.random_forest",
    "SGDClassifier": "discreet.models.estimators.sgd_classifier",
    "SGDRegressor": "discreet.models.estimators.sgd_regressor",
    "StronglyConvex": "discreet.models.gradient.steps",
    "confusion_matrix": "discreet.models.evaluate.confusion",
    "roc_curve": "discreet.models.evaluate.confusion",
    "Opera": "discreet.models.queries.opera",
    "OutPert": "discreet.models.queries.outpert",
    "tune": "discreet.models.estimators.tuning",
    "Ball": "discreet.models.regions",
    "Box": "discreet.models.regions",
    "Classifier": "discreet.models.estimators.classifier",
    "ConstrainedClassifier": "discreet.models.estimators.constrained_models",
    "ConstrainedRegression": "discreet.models.estimators.constrained_models",
    "KMeans": "discreet.models.estimators.kmeans",
    "KernelOutcomeWeightedLearner": "discreet.models.estimators.kernel_outcome_weighted",
    "KernelSVC": "discreet.models.estimators.kernel_svc",
    "LinearRegression": "discreet.models.estimators.linear_regression",
    "LinearSVC": "discreet.models.estimators.linear_svc",
    "LogisticRegression": "discreet.models.estimators.logistic_regression",
    "OutcomeWeightedLearner": "discreet.models.estimators.outcome_weighted",
    "OwnNetwork": "discreet.models.estimators.own_network",
    "gradient_loss": "discreet.models.gradient.person_loss",
    "jax_loss": "discreet.models.gradient.jax_loss",
    "low_rank": "discreet.models.gradient.adapters",
    "torch_loss": "discreet.models.gradient.torch_loss",
    "PoissonRegressor": "discreet.models.estimators.poisson_regressor",
    "PCA": "discreet.models.estimators.pca",
    "SoftmaxRegression": "discreet.models.estimators.softmax_regression",
    "StandardScaler": "discreet.models.estimators.standard_scaler",
    "document": "discreet.models.publish.document",
    "load": "discreet.models.publish.predictor",
    "own_loss": "discreet.models.own_losses",
    "own_region": "discreet.models.regions",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy("discreet.models", _HOMES)
