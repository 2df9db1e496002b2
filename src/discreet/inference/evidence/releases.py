"""Everything that was released, ready for a sampler: one statistic of records and one density of what was seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.release import Release
from discreet.core.releases import Releases
from discreet.core.result import Result
from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.inference.evidence.laws import Density, density, response_matrix
from discreet.inference.evidence.local_reports import LocalLaw, as_release, lines, log_chances
from discreet.inference.evidence.statistic import Reader, Statistic, translate
from discreet.inference.models.base import Array, DataModel, Records, TableModel
from discreet.inference.models.dirichlet_multinomial import DirichletMultinomial
from discreet.inference.models.own import check_arguments
from discreet.inference.samplers.compiled import once
from discreet.local.frequency import FrequencyOracle
from discreet.local.reports import Reports
from discreet.mechanisms import RandomizedResponse
from discreet.mechanisms.lattice import Lattice
from discreet.statistics.joint import Bundle

Floats = npt.NDArray[np.float64]

_TRIED = 8  # records of a table on which a statistic is tried


@dataclass(frozen=True, eq=False)
class EvidencePart:
    """One release: its numbers as a flat array, the statistic, and the density of its law."""

    values: Floats
    statistic: Statistic
    law: Density

    def log_prob(self, released: Array, total: Array) -> Array:
        finish = self.statistic.finish
        return self.law.log_prob(released, total if finish is None else finish(total))


@dataclass(frozen=True, eq=False)
class ReportEvidence:
    """Reports of single people about categories: ``matrix[report, cell]`` is the chance of a report up to a factor of its
    own, ``codes`` are the reports."""

    matrix: Floats
    codes: npt.NDArray[np.int64]

    def log_chances(self, codes: Array, records: Records) -> Array:
        """The log-chance of each report given its record."""
        return jnp.asarray(np.log(np.maximum(self.matrix, 1e-300)))[codes.astype(jnp.int32), records]

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many gave each report."""
        return np.bincount(self.codes, minlength=self.matrix.shape[0])


@dataclass(frozen=True, eq=False)
class NumberReports:
    """Reports of single people about a number each."""

    law: LocalLaw
    codes: npt.NDArray[np.int64]

    def log_chances(self, codes: Array, records: Records) -> Array:
        """The log-chance of each report given its record, one for each person in their order."""
        return log_chances(self.law, records)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was seen, in all. ``values`` is one flat array, so that it can be data of a compiled sampler.

    ``log_prob(values, total)`` is the log-density of the additive part; ``separate(values, records)`` that of the reports of
    single people, one number for each record.
    """

    releases: tuple[Release, ...]
    parts: tuple[EvidencePart, ...]
    reports: ReportEvidence | NumberReports | None
    values: Floats

    @property
    def size(self) -> int:
        """How many numbers a record adds to."""
        return sum(p.statistic.size for p in self.parts)

    def each(self, records: Records, index: Array, values: Array) -> Array:
        """t(record) for every record, all statistics side by side."""
        made, start = [jnp.zeros((index.shape[0], 0))], 0
        for part in self.parts:
            stop = start + part.values.size
            made.append(part.statistic.each(records, index, values[start:stop]))
            start = stop
        return jnp.concatenate(made, axis=1)

    def smooth(self, records: Records, index: Array, values: Array) -> Array:
        """As ``each``, without rounding to grids."""
        made, start = [], 0
        for part in self.parts:
            stop = start + part.values.size
            made.append((part.statistic.smooth or part.statistic.each)(records, index, values[start:stop]))
            start = stop
        return jnp.concatenate(made, axis=1)

    def log_prob(self, values: Array, total: Array) -> Array:
        """log of the density of all additive releases, given the total of ``each``."""
        found, start, place = jnp.zeros(()), 0, 0
        for part in self.parts:
            stop, end = start + part.values.size, place + part.statistic.size
            found += part.log_prob(values[start:stop], total[place:end])
            start, place = stop, end
        return found

    def separate(self, values: Array, records: Records) -> Array | None:
        """The log-chance of each single report given its record."""
        if self.reports is None:
            return None
        return self.reports.log_chances(values[sum(p.values.size for p in self.parts) :], records)

    @property
    def indexed(self) -> bool:
        """Whether what a record adds depends on its place."""
        return self.reports is not None or any(p.statistic.indexed for p in self.parts)

    @property
    def ones(self) -> tuple[Floats, int] | None:
        """Weights of released numbers whose sum counts records, and the part they belong to."""
        for place, part in enumerate(self.parts):
            if part.statistic.ones is not None and part.statistic.finish is None:
                return part.statistic.ones, place
        return None


Input = Release | Result | Releases | Reports | str | dict[str, Any]


def as_releases(given: Input | Sequence[Input], columns: Sequence[str] | None = None) -> tuple[Release, ...]:
    """Releases from releases, results, local reports, their JSON, or a list of them; of a ``releases.json`` those that are
    about the model's ``columns``."""
    if isinstance(given, Release):
        counts = getattr(given.query, "as_cells", None)  # what a synthetic table is made of
        return (given if counts is None else replace(given, query=counts),)
    if isinstance(given, Reports):
        return (as_release(given),)
    if isinstance(given, Releases):
        return _about_columns(given, columns)
    if isinstance(given, Result):
        return given.releases
    if isinstance(given, dict):
        kind = given.get("kind")
        if kind == "release":
            return as_releases(Release.from_dict(given))
        if kind == "releases":
            return _about_columns(Releases.from_dict(given), columns)
        inside = given.get("releases")
        if isinstance(inside, list):
            return as_releases(inside, columns)
        raise UnsupportedFormat(f"expected a release, a result or a list of them, got a document of kind {kind!r}")
    if isinstance(given, str):
        try:
            document = json.loads(given)
        except (json.JSONDecodeError, RecursionError) as problem:
            raise UnsupportedFormat(f"not a JSON document: {problem}") from problem
        return as_releases(document, columns)
    if isinstance(given, Sequence):
        if not given:
            raise InvalidRequest("infer needs at least one release, got none")
        found = [release for one in given for release in as_releases(one, columns)]
        return tuple({_identity(release): release for release in found}.values())
    raise InvalidRequest(f"infer takes a Release, a Result, their JSON or a list of them, got {type(given).__name__}")


