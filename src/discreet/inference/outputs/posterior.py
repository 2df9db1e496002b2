"""What is known after a release: draws of everything unknown, and what they were drawn from."""

from __future__ import annotations

import html
import importlib.util
import inspect
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.core.cost import Cost
from discreet.core.documents import parsed, reading
from discreet.core.registry import SCHEMA_VERSION, check_version
from discreet.core.release import Release
from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.inference.outputs import diagnostics
from discreet.inference.outputs.datasets import draws_of, to_arviz, to_netcdf
from discreet.inference.outputs.names import Axes, axes_of, places
from discreet.inference.outputs.packing import packed, unpacked
from discreet.inference.outputs.table import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

# What a document says in plain words, and of which type.
_PLAIN: dict[str, Any] = {
    "sampler": str,
    "approximate": bool,
    "model": dict,
    "seconds": int | float,
    "compile_seconds": int | float,
    "interrupted": bool,
}
_TO_SD = 1.4826022185056018  # 1 / Phi^-1(3/4): the median absolute deviation of a normal law times it is its sd
APPROXIMATE = (
    "approximate: the sum over people is taken to be Gaussian given the parameters, which holds for many people; "
    "the other samplers are exact"
)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from the posterior of a data model given noisy releases.

    ``draws`` maps a name to an array of (chains, draws, *shape). ``stats`` are of (chains, draws, ...), but for
    ``acceptance_per_record``, which is of (chains, records). ``approximate`` is true only where the sampler replaces the
    law of the data by a limit, and is said wherever results are shown. ``releases`` are what was observed.

    Proof that it costs nothing: everything here is computed from releases and public declarations.
    """

    draws: dict[str, npt.NDArray[Any]]
    stats: dict[str, npt.NDArray[Any]]
    sampler: str
    approximate: bool
    model: dict[str, Any]
    releases: tuple[Release, ...]
    seconds: float
    compile_seconds: float
    interrupted: bool = False

    def __post_init__(self) -> None:
        if not self.draws:
            raise InvalidRequest("a posterior needs draws of at least one quantity, got none")
        arrays = {name: np.asarray(array) for name, array in self.draws.items()}
        sizes = {array.shape[:2] for array in arrays.values()}
        if len(sizes) != 1 or any(a.ndim < 2 or not a.size for a in arrays.values()):
            shapes = {name: array.shape for name, array in arrays.items()}
            raise InvalidRequest(f"draws must all be of (chains, draws, ...), the same chains and draws, got {shapes}")
        object.__setattr__(self, "draws", arrays)
        object.__setattr__(self, "stats", {name: np.asarray(array) for name, array in self.stats.items()})
        object.__setattr__(self, "releases", tuple(self.releases))

    @property
    def chains(self) -> int:
        """How many chains."""
        return int(next(iter(self.draws.values())).shape[0])

    @property
    def count(self) -> int:
        """How many draws each chain has."""
        return int(next(iter(self.draws.values())).shape[1])

    @cached_property
    def posterior(self) -> Any:
        """The draws by name, with labelled axes (an xarray ``Dataset``) where xarray is installed, else plain arrays."""
        if importlib.util.find_spec("xarray") is None:
            return dict(self.draws)
        return draws_of(self)

    @property
    def cost(self) -> Cost | None:
        """What the releases cost together, every entry of a ledger once; None where one of them does not say."""
        costs: dict[Any, Cost] = {}
        for number, release in enumerate(self.releases):
            if release.cost is None:
                return None
            entry = release.entry
            costs[(entry.ledger, entry.number) if entry is not None and entry.hash else number] = release.cost
        return sum(costs.values(), Cost.nothing()) if costs else None

    @property
    def private(self) -> bool:
        """Whether all noise came from the operating system; false for what a seed made."""
        return all(release.private for release in self.releases)

    def axes(self, name: str) -> Axes:
        """The names and labels of a quantity's axes, behind chains and draws."""
        return axes_of(name, self._of(name).shape[2:], self.model, self.releases)

    def _of(self, name: str) -> npt.NDArray[Any]:
        try:
            return self.draws[name]
        except KeyError:
            raise UnknownName(f"no draws are called {name!r}; known: {', '.join(self.draws)}") from None

    @cached_property
    def _measured(self) -> dict[str, tuple[Floats, Floats, Floats]]:
        """Bulk and tail effective sizes and R-hat of every quantity."""
        return {
            name: (diagnostics.ess_bulk(d), diagnostics.ess_tail(d), diagnostics.r_hat(d)) for name, d in self.draws.items()
        }

    @property
    def problems(self) -> list[str]:
        """Why the draws should not be trusted yet, one plain sentence each; none where nothing is wrong."""
        return diagnostics.judged(self._measured, self.draws)

    @property
    def notes(self) -> list[str]:
        """What has to be said wherever results are shown."""
        said = [APPROXIMATE] if self.approximate else []
        rows = {f"{column} is {' or '.join(map(str, labels))}" for r in self.releases for column, labels in r.where}
        if rows:
            said.append(f"about the rows where {' and '.join(sorted(rows))}, and about no others")
        said += [
            f"the releases say next to nothing about the {name}: what is seen of it is its prior; "
            f"release it too, or give {name}= a number"
            for name in self.model.get("silent", ())
        ]
        said += [
            f"the model puts {share:.0%} of people beyond the bounds of {column}, where values were clipped: what it says "
            "about them rests on the shape of the model"
            for column, share in self.model.get("beyond", {}).items()
        ]
        if self.model.get("rare"):
            said.append(
                "some totals are sums over so few people that taking them for Gaussian is wrong; use sampler='sweep'"
            )
        effect = self.model.get("design_effect")
        if effect is not None:
            said.append(
                "n counts rows, not people, who may have several; "
                + (
                    f"everything is as wide as if {effect:g} rows said no more than one (design_effect=)"
                    if effect > 1
                    else "rows of one person are taken to be independent of each other"
                )
            )
        if self.interrupted:
            said.append(f"interrupted: these are the first {self.count} draws of each chain")
        if not self.private:
            said.append("not private: at least one release was made with a seed or without noise, for a test")
        return said + self.problems

    def interval(self, name: str, level: float = 0.95) -> tuple[Any, Any]:
        """The two ends between which a quantity lies with probability ``level``, equal tails on both sides."""
        tail = (1 - check_level(level)) / 2
        low, high = np.quantile(self._of(name), [tail, 1 - tail], axis=(0, 1))
        return (low, high) if np.ndim(low) else (float(low), float(high))

    def summary(self, level: float = 0.95) -> Summary:
        """Every number in a row: mean, sd, median, its absolute deviation, interval, effective sample sizes and R-hat.

        Warns with ``PoorSampling`` where the draws should not be trusted yet.
        """
        rows = []
        for name, array in self.draws.items():
            low, high = self.interval(name, level)
            middle = np.median(array, (0, 1))
            columns = [
                array.mean((0, 1)), array.std((0, 1), ddof=min(1, self.chains * self.count - 1)),
                middle, _TO_SD * np.median(np.abs(array - middle), (0, 1)), low, high, *self._measured[name],
            ]  # fmt: skip
            flat = [np.ravel(c).astype(np.float64).tolist() for c in columns]
            for label, *values in zip(places(name, self.axes(name)), *flat, strict=True):
                keys = ("mean", "sd", "median", "mad", "low", "high", "ess_bulk", "ess_tail", "r_hat")
                rows.append({"name": label} | dict(zip(keys, values, strict=True)))
        for problem in self.problems:
            warnings.warn(problem, diagnostics.PoorSampling, stacklevel=2)
        return Summary(tuple(rows), level, tuple(self.notes))

    def derive(self, name: str, function: Callable[..., Any]) -> Posterior:
        """The same posterior with one more quantity, computed from all draws at once.

        ``function`` names the quantities it needs as its arguments and gets their arrays of (chains, draws, *shape), so
        places are written from the right: ``lambda theta: theta[..., 0, 0] / theta[..., 0, 1]``. A function with a single
        argument of another name gets the dictionary of all draws.
        """
        wanted = list(inspect.signature(function).parameters)
        missing = [w for w in wanted if w not in self.draws]
        if missing and len(wanted) > 1:
            raise UnknownName(f"{name} asks for {', '.join(missing)}, which are not drawn; known: {', '.join(self.draws)}")
        with np.errstate(divide="ignore", invalid="ignore"):
            made = function(dict(self.draws)) if missing else function(**{w: self.draws[w] for w in wanted})
        array = np.asarray(made)
        if array.shape[:2] != (self.chains, self.count):
            raise InvalidRequest(
                f"{name} must be computed for every draw, as an array of ({self.chains}, {self.count}, ...), got "
                f"{array.shape}; write places from the right, such as theta[..., 0]"
            )
        return replace(self, draws=self.draws | {name: array})

    def label(self, name: str, **axes: Sequence[Any]) -> Posterior:
        """The same posterior with names for the places of a quantity, axis by axis: ``label("theta", sex=["f", "m"])``.

        Releases from elsewhere do not say what their cells are.
        """
        sizes = tuple(len(labels) for labels in axes.values())
        if sizes != self._of(name).shape[2:]:
            raise InvalidRequest(f"the axes of {name} have {self._of(name).shape[2:]} places, got labels for {sizes}")
        named = dict(self.model.get("axes", {})) | {name: [[axis, list(labels)] for axis, labels in axes.items()]}
        return replace(self, model=self.model | {"axes": named})

    def naive(self, seed: int = 0) -> Posterior:
        """The analysis that takes the released numbers for exact, with the same prior: what this posterior corrects."""
        from discreet.inference.outputs.naive import naive

        return naive(self, seed)

    def to_arviz(self) -> Any:
        """An ArviZ object: ``InferenceData`` before ArviZ 1, since then an xarray ``DataTree``."""
        return to_arviz(self)

    def to_netcdf(self, path: str | Path) -> Path:
        """Write all of it to a netCDF file that ArviZ reads."""
        return to_netcdf(self, path)

    def plot_trace(self, names: list[str] | None = None) -> Figure:
        """Every chain's draws in order: chains that have settled look alike."""
        from discreet.inference.outputs import pictures

        return pictures.trace(self, names)

    def plot_density(self, names: list[str] | None = None, level: float = 0.95) -> Figure:
        """The density of every number, with its interval."""
        from discreet.inference.outputs import pictures

        return pictures.density(self, names, level)

    def plot_forest(self, names: list[str] | None = None, level: float = 0.95) -> Figure:
        """The intervals of all numbers below one another."""
        from discreet.inference.outputs import pictures

        return pictures.forest(self, names, level)

    def plot_comparison(
        self,
        other: Posterior | None = None,
        names: list[str] | None = None,
        truth: Mapping[str, Any] | None = None,
        labels: tuple[str, str] | None = None,
    ) -> Figure:
        """This posterior over that of the naive analysis, which ignores the noise, or over another; ``labels`` name both."""
        from discreet.inference.outputs import pictures

        return pictures.comparison(self, other, names, truth, labels=labels)

    def __repr__(self) -> str:
        word = f"{self.sampler}, approximate" if self.approximate else self.sampler
        size = f"{self.chains} chains of {self.count} draws{', interrupted' if self.interrupted else ''}"
        return f"Posterior({', '.join(self.draws)}; {size}; sampler: {word}; {self.seconds:.3g} s)"

    def _repr_html_(self) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", diagnostics.PoorSampling)  # the table below says it
            table = self.summary()._repr_html_()
        cost = "unknown" if self.cost is None else str(self.cost)
        return f"{table}<p>{html.escape(repr(self))}<br>cost of what was released: {html.escape(cost)}</p>"

    def to_json(self) -> str:
        """Everything as one JSON document; arrays as base64 of little-endian numbers, so that no digit is lost."""
        doc = {
            "kind": "posterior",
            "schema": SCHEMA_VERSION,
            "draws": {name: packed(array) for name, array in self.draws.items()},
            "stats": {name: packed(array) for name, array in self.stats.items()},
            "releases": [release.to_dict() for release in self.releases],
        }
        return json.dumps(doc | {name: getattr(self, name) for name in _PLAIN}, default=str)

    @staticmethod
    def from_json(text: str) -> Posterior:
        """The posterior a JSON document describes."""
        doc = parsed(text)
        check_version(doc, "posterior")
        with reading("a posterior"):
            draws, stats = ({name: unpacked(a) for name, a in doc[key].items()} for key in ("draws", "stats"))
            releases = tuple(Release.from_dict(r) for r in doc["releases"])
            plain = {name: doc[name] for name in _PLAIN}
            for name, kind in _PLAIN.items():
                if not isinstance(plain[name], kind) or (isinstance(plain[name], bool) and kind is not bool):
                    raise UnsupportedFormat(f"{name} of a posterior is garbled, got {plain[name]!r:.60}")
            made = Posterior(draws, stats, releases=releases, **plain)
            repr(made), made.cost  # what does not fit is found here, and not where it is shown
            return made


def check_level(level: float) -> float:
    if not 0 < level < 1:
        raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
    return level
