"""Posteriors from what was released: the law of the noise is part of the model.

Names are loaded when they are first used: JAX is needed for them, and comes with ``pip install 'discreet[bayes]'``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.inference.evidence.laws import LogDensity as LogDensity
    from discreet.inference.evidence.statistic import translation as translation
    from discreet.inference.inferring import SAMPLERS as SAMPLERS
    from discreet.inference.inferring import infer as infer
    from discreet.inference.models.base import DataModel as DataModel
    from discreet.inference.models.beta_bernoulli import BetaBernoulli as BetaBernoulli
    from discreet.inference.models.dirichlet_multinomial import DirichletMultinomial as DirichletMultinomial
    from discreet.inference.models.gamma_poisson import GammaPoisson as GammaPoisson
    from discreet.inference.models.linear_regression import LinearRegression as LinearRegression
    from discreet.inference.models.logistic_regression import LogisticRegression as LogisticRegression
    from discreet.inference.models.normal import Normal as Normal
    from discreet.inference.models.own import OwnModel as OwnModel
    from discreet.inference.models.privacy_model import PrivacyModel as PrivacyModel
    from discreet.inference.models.rows import OwnRows as OwnRows
    from discreet.inference.models.rows import PoissonRows as PoissonRows
    from discreet.inference.models.rows import UniformRows as UniformRows
    from discreet.inference.outputs.posterior import Posterior as Posterior

_HOMES = {
    "BetaBernoulli": "models.beta_bernoulli",
    "DataModel": "models.base",
    "DirichletMultinomial": "models.dirichlet_multinomial",
    "GammaPoisson": "models.gamma_poisson",
    "LinearRegression": "models.linear_regression",
    "LogDensity": "evidence.laws",
    "LogisticRegression": "models.logistic_regression",
    "Normal": "models.normal",
    "OwnModel": "models.own",
    "OwnRows": "models.rows",
    "PoissonRows": "models.rows",
    "Posterior": "outputs.posterior",
    "PrivacyModel": "models.privacy_model",
    "SAMPLERS": "inferring",
    "UniformRows": "models.rows",
    "infer": "inferring",
    "translation": "evidence.statistic",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.inference' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"discreet.inference.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
