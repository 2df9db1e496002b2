"""A posterior as labelled arrays: what ArviZ 0.2x calls InferenceData and ArviZ 1.x an xarray DataTree, and netCDF.

The datasets are the same for both, made with xarray alone; only the object that holds them differs.
"""

from __future__ import annotations

import importlib
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import __version__
from discreet.core import whole_files
from discreet.errors import InvalidRequest
from discreet.inference.outputs.names import Axes

if TYPE_CHECKING:
    from discreet.core.release import Release
    from discreet.inference.outputs.posterior import Posterior

_PER_RECORD = "acceptance_per_record"


def _module(name: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # once a day ArviZ 0.2x tells of its next version, which is no concern here
            return importlib.import_module(name)
    except ImportError:
        raise InvalidRequest(
            f"{name} is not installed; install discreet[bayes], or use .draws for plain arrays and .to_json()"
        ) from None


def datasets(posterior: Posterior) -> dict[str, Any]:
    """The groups by name: posterior, sample_stats, observed_data."""
    groups = {"posterior": draws_of(posterior), "sample_stats": _stats(posterior), "observed_data": _observed(posterior)}
    return {name: group for name, group in groups.items() if group.data_vars}


def draws_of(posterior: Posterior) -> Any:
    """The draws with the names of their axes."""
    variables: dict[str, Any] = {}
    coordinates = _counted(posterior)
    for name, array in posterior.draws.items():
        dims = _place(posterior.axes(name), coordinates)
        variables[name] = (("chain", "draw", *dims), array)
    return _module("xarray").Dataset(variables, coordinates)


def _counted(posterior: Posterior) -> dict[str, Any]:
    return {"chain": np.arange(posterior.chains), "draw": np.arange(posterior.count)}


def _place(axes: Axes, coordinates: dict[str, Any]) -> list[str]:
    """Names of dimensions for axes; one that other labels hold already gets a number."""
    dims = []
    for axis, labels in axes:
        name, number = axis, 2
        while name in dims or (name in coordinates and list(coordinates[name]) != list(labels)):
            name, number = f"{axis}_{number}", number + 1
        coordinates[name] = list(labels)
        dims.append(name)
    return dims


def _stats(posterior: Posterior) -> Any:
    variables: dict[str, Any] = {}
    for name, stat in posterior.stats.items():
        array = np.asarray(stat)
        if name == _PER_RECORD:
            variables[name] = (("chain", "record"), array)
        else:
            variables[name] = (("chain", "draw", *(f"{name}_{i}" for i in range(array.ndim - 2))), array)
    return _module("xarray").Dataset(variables, _counted(posterior))


def _observed(posterior: Posterior) -> Any:
    variables: dict[str, Any] = {}
    many = len(posterior.releases) > 1
    for i, release in enumerate(posterior.releases):
        name = f"release_{i}" if many else "release"
        value = np.asarray(release.value)
        value = value.astype(str) if value.dtype.kind in "OUS" else value
        variables[name] = ([f"{name}_dim_{k}" for k in range(value.ndim)], value, _privacy(release))
    return _module("xarray").Dataset(variables)


def _privacy(release: Release) -> dict[str, str]:
    """What is public about how one value was made, as texts."""
    return {
        "privacy_law": json.dumps(release.mechanism.to_dict()),
        "privacy_cost": "unknown" if release.cost is None else str(release.cost),
        "privacy_relation": release.relation or "unknown",
        "privacy_entry": "none" if release.entry is None else json.dumps(vars(release.entry)),
        "privacy_private": str(release.private),
    }


def attributes(posterior: Posterior) -> dict[str, Any]:
    """What is said of the whole: the privacy of the releases together, and how the draws were made."""
    first = _privacy(posterior.releases[0]) if posterior.releases else {}
    relations = dict.fromkeys(r.relation or "unknown" for r in posterior.releases)
    return first | {
        "privacy_cost": "unknown" if posterior.cost is None else str(posterior.cost),
        "privacy_relation": ", ".join(relations),
        "privacy_releases": json.dumps([r.to_dict() for r in posterior.releases]),
        "sampler": posterior.sampler,
        "approximate": int(posterior.approximate),
        "interrupted": int(posterior.interrupted),
        "model": json.dumps(posterior.model, default=str),
        "sampling_time": posterior.seconds,
        "compile_time": posterior.compile_seconds,
        "inference_library": "discreet",
        "inference_library_version": __version__,
    }


def to_arviz(posterior: Posterior) -> Any:
    """An ``InferenceData`` where ArviZ is older than 1, else an xarray ``DataTree``."""
    groups, said = datasets(posterior), attributes(posterior)
    arviz = _module("arviz")
    if int(arviz.__version__.partition(".")[0]) < 1:
        groups["posterior"].attrs.update(said)
        made = arviz.InferenceData(**groups)
        made.attrs.update(said)
        return made
    return tree(groups, said)


def tree(groups: dict[str, Any], said: dict[str, Any]) -> Any:
    """The groups as one tree; its posterior says it too, for readers that leave the root out."""
    groups["posterior"].attrs.update(said)
    xarray = _module("xarray")
    made = xarray.DataTree.from_dict(groups)
    made.attrs.update(said)
    return made


def to_netcdf(posterior: Posterior, path: str | Path) -> Path:
    """Write everything to one netCDF file, whole or not at all, which either ArviZ reads with ``from_netcdf``."""
    target = Path(path)
    made = tree(datasets(posterior), attributes(posterior))  # the same groups, without waiting for ArviZ to load
    try:
        with whole_files.replacing(target) as beside:
            made.to_netcdf(str(beside), engine="h5netcdf")
    except (ImportError, ValueError) as problem:
        raise InvalidRequest(
            f"netCDF needs the packages h5netcdf and h5py ({problem}); install them, or use .to_json()"
        ) from None
    except OSError as problem:
        raise InvalidRequest(f"{str(target)!r} must be a place that can be written, got {problem}") from None
    return target
