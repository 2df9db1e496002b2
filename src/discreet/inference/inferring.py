"""From releases to a posterior: the statistic, clamp, grid and law come from the release, the user names the data model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.core.random import system
from discreet.core.release import Release
from discreet.core.x64 import doubles, jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.evidence.groups import Groups, grouped
from discreet.inference.evidence.releases import Evidence, Input, ReportEvidence, as_releases, gather
from discreet.inference.models.base import Array, DataModel, NoiseModel, Theta
from discreet.inference.models.normal import Normal
from discreet.inference.models.own import OwnModel
from discreet.inference.models.privacy_model import PrivacyModel, whole_sweep
from discreet.inference.models.rows import Rows, UniformRows, check_rows
from discreet.inference.on_host import host_posterior, on_host
from discreet.inference.outputs.beyond import beyond
from discreet.inference.outputs.posterior import Posterior
from discreet.inference.samplers.chains import Drawn, run
from discreet.inference.samplers.count_moves import count_moves
from discreet.inference.samplers.counts import exact_counts, takes_counts, theta_given
from discreet.inference.samplers.gibbs import gibbs
from discreet.inference.samplers.independent import can_be_independent, independent
from discreet.inference.samplers.interweaving import interweaving
from discreet.inference.samplers.problem import Kernel, SamplingProblem, count_of, decide_rows
from discreet.inference.samplers.summary import ADVISED, ADVISED_SUMS, WARMUP, summary, takes_summary
from discreet.inference.samplers.sweep import sweep
from discreet.inference.samplers.whole_table import whole_table
from discreet.statistics.cells import Cells

SAMPLERS = ("sweep", "gibbs", "counts", "whole_table", "interweaving", "summary", "independent")
_FEWEST = 4
_RARE = 0.05  # the share of draws with too few people behind a total from which on the exact samplers are used
_STILL_EXACT = 20_000  # records up to which that is affordable


def infer(
    release: Input | Sequence[Input] | Any,
    model: DataModel,
    draws: int = 1000,
    warmup: int = 1000,
    chains: int = 4,
    seed: int | None = None,
    sampler: str | None = None,
    n: int | Rows | Mapping[Any, int] | None = None,
    statistic: Callable[..., Any] | None = None,
    progress: bool | None = None,
    start: Mapping[str, Any] | None = None,
    design_effect: float | None = None,
) -> Posterior:
    """The posterior of a model's parameters, given noisy releases.

    ``release`` is a Release, a Result, what ``ds.read_releases`` reads, local ``Reports``, the JSON of any of them, or a
    list of them (about the same people). ``model`` is the data model with its prior. ``n`` is the number of records, or a
    prior on it (``PoissonRows``, ``UniformRows``); where a release counts rows and their number is private it may be left
    out. ``statistic`` is what one record adds to, for releases that came from elsewhere and do not say. ``sampler`` names
    one of ``SAMPLERS`` where the model's own choice is not wanted. ``progress`` shows a bar (by default on a terminal); an
    interrupt returns the draws so far. ``start`` is where chains start, a number or array for each parameter.

    A release by groups that the model does not speak of gives one posterior for each group, side by side in one: draws
    have an axis more, with the groups' labels. ``n`` may then be a dict with the number of each group.

    Where a person may have several rows, records are rows, and those of one person may be alike: by default everything is
    as wide as if they all were (``design_effect`` is the rows that a person may have), which needs many rows.
    ``design_effect=1`` says that rows of one person are independent of each other.
    """
    _check_numbers(draws, warmup, chains, seed)
    if not isinstance(model, DataModel):
        raise InvalidRequest(f"model must be a data model such as BetaBernoulli(1, 1) or a PrivacyModel, got {model!r}")
    if sampler is not None and sampler not in SAMPLERS:
        raise InvalidRequest(f"sampler must be one of {', '.join(SAMPLERS)}, got {sampler!r}")
    asked = SamplingRequest(draws, warmup, chains, sampler, progress, start, design_effect)
    number = system().below(1 << 62) if seed is None else seed
    with doubles():
        if isinstance(model, PrivacyModel):
            return _one(release, model, n, statistic, asked, number, seed)
        found = as_releases(release, model.columns)
        groups = grouped(found, model)
        if groups is not None:
            return _by_group(groups, found, model, n, asked, number, seed)
        return _one(found, model, n, statistic, asked, number, seed)


@dataclass(frozen=True)
class SamplingRequest:
    """How a posterior is to be drawn."""

    draws: int
    warmup: int
    chains: int
    sampler: str | None
    progress: bool | None
    start: Mapping[str, Any] | None
    design_effect: float | None


def _one(
    release: Any, model: DataModel, n: Any, statistic: Any, asked: SamplingRequest, number: int, seed: int | None
) -> Posterior:
    """The posterior of all people together."""
    if isinstance(model, PrivacyModel | OwnModel) and on_host(model, statistic):
        made = host_posterior(release, model, n, statistic, asked, number)
        words, drawn, used, releases = model.describe(), made.drawn, "sweep", made.releases
    else:
        problem = prepare(release, model, n, statistic, asked.design_effect)
        problem = replace(problem, given=_start(problem, asked))
        found = _sample(problem, asked, jax.random.key(number))
        drawn, used, releases = found.drawn, found.sampler, problem.evidence.releases
        words = problem.model.describe() | _rows(problem.rows) | _said(problem, found)
    words |= {"draws": asked.draws, "warmup": asked.warmup, "chains": asked.chains, "seed": seed}
    return Posterior(
        drawn.theta | ({"n": drawn.stats["n"]} if "n" in drawn.stats else {}),
        drawn.stats,
        used,
        used == "summary",
        words,
        releases,
        drawn.seconds,
        drawn.compile_seconds,
        drawn.interrupted,
    )


def _by_group(
    groups: Groups,
    releases: tuple[Release, ...],
    model: DataModel,
    n: Any,
    asked: SamplingRequest,
    number: int,
    seed: int | None,
) -> Posterior:
    """One posterior for each group, side by side. A program is compiled once for all that have the same shape."""
    labels = [one[0] if len(one) == 1 else one for one in groups.labels]
    if n is not None and (not isinstance(n, Mapping) or set(n) != set(labels)):
        raise InvalidRequest(f"of groups n is a dict with the number of each of {labels}, got {n!r}")
    rows = n or dict.fromkeys(labels, _common_rows(groups, model))
    made = [
        _one(list(found), model, rows[label], None, asked, number + place, seed)
        for place, (label, found) in enumerate(zip(labels, groups.releases, strict=True))
    ]
    count = min(one.count for one in made)

    def beside(arrays: Sequence[Any]) -> Any:
        stacked = np.stack([array[:, :count] for array in arrays], axis=2)
        return stacked.reshape(*stacked.shape[:2], *groups.shape, *stacked.shape[3:])

    draws = {name: beside([one.draws[name] for one in made]) for name in made[0].draws}
    stats = {"acceptance_rate": beside([one.stats["acceptance_rate"] for one in made])}
    words = {k: v for k, v in made[0].model.items() if k not in ("n", "rows", "beyond", "rare")}
    beyond_any: dict[str, float] = {}
    for one in made:
        for column, share in one.model.get("beyond", {}).items():
            beyond_any[column] = max(share, beyond_any.get(column, 0.0))
    words |= {"beyond": beyond_any} if beyond_any else {}
    words |= {"rare": True} if any(one.model.get("rare") for one in made) else {}
    by = [[column, [str(label) for label in known]] for column, known in groups.axes]
    own = {name: made[0].axes(name) for name in draws}
    words["axes"] = {name: [*by, *([axis, list(known)] for axis, known in own[name])] for name in draws}
    words["groups"] = [column for column, _ in groups.axes]
    first = made[0]
    return Posterior(
        draws, stats, first.sampler, any(one.approximate for one in made), words, releases,
        sum(one.seconds for one in made), sum(one.compile_seconds for one in made), any(one.interrupted for one in made),
    )  # fmt: skip


def _common_rows(groups: Groups, model: DataModel) -> Rows | None:
    """Every number of rows that one of the groups may have: flat wherever it matters for each of them."""
    found = [decide_rows(gather(list(releases), model, None, True)[0], None) for releases in groups.releases]
    priors = [rows for rows in found if isinstance(rows, UniformRows)]
    if len(priors) < len(found):
        return None
    return UniformRows(min(rows.least for rows in priors), max(rows.most for rows in priors))


def _said(problem: SamplingProblem, made: _Made) -> dict[str, Any]:
    """What a reader has to be told beside the draws."""
    words: dict[str, Any] = {"silent": ["variance"]} if _says_nothing_of_variance(problem) else {}
    found = beyond(problem.model, problem.evidence.releases, made.drawn.theta)
    words |= {"beyond": found} if found else {}
    words |= {"rare": True} if made.rare else {}
    if most_rows(problem.evidence.releases) > 1:
        words |= {"design_effect": problem.design_effect}
    return words


def _start(problem: SamplingProblem, asked: SamplingRequest) -> Theta | None:
    """Where a user wants chains to start, in the shapes of the model's parameters."""
    if asked.start is None:
        return None
    shapes = jax.eval_shape(problem.model.draw_prior, jax.random.key(0))
    if set(asked.start) != set(shapes):
        raise InvalidRequest(f"start must name the parameters {list(shapes)}, got {list(asked.start)}")
    made = {}
    for name, shape in shapes.items():
        given = np.asarray(asked.start[name], np.float64)
        if given.shape != shape.shape or not np.isfinite(given).all():
            raise InvalidRequest(f"start of {name} must be finite numbers of shape {shape.shape}, got {asked.start[name]!r}")
        made[name] = jnp.asarray(given)
    return made