def _about_columns(read: Releases, columns: Sequence[str] | None) -> tuple[Release, ...]:
    """The answers of a file that a model can use: the only one, or those about its columns; refuses to guess."""
    found = [a for a in read.answers if columns is not None and set(a.columns) <= set(columns) and a.plain]
    if columns is None and len(read) == 1:
        found = list(read.answers)
    usable = [a for a in found if not any(r.mechanism.no_posterior for r in a.releases)]
    if not usable:
        told = "about " + " and ".join(columns) if columns else f"{len(read)} answers"
        raise InvalidRequest(
            f"the file must have one answer that fits the model, got {told}: {'; '.join(read.titles)}; choose with "
            "releases['title'], or name the model's columns="
        )
    return as_releases([a.found for a in usable])


def _identity(release: Release) -> Any:
    """Two results of one joint release are one observation, also after they were written and read."""
    if release.entry is not None or isinstance(release.query, Bundle):
        return release.to_json()
    return id(release)


def gather(
    releases: Sequence[Release], model: DataModel, statistic: Callable[..., Any] | None = None, count: bool = True
) -> tuple[Evidence, DataModel]:
    """The evidence of releases for a model; the model comes back with its shape filled in.

    ``count=False`` where it does not matter whether a user's statistic counts records.
    """
    if len({release.where for release in releases}) > 1:
        told = "; ".join(about(release) or "all rows" for release in releases)
        raise InvalidRequest(f"releases must be about the same people, got {told}; infer from each of them by itself")
    if isinstance(model, DirichletMultinomial) and model.shape is None:
        model = model.with_shape(_table_shape(releases))
    reader = Reader(model, _positions(releases, model))
    parts: list[EvidencePart] = []
    reports: ReportEvidence | NumberReports | None = None
    for release in releases:
        if isinstance(release.mechanism, RandomizedResponse | LocalLaw):
            if reports is not None:
                raise InvalidRequest("several sets of reports cannot be told apart by person; give infer one of them")
            reports = _reports(release, model)
        else:
            parts.append(_part(release, model, reader, statistic, count))
    values = [p.values for p in parts] + ([reports.codes.astype(np.float64)] if reports is not None else [])
    return Evidence(tuple(releases), tuple(parts), reports, np.concatenate(values)), model


