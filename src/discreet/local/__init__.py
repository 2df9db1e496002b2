"""Local privacy: every report is private before it leaves a device, and the server learns only from many of them.

    law = best_oracle(["yes", "no", "unsure"], epsilon=1)
    sent = [law.report(answer) for answer in answers]        # each on its owner's device
    law.estimate(sent).interval(0.95)                        # on the server

The unit of privacy is one person's value, whatever it is and whatever the others hold: a report costs its person
epsilon by itself, and no ledger is needed to say so.
"""

from discreet.local.best import best_mean, best_oracle
from discreet.local.cube import Cube
from discreet.local.duchi import Duchi
from discreet.local.dyadic_tree import Distribution, DyadicTree
from discreet.local.estimate import Estimate
from discreet.local.hadamard import Hadamard
from discreet.local.hybrid import Hybrid
from discreet.local.law import LocalMechanism, Tally, local_mechanisms
from discreet.local.local_hash import LocalHash
from discreet.local.one_coordinate import OneCoordinate
from discreet.local.optimized_unary import OptimizedUnary
from discreet.local.piecewise import Piecewise
from discreet.local.priv_unit import PrivUnit
from discreet.local.randomized_response import RandomizedResponse
from discreet.local.report_tables import estimate_table
from discreet.local.reports import Reports
from discreet.local.sgd import Client, Plan, Server, Task, local_sgd, logistic_gradient
from discreet.local.subset_selection import SubsetSelection
from discreet.local.surveys import distribution, frequencies, histogram, mean, quantile, vector_mean
from discreet.local.truncated_laplace import TruncatedLaplace

__all__ = [
    "Client",
    "Cube",
    "Distribution",
    "Duchi",
    "DyadicTree",
    "Estimate",
    "Hadamard",
    "Hybrid",
    "LocalHash",
    "LocalMechanism",
    "OneCoordinate",
    "OptimizedUnary",
    "Piecewise",
    "Plan",
    "PrivUnit",
    "RandomizedResponse",
    "Reports",
    "Server",
    "SubsetSelection",
    "Tally",
    "Task",
    "TruncatedLaplace",
    "best_mean",
    "best_oracle",
    "distribution",
    "estimate_table",
    "frequencies",
    "histogram",
    "local_mechanisms",
    "local_sgd",
    "logistic_gradient",
    "mean",
    "quantile",
    "vector_mean",
]
