"""Private models in the habit of scikit-learn, with confidence intervals. Names are loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import lazy

if TYPE_CHECKING:
    from discreet.models.estimators.additive_classifier import AdditiveClassifier as AdditiveClassifier
    from discreet.models.estimators.classifier import Classifier as Classifier
    from discreet.models.estimators.constrained_models import ConstrainedClassifier as ConstrainedClassifier
    from discreet.models.estimators.constrained_models import ConstrainedRegression as ConstrainedRegression
    from discreet.models.estimators.gamma_regressor import GammaRegressor as GammaRegressor
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

__getattr__, __dir__, __all__ = lazy("discreet.models")