def about(release: Release) -> str:
    """Which rows a release is about, in words; empty where it is about all."""
    return " and ".join(f"{column} is {' or '.join(map(str, labels))}" for column, labels in release.where)


def _part(
    release: Release, model: DataModel, reader: Reader, statistic: Callable[..., Any] | None, count: bool
) -> EvidencePart:
    values = flat_values(release)
    if not values.size or not np.isfinite(values).all():
        raise InvalidRequest(f"a released value must be finite numbers, got {release.value!r}")
    step = float(getattr(release.mechanism, "grid", 0) or 0)
    if isinstance(release.mechanism, Lattice) and (np.rint(values / step) * step != values).any():
        raise InvalidRequest(
            f"the law {release.mechanism.name} gives whole multiples of {step:g}, got {values.tolist()[:5]}; "
            "name the law that the value was made with"
        )
    law = density(release.mechanism, values.size)  # first: that a quantile has no density is the clearer refusal
    if release.query is not None:
        made = translate(release.query, reader)
    elif statistic is not None:
        made = own_statistic(statistic, model, values, count)
    else:
        made = _default(model, values)

    def two(key: Array) -> Array:
        return made.each(model.simulate(key, model.draw_prior(key), 2), jnp.arange(2), jnp.asarray(values))

    jax.eval_shape(two, jax.random.key(0))  # what does not fit together is refused here, before anything is compiled
    probe = jax.eval_shape(made.finish or (lambda t: t), np.zeros(made.size))
    if probe.shape != values.shape:
        raise InvalidRequest(
            f"the release has {values.size} numbers and the statistic of the model makes {probe.shape[0]}; shapes must match"
        )
    return EvidencePart(values, made, law)


def flat_values(release: Release) -> Floats:
    """The released numbers in a row."""
    try:
        return np.ravel(np.asarray(release.value, np.float64))
    except (TypeError, ValueError):
        raise InvalidRequest(f"a released value must be numbers, got {release.value!r}") from None


def own_statistic(function: Callable[..., Any], model: DataModel, values: Floats, counting: bool = False) -> Statistic:
    """A user's statistic of one record, of (record), (record, index) or (record, index, released)."""
    count = check_arguments(function, "statistic", 1, 3)

    def one(record: Any, index: Array, released: Array) -> Array:
        return jnp.ravel(jnp.asarray(function(*(record, index, released)[:count]), float))

    each = jax.vmap(one, in_axes=(0, 0, None))
    key = jax.random.key(0)
    theta = jax.eval_shape(model.draw_prior, key)
    records = jax.eval_shape(lambda k, t: model.simulate(k, t, 1), key, theta)
    index, seen = np.zeros(1, np.int32), np.zeros(values.shape)
    try:
        size = jax.eval_shape(each, records, index, seen).shape[1]
    except Exception as problem:
        raise InvalidRequest(f"statistic fails on one record of the model: {problem}") from problem
    if size != values.size:
        raise InvalidRequest(
            f"statistic makes {size} numbers of a record and the release has {values.size}; they must match"
        )
    return Statistic(each, size, ones=_counting(each, model, values) if counting and count == 1 else None, indexed=count > 1)


def _counting(each: Callable[..., Any], model: DataModel, values: Floats) -> Floats | None:
    """Weights that make every record add up to one, if there are any: tried on random records."""

    def some(key: Array) -> Array:
        theta_key, record_key = jax.random.split(key)
        return each(model.simulate(record_key, model.draw_prior(theta_key), _TRIED), jnp.arange(_TRIED), jnp.asarray(values))

    tried = np.asarray(once(jax.vmap(some), jax.random.split(jax.random.key(0), 8))).reshape(8 * _TRIED, -1)
    if not np.isfinite(tried).all():
        return None
    weights = np.linalg.lstsq(tried, np.ones(len(tried)), rcond=None)[0]
    weights[np.abs(weights) < 1e-9] = 0.0
    return weights if np.allclose(tried @ weights, 1.0, rtol=0, atol=1e-9) else None


