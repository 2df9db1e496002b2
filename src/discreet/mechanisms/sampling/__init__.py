"""Exact samplers at array speed: integers whose law is the ideal one, not a floating-point likeness of it.

Each draw starts from 63 bits of a uniform number. Doubles compute the ideal real value and a bound on their own
error; where the value is further from the decision (a rounding, a comparison) than the bound, the decision is
certain whatever the bits still unseen. Every other draw, about one in a hundred million, is handed to ``digits``,
which draws more bits and decides in intervals.

Proof: the value decided is a deterministic function of an infinite sequence of uniform bits, of which only as many
are drawn as the decision needs; the law is therefore the ideal real law, rounded. The bounds take NumPy's log and
sqrt to be right within ``uniform.ULPS`` units in the last place, which the tests check against decimal arithmetic.
"""
