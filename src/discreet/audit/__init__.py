"""Tries to break every claim: lower bounds from samples, checks at the waist, attacks on bits, a museum of the broken."""

from discreet.audit.bits import bit_bound
from discreet.audit.lower_bound import LowerBound, lower_bound
from discreet.audit.one_run import OneRun, one_run

__all__ = ["LowerBound", "OneRun", "bit_bound", "lower_bound", "one_run"]
