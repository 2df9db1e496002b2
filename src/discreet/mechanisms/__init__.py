"""Noise laws, one per file. Importing this package fills the registry of mechanisms."""

from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.no_noise import NoNoise
from discreet.mechanisms.objective_perturbation import ObjectivePerturbation
from discreet.mechanisms.optimal_keys import OptimalKeys
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.spherical_laplace import SphericalLaplace
from discreet.mechanisms.thresholded_keys import ThresholdedKeys
from discreet.mechanisms.truncated_keys import TruncatedKeys
from discreet.mechanisms.tulap import Tulap

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "Laplace",
    "NoNoise",
    "ObjectivePerturbation",
    "OptimalKeys",
    "RandomizedResponse",
    "SphericalLaplace",
    "ThresholdedKeys",
    "TruncatedKeys",
    "Tulap",
]
