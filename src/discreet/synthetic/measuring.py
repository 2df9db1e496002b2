"""What is measured for a synthetic table, and in which order: the one place where it spends.

Every column by itself; then the pairs that tie the columns into a tree, chosen by how far they are from independence; then
the tables that are furthest from what the tree expects, or the whole workload where that is short. Choices are made by the
exponential mechanism, counts get discrete Gaussian noise (discrete Laplace where epsilon alone is spent).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.conversions import zcdp_within
from discreet.core.ask import Account, Ask, Open
from discreet.core.cost import Cost
from discreet.core.mechanism import Mechanism
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.mechanisms import Exponential, NoNoise
from discreet.mechanisms.priced import law_of_sums
from discreet.synthetic.domain import Domain, check_sizes
from discreet.synthetic.measurement import Floats, Measurement, measured, total
from discreet.synthetic.model import from_tree
from discreet.synthetic.pair_tree import shares_of
from discreet.synthetic.public_stream import Stream, seed_of
from discreet.synthetic.queries import Misfit, marginal

Places = tuple[int, ...]

# Shares of the price: columns, choosing the tree, its tables, choosing more, their tables.
COLUMNS, CHOOSE_TREE, TREE, CHOOSE_MORE, MORE = (Fraction(n, 100) for n in (26, 4, 20, 4, 46))
# Of the noise of a table, what counts against choosing it: the fit reads sums of cells too, which noise hurts less.
_HURTS = Fraction(1, 3)


@dataclass(frozen=True)
class Workload:
    """What is measured: a domain, and the sets of columns that the table is to be right about (all pairs without any)."""

    domain: Domain
    workload: tuple[Places, ...] = ()

    def __post_init__(self) -> None:
        check_sizes(self.domain, self.candidates)
        check_sizes(self.domain, [(i,) for i in range(len(self.domain.attributes))])

    @property
    def wanted(self) -> list[Places]:
        """The tables of two columns or more that the synthetic table is to be right about."""
        return list(dict.fromkeys(p for p in self.workload if len(p) > 1)) if self.workload else self.domain.pairs()

    @property
    def all_at_once(self) -> bool:
        """Whether there are so few of them that all are measured, and none is chosen."""
        return len(self.wanted) <= 3 * (len(self.domain.attributes) - 1)

    @property
    def candidates(self) -> list[Places]:
        """All tables that may be measured or compared."""
        return self.wanted if self.all_at_once else list(dict.fromkeys((*self.wanted, *self.domain.pairs())))

    @property
    def more(self) -> int:
        """How many tables are chosen beyond the tree."""
        return 5 * (len(self.domain.attributes) - 1) // 2

    def weight(self, places: Places) -> int:
        """How much a table tells of the workload: the columns that it shares with each of its sets, added up (AIM)."""
        return max(1, sum(len({*places} & {*each}) for each in self.workload)) if self.workload else 1


def paid_for(price: Price) -> Cost:
    """What a price comes to: an (epsilon, delta) is spent as the largest rho that implies it, and both are true."""
    if price.epsilon is None or not price.delta:
        return price.cost
    return replace(Cost.zcdp(zcdp_within(price.epsilon, price.delta)), epsilon=price.epsilon, delta=price.delta)


def measuring(design: Workload, price: Price, relation: Relation) -> Procedure[list[Release]]:
    """Ask for everything that a synthetic table is made of; returns the released tables of counts.

    Proof: shares of the price add up to it, and every question is paid by itself. Choices use what was released before and
    are fixed given that. An (epsilon, delta) price is spent as the largest rho that implies it, from one account.
    """
    spent, account = price, None
    if price.delta:
        paid = paid_for(price)
        spent = Price(rho=paid.rho)
        accounts: list[Account] = yield Open(paid, parts=1, cap=replace(paid, epsilon=None, delta=Fraction(0)))
        account = accounts[0]
    shop = Shop(design, spent, relation, account)
    columns = [(i,) for i in range(len(design.domain.attributes))]
    if design.all_at_once:
        rest = design.wanted
        alone = COLUMNS if rest else Fraction(1)
        shares = [alone / len(columns)] * len(columns) + [(1 - alone) / max(1, len(rest))] * len(rest)
        found = yield from shop.measured([*columns, *rest], shares)
        return found
    releases = yield from shop.measured(columns, [COLUMNS / len(columns)] * len(columns))
    tree = yield from tying(shop, releases)
    releases += yield from shop.measured(tree, [TREE / len(tree)] * len(tree))
    more = yield from _more(shop, releases, tree)
    releases += yield from shop.measured(more, [MORE / len(more)] * len(more))
    return releases


def read(domain: Domain, releases: Sequence[Release]) -> list[Measurement]:
    """Released tables of counts as measurements of a domain's columns."""
    made = []
    for release in releases:
        query: Any = release.query
        places = tuple(domain.names.index(a.name) for a in query.attributes)
        made.append(measured(release, places, (None,) * len(places), query.shape))
    return made


