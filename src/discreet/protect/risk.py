"""What a table as it lies gives away: its k, l and t, and how likely a person in it is found again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest
from discreet.protect.diversity import entropy, told
from discreet.protect.diversity import values as different
from discreet.protect.ground import Ranking, ground, ranked
from discreet.protect.incognito import matrices
from discreet.protect.lattice_histogram import Floats, Ints, encode, mixed, numbered
from discreet.protect.stored_table import open_table
from discreet.protect.uniqueness import Uniqueness, uniqueness
from discreet.sources.cell_meaning import label


@dataclass(frozen=True)
class Check:
    """The measures of a table, over its groups of rows with the same quasi-identifiers.

    ``k`` is the size of the smallest group. ``l`` is the least number of different sensitive values in a group (a missing
    one is none, here and in the next two; without any, ``l`` is 1),
    ``entropy_l`` the exponential of the least entropy, ``recursive_c`` the largest r_1 / (r_l + ... + r_v): the table is
    recursively (c, l)-diverse for every larger c. ``t`` is the largest earth mover's distance from a group to the table.
    With f_j rows in a group and F_j people like them in the population, ``prosecutor`` is the largest 1 / f_j and
    ``prosecutor_mean`` the number of groups over the rows; ``journalist`` the largest 1 / F_j; ``marketer`` the mean
    over rows of 1 / F_j, the share of people someone who matches every row can expect to get right (El Emam 2013).
    ``presence`` is the least and the largest f_j / F_j over the groups of the population: the table is delta-present for
    every range around them (Nergiz et al. 2007). ``unique`` estimates who is unique among so many people.
    """

    rows: int
    groups: int
    k: int
    l: int | None  # noqa: E741
    entropy_l: float | None
    recursive_c: float | None
    t: float | None
    prosecutor: float
    prosecutor_mean: float
    journalist: float
    marketer: float
    presence: tuple[float, float] | None = None
    unique: Uniqueness | None = None

    def to_dict(self) -> dict[str, Any]:
        """The measures in what JSON can say; an infinite one as text."""
        return {k: str(v) if v == float("inf") else v for k, v in asdict(self).items()}


def check(
    table: Any,
    quasi_identifiers: Sequence[str],
    sensitive: str | None = None,
    *,
    l: int = 2,  # noqa: E741
    order: Ranking = None,
    shares: Mapping[Any, float] | None = None,
    population: Any = None,
    people: int | None = None,
    spark: Any = None,
) -> Check:
    """Measure a table of any kind as it lies.

    ``l`` is the place from which ``recursive_c`` counts; ``order`` makes the distance ordered (a list of the sensitive
    values or "numeric") or that of a hierarchy. ``shares`` are the shares of the sensitive values in the whole table, where
    rows of it were suppressed; without it, this table's own. ``population`` is a table with the same quasi-identifiers of
    everyone the rows were drawn from; without one the table is taken for the whole population, and journalist and
    prosecutor agree.
    ``people`` is how many are in the population, where only that is known: unique people are estimated from it.
    """
    source = open_table(table, spark)
    names = [quasi_identifiers] if isinstance(quasi_identifiers, str) else list(quasi_identifiers)
    if not names:
        raise InvalidRequest("quasi_identifiers must name at least one column, got none")
    if isinstance(l, bool) or not isinstance(l, int) or l < 1:
        raise InvalidRequest(f"l must be a whole number of at least 1, got {l!r}")
    source.check([*names, *([] if sensitive is None else [sensitive])])
    columns, found = source.counted([*names, *([] if sensitive is None else [sensitive])])
    secret = None if sensitive is None else encode(columns.pop())
    encoded = [encode(column) for column in columns]
    counts = np.ones(len(encoded[0][1]), np.int64) if found is None else found
    rows = int(counts.sum())
    if rows == 0:
        raise InvalidRequest("a table without rows has no groups to measure, got 0 rows")
    ids, groups = numbered(*mixed([codes for _, codes in encoded], [len(texts) for texts, _ in encoded]))
    sizes = np.bincount(ids, counts, groups).astype(np.int64)
    everyone, absent = (sizes, False) if population is None else _population(population, names, encoded, ids, sizes, spark)
    diverse: tuple[Any, Any, Any, Any] = (None, None, None, None)
    if secret is not None:
        diverse = _diversity(ids, sizes, counts, secret, l, order, shares)
    return Check(
        rows,
        groups,
        int(sizes.min()),
        *diverse,
        1 / int(sizes.min()),
        groups / rows,
        1 / int(everyone.min()),
        float((sizes / everyone).sum() / rows),
        None
        if population is None
        else (0.0 if absent else float((sizes / everyone).min()), float((sizes / everyone).max())),
        None if people is None else uniqueness(sizes, people),
    )


def _diversity(
    ids: Ints,
    sizes: Ints,
    counts: Ints,
    secret: tuple[list[str | None], Ints],
    l: int,  # noqa: E741
    order: Ranking,
    shares: Mapping[Any, float] | None,
) -> tuple[int, float, float, float]:
    values, codes = secret
    texts: list[str | None] = list(values)
    if shares is not None:
        stated = {label(value): share for value, share in shares.items()}
        if not set(texts) <= set(stated):
            raise InvalidRequest("shares must list every sensitive value, and some are not among them; add them")
        texts += [value for value in stated if value not in set(texts)]
        whole: Floats = np.array([stated[value] for value in texts], float)
    else:
        whole = np.bincount(codes, counts, len(texts)) / counts.sum()
    arrangement, ranks = ranked(texts, order)
    whole, width = whole[np.argsort(ranks)], len(texts)
    gap = int(ranks[texts.index(None)]) if None in texts else None
    apart = ground(arrangement, order)
    least, low, ratio, far = width, np.inf, 0.0, 0.0
    for start, stop, matrix in matrices(ids, len(sizes), ranks[codes], width, counts):
        part = sizes[start:stop]
        far = max(far, float(apart.distance(part, matrix, whole).max()))
        known = told(matrix, gap)
        least = min(least, int(different(known).min()))
        low = min(low, float(entropy(known.sum(axis=1), known).min()))
        falling = -np.sort(-known, axis=1)
        tail = falling[:, l - 1 :].sum(axis=1)
        ratio = max(ratio, float((falling[:, 0] / tail).max())) if tail.all() else np.inf
    return least, float(np.exp(low)), ratio, far


def _population(
    population: Any,
    names: Sequence[str],
    encoded: Sequence[tuple[list[str | None], Ints]],
    ids: Ints,
    sizes: Ints,
    spark: Any,
) -> tuple[Ints, bool]:
    """How many people of the population are like each group, and whether some are like none."""
    source = open_table(population, spark)
    source.check(names)
    columns, found = source.counted(names)
    others = [encode(column) for column in columns]
    counts = np.ones(len(others[0][1]), np.int64) if found is None else found
    everyone: dict[tuple[str | None, ...], int] = {}
    for row, count in zip(_rows(others), counts.tolist(), strict=True):
        everyone[row] = everyone.get(row, 0) + count
    out = np.zeros(len(sizes), np.int64)
    for row, group in zip(_rows(encoded), ids.tolist(), strict=True):
        out[group] = everyone.get(row, 0)
    if (out < sizes).any():
        raise InvalidRequest(
            "the population must hold everyone in the table, and some group is larger in the table than in the population; "
            "generalise the population to the same levels, or leave it out"
        )
    return out, int(out.sum()) < int(counts.sum())


def _rows(encoded: Sequence[tuple[list[str | None], Ints]]) -> Any:
    return zip(*([texts[code] for code in codes.tolist()] for texts, codes in encoded), strict=True)
