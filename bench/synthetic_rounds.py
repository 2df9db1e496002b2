"""Tables chosen in rounds, as AIM does (McKenna et al. 2022), on our own measuring: to be compared with choosing at once.

After the columns and the tree each round fits the model anew to all that was released, chooses the set of the workload, or
the part of one, that it fits worst, and measures that. Shares of the price are those of ``discreet.synthetic.measuring``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from discreet.core.ask import Account, Open
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.synthetic.measurement import total
from discreet.synthetic.measuring import CHOOSE_MORE, COLUMNS, MORE, TREE, Places, Shop, Workload, paid_for, read, tying
from discreet.synthetic.model import fitted
from discreet.synthetic.public_stream import Stream, seed_of

RECORDS = 10_000


def candidates(design: Workload) -> list[Places]:
    """The sets of the workload, and all their parts of two columns or more."""
    parts = [part for each in design.wanted for many in range(2, len(each) + 1) for part in combinations(each, many)]
    return list(dict.fromkeys(parts))


def in_rounds(design: Workload, price: Price, relation: Relation) -> Procedure[list[Release]]:
    """What ``measuring`` asks for, but for the last tables: each is chosen by a model of all that came before."""
    paid = paid_for(price)
    accounts: list[Account] = yield Open(paid, parts=1, cap=replace(paid, epsilon=None, delta=Fraction(0)))
    shop = Shop(design, Price(rho=paid.rho), relation, accounts[0])
    sizes = design.domain.sizes
    columns = [(i,) for i in range(len(sizes))]
    releases = yield from shop.measured(columns, [COLUMNS / len(columns)] * len(columns))
    done = yield from tying(shop, releases)
    releases += yield from shop.measured(done, [TREE / len(done)] * len(done))
    share = Fraction(1, design.more)
    for _ in range(design.more):
        seen = read(design.domain, releases)
        model = fitted(sizes, seen, total(seen), Stream(seed_of(m.value for m in seen)), records=RECORDS)
        left = [places for places in candidates(design) if places not in done]
        expected = [model.counts(sizes, places) for places in left]
        penalty = [shop.penalty(places, MORE * share) for places in left]
        weights = [design.weight(places) for places in left]
        best = yield from shop.chosen(left, expected, penalty, CHOOSE_MORE * share, weights)
        done.append(left[best])
        releases += yield from shop.measured([left[best]], [MORE * share])
    return releases