@dataclass(frozen=True)
class Shop:
    """How tables are asked for at a share of the price."""

    design: Workload
    price: Price
    relation: Relation
    account: Account | None

    def measured(self, tables: Sequence[Places], shares: Sequence[Fraction]) -> Procedure[list[Release]]:
        asks = tuple(
            Ask(marginal(self.design.domain, places), self._law(places, share), self.account)
            for places, share in zip(tables, shares, strict=True)
        )
        answers: tuple[Release, ...] = yield asks
        return list(answers)

    def _law(self, places: Places, share: Fraction) -> Mechanism:
        query = marginal(self.design.domain, places)
        return law_of_sums(self.price.share(share), query.distance(self.relation))

    def penalty(self, places: Places, share: Fraction) -> int:
        """A third of what noise alone would add to a measured table, in L1."""
        law: Any = self._law(places, share)
        cells = self.design.domain.cells(places)
        return round(float(_HURTS) * math.sqrt(2 / math.pi) * float(np.max(np.asarray(law.deviation(cells)))) * cells)

    def chosen(self, tables: Sequence[Places], expected: Sequence[Floats], penalty: Sequence[int], share: Fraction,
               weights: Sequence[int]) -> Procedure[int]:  # fmt: skip
        """The place of a table that is far from what is expected of it."""
        whole = tuple(tuple(np.rint(each).astype(np.int64).ravel().tolist()) for each in expected)
        query = Misfit(
            self.design.domain.attributes, tuple(tables), whole, tuple(penalty), tuple(weights), self.design.domain.rows
        )
        law: Mechanism = NoNoise()
        if not self.price.is_infinite:
            # A little less than a rho allows, so that what the choice costs, rounded up, never exceeds it.
            epsilon = self.price.share(share).choice_epsilon * Fraction(10**12 - 1, 10**12)
            law = Exponential.costing(query.distance(self.relation), epsilon=epsilon)
        answer: Release = yield Ask(query, law, self.account)
        return int(np.argmax(answer.value)) if self.price.is_infinite else int(answer.value)


def tying(shop: Shop, releases: Sequence[Release]) -> Procedure[list[Places]]:
    """Pairs that tie all columns together, each far from independence among those that tie two parts."""
    domain = shop.design.domain
    seen = read(domain, releases)
    rows = total(seen)
    shares = shares_of(domain.sizes, seen, rows)
    count = len(domain.attributes) - 1
    group = list(range(count + 1))
    chosen: list[Places] = []
    while len(chosen) < count:
        left = [p for p in domain.pairs() if group[p[0]] != group[p[1]]]
        expected = [np.outer(shares[i], shares[j]) / rows for i, j in left]
        penalty = [shop.penalty(p, TREE / count) for p in left]
        best = yield from shop.chosen(left, expected, penalty, CHOOSE_TREE / count, [1] * len(left))
        pair = left[best]
        chosen.append(pair)
        group = [group[pair[0]] if g == group[pair[1]] else g for g in group]
    return chosen


def _more(shop: Shop, releases: Sequence[Release], tree: Sequence[Places]) -> Procedure[list[Places]]:
    """Tables that are furthest from what the tree expects of them."""
    design = shop.design
    seen = read(design.domain, releases)
    stream = Stream(seed_of(m.value for m in seen))
    model = from_tree(design.domain.sizes, seen, total(seen), stream)
    left = [p for p in design.wanted if p not in tree]
    count = min(design.more, len(left))
    expected = {p: model.counts(design.domain.sizes, p) for p in left}
    chosen: list[Places] = []
    while len(chosen) < count:
        tables = [p for p in left if p not in chosen]
        penalty = [shop.penalty(p, MORE / count) for p in tables]
        weights = [design.weight(p) for p in tables]
        best = yield from shop.chosen(tables, [expected[p] for p in tables], penalty, CHOOSE_MORE / count, weights)
        chosen.append(tables[best])
    return chosen
