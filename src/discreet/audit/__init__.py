"""Tries to break every claim: lower bounds from samples, checks at the waist, attacks on bits, a museum of the broken."""

from discreet.audit.bits import bit_bound
from discreet.audit.lower_bound import LowerBound, lower_bound

__all__ = ["LowerBound", "bit_bound", "lower_bound"]
