"""What costs mean and how they are limited: conversions, calibration, filters and plans."""

from discreet.accounting.calibrate import calibrate
from discreet.accounting.conversions import epsilon, epsilon_of_zcdp, zcdp_of_pure
from discreet.accounting.filters import Filter, Remaining
from discreet.accounting.plans import Step, epsilon_of

__all__ = ["Filter", "Remaining", "Step", "calibrate", "epsilon", "epsilon_of", "epsilon_of_zcdp", "zcdp_of_pure"]