def _default(model: DataModel, values: Floats) -> Statistic:
    """For data from elsewhere without a query: what is clear by itself, the cells of a table or the number of ones."""
    if not isinstance(model, TableModel):
        raise InvalidRequest(
            "the release does not say what was computed; give infer(..., statistic=) a function of one record, with its "
            "clamp"
        )
    if values.size == 1 and model.sizes == (2,):
        return Statistic(lambda records, index, released: records[:, None] * 1.0, 1)
    if values.size == model.cells:
        cells = model.cells

        def one_hot(records: Records, index: Array, released: Array) -> Array:
            return (records[:, None] == jnp.arange(cells)).astype(float)

        return Statistic(one_hot, cells, ones=np.ones(cells), smooth=one_hot)
    raise InvalidRequest(
        f"the release has {values.size} numbers and the model's table {model.sizes} other cells; shapes must match, or "
        "give infer(..., statistic=) what a record adds to"
    )


def _positions(releases: Sequence[Release], model: DataModel) -> dict[str, int]:
    """Which variable of the model each column of the queries is."""
    used = list(dict.fromkeys(c for r in releases for c in r.columns))
    if model.columns is not None:
        strange = [c for c in used if c not in model.columns]
        if strange:
            raise InvalidRequest(f"the model speaks of the columns {list(model.columns)}, the release of {strange[0]!r}")
        return {c: i for i, c in enumerate(model.columns)}
    if used and len(used) != model.variables:
        raise InvalidRequest(
            f"the model {model.name!r} has {model.variables} columns and the releases use {used}; name them with columns="
        )
    return {c: i for i, c in enumerate(used)}


def _table_shape(releases: Sequence[Release]) -> tuple[int, ...]:
    for release in releases:
        shape = getattr(release.query, "shape", None)
        if shape and all(not f.is_number for f in getattr(release.query, "factors", ())):
            return tuple(shape)
        if isinstance(release.mechanism, LocalLaw):
            return (len(release.mechanism.categories),)
        if release.query is None and isinstance(release.mechanism, RandomizedResponse):
            axes = np.shape(release.value)[1:]
            return (len(release.mechanism.categories),) * (axes[0] if axes else 1)
        if release.query is None and np.ndim(release.value):
            return tuple(np.shape(release.value))
    raise InvalidRequest("no release says the shape of the table; give DirichletMultinomial(shape=...)")


def _reports(release: Release, model: DataModel) -> ReportEvidence | NumberReports:
    law = release.mechanism
    if isinstance(law, LocalLaw):
        return _local(law, model)
    assert isinstance(law, RandomizedResponse)
    if not isinstance(model, TableModel):
        raise InvalidRequest(f"randomised response needs a table model, got {model.name!r}; use DirichletMultinomial")
    sizes, reports = model.sizes, np.asarray(release.value, dtype=object)
    reports = reports.reshape(len(reports), -1) if reports.ndim else reports.reshape(1, 1)
    if reports.shape[1] != len(sizes) or any(size != len(law.categories) for size in sizes):
        raise InvalidRequest(
            f"reports of {reports.shape[1]} answers among {len(law.categories)} categories do not match a table of {sizes}"
        )
    labels = list(law.categories)
    if model.place(labels) == 0:
        labels.reverse()
    order = {label: i for i, label in enumerate(labels)}
    try:
        codes = np.array([[order[answer] for answer in line] for line in reports.tolist()], np.int64)
    except (KeyError, TypeError):
        raise InvalidRequest(f"reports must be among the categories {labels!r} of the law") from None
    matrix: Floats = np.ones((1, 1))
    for _ in sizes:
        matrix = np.asarray(np.kron(matrix, response_matrix(law)), np.float64)
    return ReportEvidence(matrix, np.ravel_multi_index(tuple(codes.T), sizes))


def _local(law: LocalLaw, model: DataModel) -> ReportEvidence | NumberReports:
    if not isinstance(model, TableModel):
        if isinstance(law.law, FrequencyOracle) or model.variables != 1:
            what = "categories" if isinstance(law.law, FrequencyOracle) else "one number"
            raise InvalidRequest(f"reports of {law.law.name} need a model of {what}, got {model.name!r}")
        return NumberReports(law, np.arange(len(next(iter(law.columns.values())))))
    labels = list(law.categories)
    if model.sizes != (len(labels),):
        raise InvalidRequest(f"reports among {len(labels)} categories do not match a table of {model.sizes}")
    matrix, codes = lines(law)
    return ReportEvidence(matrix[:, ::-1] if model.place(labels) == 0 else matrix, codes)
