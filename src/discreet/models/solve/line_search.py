"""Line searches on slopes, which are monotone along a step of a convex objective."""

from __future__ import annotations

from collections.abc import Callable


def sign_change(slope: Callable[[float], float], low: float, high: float, width: float) -> float:
    """Where a monotone slope changes its sign between ``low`` and ``high``, to within ``width`` of it, by bisection.

    Slopes and not values are compared: near the minimum values differ by less than their rounding.
    """
    for _ in range(60):
        middle = 0.5 * (low + high)
        if slope(middle) < 0.0:
            low = middle
        else:
            high = middle
        if low > 0.0 and high - low <= width * high:
            break
    return low or high