@dataclass(frozen=True, eq=False)
class _Made:
    drawn: Drawn
    sampler: str
    rare: bool = False


def prepare(
    release: Any,
    model: DataModel,
    n: int | Rows | None = None,
    statistic: Callable[..., Any] | None = None,
    design_effect: float | None = None,
) -> SamplingProblem:
    """The problem of a release and a model, everything checked."""
    if isinstance(model, PrivacyModel):
        if n is not None and n != model.n:
            raise InvalidRequest(f"the PrivacyModel has n = {model.n}, infer was given {n}; leave one out")
        one = release if isinstance(release, Release) else Release.of(model.law, release)
        return SamplingProblem(model, model.evidence(one), model.n)
    rows = check_rows(n)
    evidence, model = gather(as_releases(release, model.columns), model, statistic, not isinstance(rows, int))
    problem = SamplingProblem(model, evidence, decide_rows(evidence, rows), _effect(evidence.releases, design_effect))
    if problem.design_effect > 1 and not takes_summary(problem):
        raise InvalidRequest(
            f"a person may have {most_rows(evidence.releases)} rows, and what rows of one person have in common cannot be "
            "allowed for with this model and law; give infer(..., design_effect=1) if they are independent of each other"
        )
    return problem


def most_rows(releases: Sequence[Release]) -> int:
    """The most rows that one person has in what was released."""
    asked = [part for r in releases for part in r.queries]
    return max((query.rows for query in asked if isinstance(query, Cells)), default=1)


