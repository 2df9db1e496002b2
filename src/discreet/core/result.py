"""What a procedure returns to a person: a reading of releases, with honest uncertainty."""

from __future__ import annotations

import html
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.cost import Cost
from discreet.core.documents import parsed, reading
from discreet.core.registry import SCHEMA_VERSION, Named, Registry, check_version
from discreet.core.release import Release
from discreet.errors import InvalidRequest


class Reading(Named, ABC):
    """How releases become an answer: a pure function of what is public. Registered in ``readings``."""

    @abstractmethod
    def value(self, releases: Sequence[Release]) -> Any:
        """The answer."""

    @abstractmethod
    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        """Two ends that hold the answer on this table with probability ``level``, over the noise alone."""

    @abstractmethod
    def expected_error(self, releases: Sequence[Release]) -> Any:
        """The root mean square error the noise is expected to cause."""


readings: Registry[Reading] = Registry("reading")


@dataclass(frozen=True, eq=False)
class Result:
    """An answer: its value, its uncertainty, its price, and the releases it was read from.

    Proof: everything here is computed from releases and declarations, so it is post-processing and costs nothing
    beyond them.
    """

    reading: Reading
    releases: tuple[Release, ...]
    cost: Cost

    @cached_property
    def value(self) -> Any:
        """The answer."""
        return self.reading.value(self.releases)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Two ends that hold the answer *on this table* with probability ``level``: it knows the noise, not sampling."""
        if not 0 < level < 1:
            raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
        return self.reading.interval(self.releases, level)

    @property
    def expected_error(self) -> Any:
        """The root mean square error the noise is expected to cause."""
        return self.reading.expected_error(self.releases)

    @property
    def relation(self) -> str | None:
        """The neighbouring relation the guarantee is for."""
        return self.releases[0].relation if self.releases else None

    @property
    def private(self) -> bool:
        """Whether the noise came from the operating system; false for what a seed made."""
        return all(r.private for r in self.releases)

    @property
    def labels(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """The axes of an answer with several numbers: their names and labels."""
        return tuple(getattr(self.reading, "labels", ()))

    def rows(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The answer as columns: the labels of each number, its value, interval and expected error."""
        value = np.asarray(self.value)
        low, high = (np.broadcast_to(np.asarray(end), value.shape) for end in self.interval(level))
        error = self.expected_error
        errors = np.broadcast_to(np.asarray(np.nan if error is None else error, np.float64), value.shape)
        places = list(np.ndindex(value.shape))
        columns: dict[str, list[Any]] = {}
        for axis, (name, known) in enumerate(self.labels):
            columns[name] = [known[place[axis]] for place in places]
        for name, array in (("value", value), ("low", low), ("high", high), ("expected_error", errors)):
            columns[name] = [array[place].item() for place in places]
        return columns

    def to_frame(self, backend: str = "pandas", level: float = 0.95) -> Any:
        """A data frame with one row for each number; ``backend`` is "pandas" or "polars"."""
        if backend not in ("pandas", "polars"):
            raise InvalidRequest(f"backend must be 'pandas' or 'polars', got {backend!r}")
        import importlib

        try:
            frames = importlib.import_module(backend)
        except ImportError:
            raise InvalidRequest(f"{backend} is not installed; install it, or use .rows() for plain lists") from None
        return frames.DataFrame(self.rows(level))

    def _repr_html_(self) -> str:
        columns = self.rows()
        cells = zip(*columns.values(), strict=True)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        body = "".join("<tr>" + "".join(f"<td>{_shown(c)}</td>" for c in row) + "</tr>" for row in cells)
        note = "" if self.private else " · <b>not private</b> (seeded or without noise)"
        words = f"cost {self.cost} · neighbours: {self.relation} · intervals of 95 % cover the noise{note}"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody><caption>{words}</caption></table>"

    def __float__(self) -> float:
        if np.size(self.value) != 1:
            raise InvalidRequest(f"the answer has {np.size(self.value)} numbers, not one; use .value or .to_frame()")
        return float(np.asarray(self.value).item())

    def __repr__(self) -> str:
        mark = "" if self.private else ", not private"
        return f"Result({self.value!r}, cost: {self.cost}, neighbors: {self.relation}{mark})"

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval(0.95)
        return {
            "kind": "result",
            "schema": SCHEMA_VERSION,
            "reading": self.reading.to_dict(),
            "value": _listed(self.value),
            "interval95": [_listed(low), _listed(high)],
            "cost": self.cost.to_dict(),
            "releases": [r.to_dict() for r in self.releases],
        }

    def to_json(self) -> str:
        """The answer and all behind it as one JSON document."""
        return json.dumps(self.to_dict())

    @staticmethod
    def from_json(text: str) -> Result:
        """The result a JSON document describes, read again from its releases."""
        doc = parsed(text)
        check_version(doc, "result")
        with reading("a result"), np.errstate(divide="raise", invalid="raise", over="raise"):
            releases = tuple(Release.from_dict(r) for r in doc["releases"])
            made = Result(readings.read(doc["reading"]), releases, Cost.from_dict(doc["cost"]))
            made.rows()  # a reading that does not fit its releases is found here, and not where it is shown
        return made


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else html.escape(str(value))


def _listed(value: Any) -> Any:
    return np.asarray(value).tolist()
