"""What a question or a fit would cost, before anything is paid or looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.accounting.filters import Remaining
from discreet.core.cost import Cost
from discreet.models.estimators.privacy import ridge_words
from discreet.models.queries import outpert
from discreet.models.queries.opera import Descent

_FEW = 12  # numbers that are shown one by one


@dataclass(frozen=True)
class Preview:
    """What a question would cost and how wrong its answer is expected to be. No data was touched."""

    cost: Cost
    expected_error: Any
    fits: bool
    remaining: Remaining | None
    rank_error: float | None = None
    population_width: Any = None
    rows_needed: int | None = None
    epsilon_needed: float | None = None
    people_needed: float | None = None
    gap: float | None = None

    def __str__(self) -> str:
        after = f"{self.remaining} would be left" if self.fits else f"does not fit, {self.remaining} is left"
        if self.remaining is None:
            after = "no budget limits it"
        wrong = f"expected error {_in_short(self.expected_error)}"
        if self.population_width is not None:
            wrong += f"; 95 % interval of the population about {_in_short(self.population_width)} wide"
        if self.rows_needed is not None:
            wrong += f"; the width asked for needs {self.rows_needed} rows"
        if self.epsilon_needed is not None:
            wrong += f", or epsilon {self.epsilon_needed:.4g} with the rows expected"
        if self.rank_error is not None:
            wrong = f"within {self.rank_error:.0f} rows of the rank asked for, 95 times in 100"
        if self.people_needed is not None:
            wrong = f"a bin needs {self.people_needed:.0f} people to be told from noise"
        if self.gap is not None:
            wrong = f"labels {self.gap:.0f} people apart keep their order, 95 times in 100"
        return f"costs {self.cost}; {wrong}; {after}"

    def __repr__(self) -> str:
        return f"Preview({self})"


def _in_short(numbers: Any) -> str:
    """A number or a few of them to four digits, the least and the largest of many."""
    each = np.ravel(np.asarray(numbers, np.float64))
    if each.size <= _FEW:
        return ", ".join(f"{number:.4g}" for number in each)
    least, most = float(each.min()), float(each.max())
    return f"{least:.4g} each" if least == most else f"{least:.4g} to {most:.4g}"


@dataclass(frozen=True)
class FitPreview:
    """What a fit would cost, whether it fits, and with which ridge it would be made. No data was touched.

    ``asked_ridge`` is the ridge asked for, where a larger one has to be used; ``asks`` are the questions it consists of, and
    ``run`` says how a model that descends step by step would.
    """

    cost: Cost
    fits: bool
    remaining: Remaining | None
    ridge: float | None = None
    asked_ridge: float | None = None
    asks: tuple[Any, ...] = ()
    run: Any = None

    @property
    def steps(self) -> int | None:
        """The number of steps of a descent, each with noise or the last point alone; None for other methods."""
        if self.run is not None:
            return int(self.run.steps)
        query = getattr(self.asks[0], "query", None) if self.asks else None
        return query.steps if isinstance(query, Descent) else None

    @property
    def utility_bound(self) -> float | None:
        """With a ridge: what ``models.queries.outpert`` proves of one noise, and ``models.gradient.utility`` of many."""
        from discreet.models.gradient import utility

        if self.run is not None:
            return utility.utility_bound(self.run)
        return None if self.steps is None else outpert.utility_bound(self.asks[0].query, self.asks[0].mechanism)

    def __str__(self) -> str:
        after = f"{self.remaining} would be left" if self.fits else f"does not fit, {self.remaining} is left"
        used = ridge_words(self.ridge, self.asked_ridge) or ("" if self.ridge is None else f"; ridge {self.ridge:g}")
        if self.steps is not None:
            used += f"; {self.steps} steps"
        if self.utility_bound is not None:
            used += f", at most {self.utility_bound:.3g} above the least mean objective in expectation"
        return f"costs {self.cost}{used}; {after}"

    def __repr__(self) -> str:
        return f"FitPreview({self})"