def _effect(releases: Sequence[Release], given: float | None) -> float:
    most = most_rows(releases)
    if given is None:
        return float(most)
    if not 1 <= given <= most:
        raise InvalidRequest(f"design_effect must lie between 1 and the {most} rows that a person may have, got {given!r}")
    return float(given)


def _sample(problem: SamplingProblem, asked: SamplingRequest, key: Array) -> _Made:
    sampler, draws, warmup, chains = asked.sampler, asked.draws, asked.warmup, asked.chains
    if problem.design_effect > 1 and sampler not in (None, "summary"):
        raise InvalidRequest(
            f"the sampler {sampler!r} takes rows to be independent; use 'summary', or say so with design_effect=1"
        )
    chosen = sampler or choose(problem)
    if problem.given is not None and chosen in ("independent", "summary", "whole_table", "counts"):
        raise InvalidRequest(f"the sampler {chosen!r} finds its own start; leave start= out, or use sampler='sweep'")
    began = time.perf_counter()
    if chosen == "independent":
        theta = independent(problem, key, chains * draws)
        if theta is not None:
            return _Made(_side_by_side(theta, {}, chains, draws, began), chosen)
        if sampler is not None:
            raise InvalidRequest("fewer than one draw in a hundred is kept by the sampler 'independent'; use 'whole_table'")
        chosen = "whole_table"
    if chosen == "counts" and takes_counts(problem):
        first, second = jax.random.split(key)
        tables = exact_counts(problem, first, chains * draws)
        if tables is not None:
            stats = {} if isinstance(problem.rows, int) else {"n": tables.counts.sum(1)}
            return _Made(_side_by_side(theta_given(problem, second, tables), stats, chains, draws, began), chosen)
    kernel = kernel_of(problem, chosen)
    skipped = min(warmup, WARMUP) if chosen == "summary" else warmup
    made = run(kernel, problem.evidence.values, draws=draws, warmup=skipped, chains=chains, key=key, progress=asked.progress)
    rare = float(np.mean(made.stats.pop("rare", 0.0))) > _RARE
    if rare and sampler is None and problem.design_effect == 1 and problem.capacity <= _STILL_EXACT:
        exact = replace(asked, sampler=_record_by_record(problem))
        return _sample(problem, exact, jax.random.fold_in(key, 1))
    return _Made(made, chosen, rare)


