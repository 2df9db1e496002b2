"""Row-wise expressions: one small language for derived columns, filters and groups.

An expression is a function of the cells of one row and of constants that are written in it. It has no loops, no state and no
functions of other rows, and it is total: whatever a row holds, it has a value, which may be *missing*. Undefined arithmetic
(a division by zero, the root of a negative number, an overflow) is missing, and a comparison with a missing value is neither
true nor false but missing (Kleene's three-valued logic). It is read by Python's parser and never run as Python.

Proof that a filter or a derived column changes no guarantee: its value in a row is a function of that row and of public
text, so neighbouring tables stay neighbours under the same relation, and the clip and the distance of a query hold on what
it sees.
"""

from discreet.expressions.parsing import read
from discreet.expressions.tree import KnownColumn, Node

__all__ = ["KnownColumn", "Node", "read"]
