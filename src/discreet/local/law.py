"""A local law: a client half that makes one report of one person's value, a server half that reads many.

The client half is ``report``: it needs NumPy, the public parameters and a source of randomness, and nothing else. The
server half only ever adds up whole numbers (``tally``), so it runs over arrays, files and clusters alike, and then
draws its conclusion from the sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.cost import Cost
from discreet.core.random import Random, chosen
from discreet.core.registry import Named, Registry
from discreet.errors import GridOverflow, InvalidRequest
from discreet.local import exact_draws
from discreet.local.estimate import Estimate
from discreet.local.reports import Column, Columns, Reports, fingerprint

_BLOCK = 1 << 17
_MOST_PEOPLE = 1 << 30  # below it no sum of squares of a report leaves 64 bits


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over people: everything the server half needs to know."""

    count: int
    sums: npt.NDArray[np.int64]
    private: bool = True

    def __add__(self, other: Tally) -> Tally:
        if self.count + other.count > _MOST_PEOPLE:
            raise GridOverflow(f"a tally holds at most {_MOST_PEOPLE} people, got more; estimate parts and average them")
        return Tally(self.count + other.count, self.sums + other.sums, self.private and other.private)


@dataclass(frozen=True)
class LocalMechanism(Named, ABC):
    """The parent of all laws. A subclass says how a value is read, what a report holds, how it is drawn and added up."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact_draws.read_epsilon(self.epsilon))

    @property
    def odds(self) -> Fraction:
        """The largest ratio of probabilities: a rational just below e^epsilon."""
        return exact_draws.odds(self.epsilon)

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Column]:
        """What a report holds."""

    @property
    def width(self) -> int:
        """How many numbers the client half handles for one person."""
        return 1

    @abstractmethod
    def encode(self, values: Any) -> npt.NDArray[Any]:
        """Values as numbers the law works with, by the public rule for what lies outside its range."""

    @abstractmethod
    def draw(self, random: Random, encoded: npt.NDArray[Any]) -> Columns:
        """One report for each encoded value."""

    @abstractmethod
    def log_prob(self, reports: Reports, values: Any) -> npt.NDArray[np.float64]:
        """The log-probability of each report if its person's value were ``values`` (one for all, or one each)."""

    @abstractmethod
    def sums(self, columns: Columns) -> npt.NDArray[np.int64]:
        """Whole numbers, added over reports."""

    @abstractmethod
    def conclude(self, tally: Tally) -> Estimate:
        """The estimate from the sums over all reports."""

    def check(self, columns: Columns) -> None:
        """Refuse columns that no client half of this law can have made."""

    def report(self, value: Any, *, seed: int | Random | None = None) -> Reports:
        """The report of one person, private before it leaves the device. A seed is for tests and makes it not private."""
        alone = np.empty(1, object)
        alone[0] = value
        return self.reports(alone, seed=seed)

    def reports(self, values: Any, *, seed: int | Random | None = None) -> Reports:
        """One report for each value: many people at once, as a simulation or a trusted relay would."""
        random = chosen(seed)
        given = values if isinstance(values, np.ndarray | list | tuple) else np.asarray(values)
        # Run by run, so that everything between the value and the report stays in the cache.
        parts = [self.draw(random, self.encode(given[run])) for run in blocks(len(given), self.width)]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in self.columns}
        return Reports.fresh(self, columns, random.private)

    def tally(self, reports: Reports | Iterable[Reports]) -> Tally:
        """The sums over reports. Refuses reports of another law, and people who reported twice."""
        found = reports if isinstance(reports, Reports) else Reports.join(reports)
        self.require(found.mechanism)
        if found.people is not None:
            refuse_repeated(len(found) - len(set(found.people.tolist())))
        return Tally(len(found), self.sums(found.columns), found.private)

    def estimate(self, reports: Reports | Iterable[Reports]) -> Estimate:
        """The server half: the estimate from the reports of different people."""
        return self.finish(self.tally(reports))

    def finish(self, tally: Tally) -> Estimate:
        """``conclude``, refusing sums over nobody."""
        if not tally.count:
            raise InvalidRequest("there must be at least one report, got none")
        return self.conclude(tally)

    def cost(self) -> Cost:
        """What a person spends with one report."""
        return Cost.pure(self.epsilon)

    def require(self, other: LocalMechanism) -> None:
        """Refuse another law, or this one with other parameters."""
        if other != self:
            raise InvalidRequest(
                f"reports must come from {fingerprint(self)} (epsilon {float(self.epsilon):g}), got {fingerprint(other)} "
                f"(epsilon {float(other.epsilon):g}); estimate each law by itself"
            )


def blocks(count: int, width: int) -> list[slice]:
    """Runs of rows small enough for the cache, for work with ``width`` numbers a row; nothing is one empty run."""
    step = max(1, _BLOCK // max(width, 1))
    return [slice(start, min(start + step, count)) for start in range(0, max(count, 1), step)]


def refuse_repeated(excess: int) -> None:
    """Refuse people who reported more than once."""
    if excess:
        raise InvalidRequest(
            f"every person reports once, got {excess} reports too many: each spends epsilon again; "
            "keep first_of_each() and find out why"
        )


local_mechanisms: Registry[LocalMechanism] = Registry("local mechanism")
LocalMechanism.registry = local_mechanisms