def choose(problem: SamplingProblem) -> str:
    """The sampler made for a model and what was seen; see each sampler's own conditions."""
    if isinstance(problem.model, PrivacyModel):
        return "sweep"
    if isinstance(problem.evidence.reports, ReportEvidence) and not problem.evidence.parts:
        return "independent" if can_be_independent(problem) else "whole_table"
    if problem.design_effect > 1:
        return "summary"
    if takes_counts(problem):
        return "counts"
    if takes_summary(problem) and (problem.capacity > ADVISED or _many_for_sums(problem)):
        return "summary"
    return _record_by_record(problem)


def _many_for_sums(problem: SamplingProblem) -> bool:
    """Whether sums of one number are over so many people that they are as good as normal, earlier than products are."""
    if not isinstance(problem.model, NoiseModel) or problem.model.noise_size > 1 or not _plain_sums(problem.evidence):
        return False
    rows = problem.rows
    people = rows if isinstance(rows, int) else count_of(problem.evidence, problem.evidence.values)
    return people is not None and people >= ADVISED_SUMS


def _record_by_record(problem: SamplingProblem) -> str:
    if "interweaving" in problem.model.samplers and problem.evidence.reports is None:
        return "interweaving"
    return "gibbs" if "gibbs" in problem.model.samplers and isinstance(problem.rows, int) else "sweep"


def kernel_of(problem: SamplingProblem, sampler: str) -> Kernel:
    """The sampler of that name."""
    model = problem.model
    if problem.evidence.indexed and not isinstance(problem.rows, int):
        raise InvalidRequest("a statistic that depends on the place of a record needs a known n; give infer(..., n=)")
    if isinstance(model, PrivacyModel):
        if sampler != "sweep":
            raise InvalidRequest(f"a PrivacyModel is sampled by 'sweep', got {sampler!r}")
        return sweep(problem) if model.additive else whole_sweep(problem)
    kernels = {
        "sweep": sweep, "gibbs": gibbs, "counts": count_moves, "whole_table": whole_table, "interweaving": interweaving,
        "summary": summary,
    }  # fmt: skip
    return kernels[sampler](problem)


def _side_by_side(theta: Any, stats: dict[str, Any], chains: int, draws: int, began: float) -> Drawn:
    """Independent draws laid out as chains."""

    def shaped(array: Any) -> Any:
        return np.asarray(array).reshape(chains, draws, *np.shape(array)[1:])

    made = {name: shaped(array) for name, array in theta.items()}
    kept = {name: shaped(array) for name, array in stats.items()}
    return Drawn(made, kept | {"acceptance_rate": np.ones((chains, draws))}, time.perf_counter() - began, 0.0)


def _says_nothing_of_variance(problem: SamplingProblem) -> bool:
    """Whether a normal model with an unknown variance was given sums of the numbers only, and none of their squares."""
    known = not isinstance(problem.model, Normal) or not isinstance(problem.model.variance, tuple)
    return not known and _plain_sums(problem.evidence)


def _plain_sums(evidence: Evidence) -> bool:
    """Whether all that was released are sums of the numbers themselves, and not of their squares or of bins."""
    asked = [release.query for release in evidence.releases]
    return all(isinstance(q, Cells) and not any(f.kind in ("square", "quartic", "bins") for f in q.factors) for q in asked)


def _rows(rows: int | Rows) -> dict[str, Any]:
    """The number of records where it is known; a prior on it has a name of its own, apart from the model's."""
    return {"n": rows} if isinstance(rows, int) else {"rows": rows.describe()}


def _check_numbers(draws: int, warmup: int, chains: int, seed: int | None) -> None:
    for name, value, least in (("draws", draws, _FEWEST), ("warmup", warmup, 0), ("chains", chains, 1), ("seed", seed, 0)):
        if name == "seed" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InvalidRequest(f"{name} must be a whole number of at least {least}, got {value!r}")
