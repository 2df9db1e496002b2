"""What a release says against what was expected of its table: read off what is public, so it costs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from discreet.core.exact import Exact
from discreet.core.release import Release

_SURE = 6.0  # standard deviations of the noise: less than one false alarm in a thousand releases, under every law
_FAR = 3.0  # times the error that was planned
_CLOSER = math.sqrt(12)  # a plan lets values lie evenly; ordinary ones have a twelfth of their bounds as deviation


@dataclass(frozen=True)
class Caution:
    """Why an answer is not what it was planned to be.

    ``fewer``: of about ``expected`` rows only about ``seen`` have what the question needs; ``more``: the other way round.
    ``wider``: its error is ``seen`` times the one planned for ``expected`` rows; of a filter, for about as many rows as
    fulfil it.
    """

    kind: Literal["fewer", "more", "wider"]
    seen: float
    expected: int

    def __str__(self) -> str:
        if self.kind == "wider":
            return (
                f"the error is {self.seen:.3g} times what was planned for {self.expected:,} rows; fewer rows fit the "
                "question, or values vary less than the bounds allow"
            )
        few = "check delimiter, decimal, missing words, labels, dates and max_rows in the schema before using it"
        many = "correct expected_rows, or check that rows are not doubled"
        return (
            f"about {max(self.seen, 0):,.0f} rows could be used, and about {self.expected:,} were expected; "
            f"{few if self.kind == 'fewer' else many}"
        )


def caution(
    releases: Sequence[Release],
    expected: int | None,
    error: Callable[[Sequence[Release]], Any],
    over_deviation: bool = False,
) -> Caution | None:
    """The warning that an answer needs; None where it is as planned, or nothing was expected.

    ``error`` is the expected error of an answer read off releases, and ``over_deviation`` says that it is divided by the
    deviation of a column: values that lie closer together than a plan makes them up are then no reason for doubt. The sum of
    the released numbers is compared with what it is at least and at most where all of the ``expected`` rows can be used; of
    most queries that is their number. How many rows fulfil a filter nobody expects: there the error is held against one for
    the noisy number of them.

    Proof: it reads releases and the schema's public guess, so it is post-processing.
    """
    if expected is None or not releases or releases[0].query is None:
        return None
    first, query = releases[0], releases[0].query
    totals, rows = query.totals(expected), expected
    if totals is None and first.where:
        return None
    if totals is not None:
        least, most = totals
        seen, reach = float(np.sum(first.value)), _SURE * float(np.linalg.norm(first.mechanism.deviation(query.size)))
        if seen + reach < least / 2 and not first.where:
            return Caution("fewer", seen / least * expected, expected)
        if seen - reach > 2 * most:
            return Caution("more", seen / most * expected, expected)
        if first.where:
            rows = max(1, min(expected, round(max(seen, reach) / max(least, 1.0) * expected)))
    made_up = query.blank(rows)
    if not isinstance(made_up, Exact) or len(releases) > 1:
        return None
    now, planned = error(releases), error([replace(first, value=made_up.value)])
    if now is None or planned is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.median(np.ravel(np.asarray(now, np.float64) / np.asarray(planned, np.float64)))
    return Caution("wider", float(ratio), rows) if ratio > _FAR * (_CLOSER if over_deviation else 1.0) else None
