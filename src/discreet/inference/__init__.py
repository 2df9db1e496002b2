"""Posteriors from what was released: the law of the noise is part of the model.

Names are loaded when they are first used: JAX is needed for them, and comes with ``pip install 'discreet[bayes]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import lazy

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

__getattr__, __dir__, __all__ = lazy("discreet.inference")
