"""The generators of random numbers that all code in a process shares, as a user's own test of a part finds them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def anew(number: int) -> Iterator[None]:
    """Python's and NumPy's begin anew for part ``number``, and go on afterwards as before.

    How many of their numbers a part takes depends on its people. Where they were seeded, as scripts do, the next part would
    see that in the numbers it is given, and whoever draws from them afterwards too.
    """
    states = random.getstate(), np.random.get_state()
    random.seed(number)
    np.random.seed(number)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
