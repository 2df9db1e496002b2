"""discreet: private statistics, models, local reports and inference, paid for from one ledger.

Names are loaded when they are first used, so that ``import discreet`` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import lazy

if TYPE_CHECKING:
    from discreet import accounting as accounting
    from discreet import audit as audit
    from discreet import errors as errors
    from discreet import hypotheses as hypotheses
    from discreet import inference as inference
    from discreet import local as local
    from discreet import models as models
    from discreet import protect as protect
    from discreet import synthetic as synthetic
    from discreet.accounting import calibrate as calibrate
    from discreet.core.ask import Ask as Ask
    from discreet.core.ask import Open as Open
    from discreet.core.boolean import Boolean as Boolean
    from discreet.core.budget import Budget as Budget
    from discreet.core.cost import Cost as Cost
    from discreet.core.cost import Distance as Distance
    from discreet.core.dates_and_times import Date as Date
    from discreet.core.dates_and_times import Datetime as Datetime
    from discreet.core.dates_and_times import Duration as Duration
    from discreet.core.dialect import Dialect as Dialect
    from discreet.core.release import Release as Release
    from discreet.core.releases import Releases as Releases
    from discreet.core.releases import read_releases as read_releases
    from discreet.core.result import Result as Result
    from discreet.core.schema import Categories as Categories
    from discreet.core.schema import Integer as Integer
    from discreet.core.schema import Real as Real
    from discreet.core.schema import Schema as Schema
    from discreet.core.text import Text as Text
    from discreet.hypotheses.power import power as power
    from discreet.ledger import Ledger as Ledger
    from discreet.mechanisms import DiscreteGaussian as DiscreteGaussian
    from discreet.mechanisms import DiscreteLaplace as DiscreteLaplace
    from discreet.mechanisms import Exponential as Exponential
    from discreet.mechanisms import Gaussian as Gaussian
    from discreet.mechanisms import Laplace as Laplace
    from discreet.mechanisms import OptimalKeys as OptimalKeys
    from discreet.mechanisms import RandomizedResponse as RandomizedResponse
    from discreet.mechanisms import SphericalLaplace as SphericalLaplace
    from discreet.mechanisms import ThresholdedKeys as ThresholdedKeys
    from discreet.mechanisms import TruncatedKeys as TruncatedKeys
    from discreet.mechanisms import Tulap as Tulap
    from discreet.service.remote import connect as connect
    from discreet.session import Session as Session
    from discreet.sources.joining import Lookup as Lookup
    from discreet.sources.joining import People as People
    from discreet.sources.joining import join as join
    from discreet.statistics.functions import bounds as bounds
    from discreet.statistics.functions import categories as categories
    from discreet.statistics.functions import correlation as correlation
    from discreet.statistics.functions import count as count
    from discreet.statistics.functions import covariance as covariance
    from discreet.statistics.functions import covariance_matrix as covariance_matrix
    from discreet.statistics.functions import crosstab as crosstab
    from discreet.statistics.functions import distribution as distribution
    from discreet.statistics.functions import histogram as histogram
    from discreet.statistics.functions import mean as mean
    from discreet.statistics.functions import median as median
    from discreet.statistics.functions import pooled_covariance as pooled_covariance
    from discreet.statistics.functions import pooled_variance as pooled_variance
    from discreet.statistics.functions import quantile as quantile
    from discreet.statistics.functions import share as share
    from discreet.statistics.functions import std as std
    from discreet.statistics.functions import sum as sum  # noqa: A004
    from discreet.statistics.functions import together as together
    from discreet.statistics.functions import variance as variance

__version__ = "0.2.0"

__getattr__, __dir__, _names = lazy("discreet")

__all__ = ["__version__", *_names]  # noqa: PLE0604
