"""What normal noise in an objective costs: privacy profiles and Rényi curves of objective perturbation.

An objective F gets a linear term b . theta with b ~ N(0, s^2 I) and a ridge G; its minimiser is released. Theta fixes b
(b = -grad F), so by a change of variables the privacy loss of a pair of neighbours at theta is

    L = (|b - v|^2 - |b|^2) / (2 s^2) + log det(Hessian) - log det(Hessian'),      v = difference of the data's gradients,

and the determinants differ by at most J = rows * ln(1 + curvature / G), because one row changes the Hessian by a matrix of
rank one and size at most ``curvature`` on top of at least G (Kifer, Smith and Thakurta 2012; Redberg, Koskela and
Wang 2023). Below t = |v|_max / s, M is Mills' ratio and HS the profile of the Gaussian; ``epsilon`` and the bounds
are in doubles, and callers keep a margin above their rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.hockey_stick import _mills, hockey_stick

Floats = npt.NDArray[np.float64]


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def one_row(epsilon: float, t: float, jacobian: float) -> float:
    """delta(epsilon) when one row with slope in [0, 1] along a direction of its own comes or goes.

    HS(epsilon - J; t) for epsilon >= J, else 1 - e^(epsilon - J) (1 - HS(0; t)).

    Proof: v = -a w, |w| <= 1 fixed and a in [0, 1] a function of theta, so L - J = (a^2 t^2 - 2 a t z) / 2 with z
    standard normal is convex in a and at most its larger end: (t^2 / 2 + t z)+ after a change of sign of z. delta = E
    (1 - e^(epsilon - L))+ grows in L. With epsilon >= J only the part above 0 counts, which is that of N(t, 1)
    against N(0, 1); below, the expectation of 1 - e^(epsilon - J) e^-(...)+ is 1 - e^(epsilon - J) (1 - HS(0; t)).
    """
    above = epsilon - jacobian
    if above >= 0:
        return hockey_stick(above, t)
    near = hockey_stick(0.0, t)
    return 1.0 if near >= 1.0 else -math.expm1(above + math.log1p(-near))


def either_way(epsilon: float, t: float, jacobian: float) -> float:
    """delta(epsilon) when one row whose slope may have either sign comes or goes: 2 HS(epsilon - J; t), epsilon >= J.

    Proof: as ``one_row`` with a in [-1, 1]: L - J is at most the larger of (t^2/2 + t z)+ and (t^2/2 - t z)+, and
    (1 - e^-(.))+ of a maximum is at most the sum of both.
    """
    above = epsilon - jacobian
    return min(1.0, 2.0 * hockey_stick(above, t)) if above >= 0 else 1.0


def in_a_plane(epsilon: float, t: float, jacobian: float) -> float:
    """delta(epsilon) when one row is replaced by another, slopes of either sign, t for the whole move.

    exp(-u^2/2) - exp(epsilon - J - (u + t)^2/2) (1 - t M(u + t)), u = max(0, (epsilon - J)/t - t/2).

    Proof: v lies in the plane of the two rows and |v| <= t s, so L - J <= t^2/2 + t R with R the length of the noise in
    that plane, P(R > r) = exp(-r^2/2). delta = E (1 - e^(epsilon - J - t^2/2 - t R))+ is this integral over R > u.
    """
    above = epsilon - jacobian
    if above < 0:
        return 1.0
    u = max(0.0, above / t - t / 2)
    rest = 1.0 - t * _mills(u + t)
    return min(1.0, math.exp(-u * u / 2) - math.exp(above - t * u - t * t / 2 - u * u / 2) * rest)


def replaced(epsilon: float, t: float, jacobian: float) -> float:
    """delta(epsilon) when one row is replaced, slopes in [0, 1], t = 1 / s for one row: two steps of ``one_row``.

    Proof: group privacy in terms of trade-offs (Dong, Roth and Su 2022): with F(x) the largest probability that one
    step turns an event of probability x into, delta <= sup over x of F(F(x)) - e^epsilon x. F is at most each of four
    bounds that follow from the profile of one step, from the side of the event and from that of its complement: a
    curve, its tangent of slope e^J, one of slope e^-J, and a curve again. F is therefore concave and increasing, and
    so is F(F(x)): between two nodes of a grid it lies below the line through the two nodes before, which bounds the
    supremum. Where epsilon - 2 J >= t^2 the two steps add up to e^J HS(epsilon - 2J; 2t), and the lesser of both is
    returned.
    """
    best = 1.0
    if epsilon - 2 * jacobian >= t * t:
        best = min(1.0, math.exp(jacobian) * hockey_stick(epsilon - 2 * jacobian, 2 * t))
        if best < 1e-3:
            return best
    return min(best, float(_twice(np.array([epsilon]), t, jacobian)[0]))


def replaced_at(epsilons: Floats, t: float, jacobian: float) -> Floats:
    """``replaced`` at several epsilon."""
    near = _twice(epsilons, t, jacobian)
    far = [
        math.exp(jacobian) * hockey_stick(e - 2 * jacobian, 2 * t) if e - 2 * jacobian >= t * t else 1.0
        for e in epsilons.tolist()
    ]
    return np.minimum(near, far)


def _twice(epsilons: Floats, t: float, jacobian: float) -> Floats:
    """sup over x of F(F(x)) - e^epsilon x, from above, for several epsilon."""
    x = np.logspace(-22.0, 0.0, 3000)
    twice = _trade(_trade(x, t, jacobian), t, jacobian)
    width = np.diff(x)
    slope = np.diff(twice) / width
    sup = []
    for e in epsilons:
        steep = math.exp(min(float(e), 700.0))
        inside = twice[1:-1] - steep * x[1:-1] + np.maximum(slope[:-1] - steep, 0.0) * width[1:]
        sup.append(max(float(twice[1]), float(inside.max()), float(twice[-1]) - steep))
    return np.array(sup)


def _trade(x: Floats, t: float, jacobian: float) -> Floats:
    """F(x), the least of its four bounds."""
    from scipy.special import ndtr, ndtri

    up, near, edge = math.exp(jacobian), hockey_stick(0.0, t), _cdf(-t / 2)
    raised = np.minimum(up * x, 1.0)
    other = ndtr(-ndtri(x) - t)
    first = np.where(raised <= edge, ndtr(ndtri(raised) + t), 1.0)
    second = raised + near
    third = 1.0 - (1.0 - x - near) / up
    fourth = np.where(other <= edge, 1.0 - other / up, 1.0)
    least: Floats = np.clip(np.minimum(np.minimum(first, second), np.minimum(third, fourth)), 0.0, 1.0)
    return least


def renyi(order: float, t: float, jacobian: float, one_sided: bool) -> float:
    """The Rényi divergence of an order, any number of rows and either relation, t for the whole move.

    One-sided: J + ln[Phi(-t/2) + e^(a(a-1)t^2/2) Phi((a - 1/2) t)] / (a - 1). Otherwise J + a t^2/2 + ln(2 Phi((a-1)
    t)) / (a - 1).

    Proof: (a - 1) times the divergence is ln E e^((a-1) L). With m rows of slopes a_j in [0, 1] along directions w_j,
    L - J is convex in the slopes, so it is at most its value at a corner, and there |v|^2 <= (sum of m terms of m
    |w_j|^2): L - J <= the sum over j of (m t_1^2/2 + t_1 z_j)+ with t_1 = t / m and z_j standard normal, however
    dependent. e^((a-1) .) is convex and increasing, and among all dependences the sum is largest in convex order when
    all z_j are one z (Kaas, Dhaene and Goovaerts 2000): (t^2/2 + t z)+, whose moment is the formula. With slopes in
    [-1, 1] the same holds with |z|.
    """
    from scipy.special import log_ndtr

    a = order
    if one_sided:
        low, high = float(log_ndtr(-t / 2)), a * (a - 1) * t * t / 2 + float(log_ndtr((a - 0.5) * t))
        top = max(low, high)
        return jacobian + (top + math.log(math.exp(low - top) + math.exp(high - top))) / (a - 1)
    return jacobian + a * t * t / 2 + (math.log(2) + float(log_ndtr((a - 1) * t))) / (a - 1)


def renyi_in_a_plane(order: float, t: float, jacobian: float) -> float:
    """The Rényi divergence of an order when one row is replaced, slopes of either sign, t for the whole move.

    J + a t^2/2 + ln(e^(-s^2/2) + s sqrt(2 pi) Phi(s)) / (a - 1), s = (a - 1) t.

    Proof: as ``in_a_plane``, L - J <= t^2/2 + t R with P(R > r) = exp(-r^2/2), and E e^(s R) = 1 + s times the integral of
    e^(s r - r^2/2) over r > 0, which is 1 + s sqrt(2 pi) e^(s^2/2) Phi(s).
    """
    s = (order - 1) * t
    return jacobian + order * t * t / 2 + math.log(math.exp(-s * s / 2) + s * math.sqrt(2 * math.pi) * _cdf(s)) / (order - 1)


Profile = Callable[[float], float]
_LEFT = 1e-17  # where a profile has fallen below this, nothing visible is left


def nodes(profile: Profile, start: float, count: int = 300) -> Floats:
    """Some epsilon from 0 to where nothing is left, finer near 0; looked for from ``start`` up."""
    reach = start
    while profile(reach) > _LEFT and reach < 1e6:
        reach *= 1.1
    return np.asarray(reach * np.linspace(0.0, 1.0, count + 1) ** 2)


def integral(edges: Floats, deltas: Floats, order: float) -> float:
    """``integrals`` at one order."""
    return float(integrals(edges, deltas, np.array([order]))[0])


def integrals(edges: Floats, deltas: Floats, orders: Floats) -> Floats:
    """An upper bound on the integral over epsilon > 0 of (e^((a-1) epsilon) + e^(-a epsilon)) delta(epsilon).

    Proof: a profile is convex in e^epsilon, so between nodes e_0 < e_1 it lies below c - k e^epsilon through (bounds on)
    its ends d_0 >= d_1. That is concave in epsilon and at most (e_1 - e_0)^2 / 8 times k e^e_1 above the straight line,
    where k = (d_0 - d_1) / (e^e_1 - e^e_0) <= (d_0 - d_1) e^-e_0 / (e_1 - e_0): the line is lifted by that. The weight
    is convex in epsilon and lies below its line, and the product of two lines is integrated exactly. Past the last node
    the profile falls at least as e^(-a epsilon) for the orders asked for (``most_order``), and the weight grows at most as
    e^((a-1) epsilon): what is left is at most their product at that node.
    """
    wide = np.diff(edges)
    a = orders[:, None]
    with np.errstate(all="ignore"):  # what is too large for doubles is infinite, and says nothing
        weight = np.exp((a - 1) * edges) + np.exp(-a * edges)
        lift = np.maximum(deltas[:-1] - deltas[1:], 0.0) * wide * np.exp(wide) / 8
        d0, d1, w0, w1 = deltas[:-1] + lift, deltas[1:] + lift, weight[:, :-1], weight[:, 1:]
        inside = (w0 @ (wide * (2 * d0 + d1)) + w1 @ (wide * (d0 + 2 * d1))) / 6
        whole: Floats = inside + deltas[-1] * weight[:, -1]
    return np.where(np.isnan(whole), np.inf, whole)


def most_order(reach: float, t: float, jacobian: float) -> float:
    """Up to this order a profile falls faster past ``reach`` than its weight grows, t for the whole move.

    Proof: with x = epsilon - J and u = x / t - t / 2, the logarithm of HS(x; t) falls at the rate M(u + t) /
    (M(u) - M(u + t)) >= u / t, because y M(y) grows; that of ``in_a_plane``, e^(-u^2/2) t M(u + t), at the rate
    1 / (t M(u + t)) - 1 >= u / t, because M(y) <= 1 / y. And u / t = x / t^2 - 1/2 is at least x / (2 t^2) where that is
    at least 1.
    """
    return max(1.0, (reach - jacobian) / (2 * t * t)) if t > 0 else math.inf


def concentrated(
    edges: Floats,
    deltas: Floats,
    closed: Callable[[float], float],
    most: float,
    t: float,
    jacobian: float,
    terms: int = 1,
) -> float:
    """An upper bound on sup over a > 1 of R(a) / a: rho. ``closed`` is another bound on R, the only one past order ``most``.

    From the profile, R(a) = ln(1 + a (a - 1) integral) / (a - 1).

    Proof: a Rényi divergence is the integral of the second derivative of x^a against the two profiles of the pair,
    which gives the formula (Sason and Verdu 2016). R does not fall in a, so between two orders R(a) / a is at most R
    at the larger over the smaller; next to 1, ln(1 + x) <= x bounds R(a) / a by the integral, which grows in a. Past
    the last order A both forms of ``renyi`` are at most J + a t^2 / 2 + ln(2) / (a - 1), so R(a) / a is at most
    J / A + t^2 / 2 + ln(2) / (A (A - 1)); where ``closed`` adds up so many ``terms``, ln(2 terms).
    """
    first = 1.004
    orders = [first]
    while orders[-1] < 20_000.0:
        orders.append(orders[-1] * (1.003 if orders[-1] < 3 else 1.01))
    values = [closed(a) for a in orders]
    near = np.array([a for a in orders if a <= most and (a - 1) * edges[-1] < 600])
    if near.size:
        read = np.log1p(near * (near - 1) * integrals(edges, deltas, near)) / (near - 1)
        values[: near.size] = np.minimum(values[: near.size], read).tolist()
    steps = max(high / low for high, low in zip(values[1:], orders[:-1], strict=True))
    last = orders[-1]
    rest = jacobian / last + t * t / 2 + math.log(2 * terms) / (last * (last - 1))
    return max(min(integral(edges, deltas, first), closed(first)), steps, rest)
