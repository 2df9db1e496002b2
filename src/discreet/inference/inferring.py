"""From releases to a posterior: the statistic, clamp, grid and law come from the release, the user names the data model."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.random import system
from discreet.core.release import Release
from discreet.core.x64 import doubles, jax
from discreet.errors import InvalidRequest
from discreet.inference.evidence.releases import Input, as_releases, gather
from discreet.inference.models.base import Array, DataModel
from discreet.inference.models.normal import Normal
from discreet.inference.models.privacy_model import PrivacyModel, whole_sweep
from discreet.inference.models.rows import Rows, check_rows
from discreet.inference.outputs.posterior import Posterior
from discreet.inference.samplers.count_moves import count_moves
from discreet.inference.samplers.counts import exact_counts, takes_counts, theta_given
from discreet.inference.samplers.gibbs import gibbs
from discreet.inference.samplers.independent import can_be_independent, independent
from discreet.inference.samplers.interweaving import interweaving
from discreet.inference.samplers.problem import Kernel, SamplingProblem, decide_rows
from discreet.inference.samplers.run import Drawn, run
from discreet.inference.samplers.summary import ADVISED, WARMUP, summary, takes_summary
from discreet.inference.samplers.sweep import sweep
from discreet.inference.samplers.whole_table import whole_table
from discreet.statistics.cells import Cells

SAMPLERS = ("sweep", "gibbs", "counts", "whole_table", "interweaving", "summary", "independent")
_FEWEST = 4


def infer(
    release: Input | Sequence[Input] | Any,
    model: DataModel,
    draws: int = 1000,
    warmup: int = 1000,
    chains: int = 4,
    seed: int | None = None,
    sampler: str | None = None,
    n: int | Rows | None = None,
    statistic: Callable[..., Any] | None = None,
    progress: bool | None = None,
) -> Posterior:
    """The posterior of a model's parameters, given noisy releases.

    ``release`` is a Release, a Result, the JSON of either, or a list of them (about the same people). ``model`` is the
    data model with its prior. ``n`` is the number of records, or a prior on it (``PoissonRows``, ``UniformRows``);
    where a release counts rows and their number is private it may be left out. ``statistic`` is what one record adds
    to, for releases that came from elsewhere and do not say. ``sampler`` names one of ``SAMPLERS`` where the model's
    own choice is not wanted. ``progress`` shows a bar (by default on a terminal); an interrupt returns the draws so
    far.
    """
    _check_numbers(draws, warmup, chains, seed)
    if not isinstance(model, DataModel):
        raise InvalidRequest(f"model must be a data model such as BetaBernoulli(1, 1) or a PrivacyModel, got {model!r}")
    if sampler is not None and sampler not in SAMPLERS:
        raise InvalidRequest(f"sampler must be one of {', '.join(SAMPLERS)}, got {sampler!r}")
    with doubles():
        problem = prepare(release, model, n, statistic)
        key = jax.random.key(system().below(1 << 62) if seed is None else seed)
        made = _sample(problem, sampler, draws, warmup, chains, key, progress)
    words = (
        problem.model.describe() | _rows(problem.rows) | {"draws": draws, "warmup": warmup, "chains": chains, "seed": seed}
    )
    if _says_nothing_of_variance(problem):
        words |= {"silent": ["variance"]}
    return Posterior(
        made.drawn.theta | ({"n": made.drawn.stats["n"]} if "n" in made.drawn.stats else {}),
        made.drawn.stats,
        made.sampler,
        made.sampler == "summary",
        words,
        problem.evidence.releases,
        made.drawn.seconds,
        made.drawn.compile_seconds,
        made.drawn.interrupted,
    )


@dataclass(frozen=True, eq=False)
class _Made:
    drawn: Drawn
    sampler: str


def prepare(
    release: Any, model: DataModel, n: int | Rows | None = None, statistic: Callable[..., Any] | None = None
) -> SamplingProblem:
    """The problem of a release and a model, everything checked."""
    if isinstance(model, PrivacyModel):
        if n is not None and n != model.n:
            raise InvalidRequest(f"the PrivacyModel has n = {model.n}, infer was given {n}; leave one out")
        one = release if isinstance(release, Release) else Release.of(model.law, release)
        return SamplingProblem(model, model.evidence(one), model.n)
    rows = check_rows(n)
    evidence, model = gather(as_releases(release), model, statistic, not isinstance(rows, int))
    return SamplingProblem(model, evidence, decide_rows(evidence, rows))


def _sample(
    problem: SamplingProblem, sampler: str | None, draws: int, warmup: int, chains: int, key: Array, progress: bool | None
) -> _Made:
    chosen = sampler or choose(problem)
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
    made = run(kernel, problem.evidence.values, draws=draws, warmup=skipped, chains=chains, key=key, progress=progress)
    return _Made(made, chosen)


def choose(problem: SamplingProblem) -> str:
    """The sampler made for a model and what was seen; see each sampler's own conditions."""
    if isinstance(problem.model, PrivacyModel):
        return "sweep"
    if problem.evidence.reports is not None and not problem.evidence.parts:
        return "independent" if can_be_independent(problem) else "whole_table"
    if takes_counts(problem):
        return "counts"
    if problem.capacity > ADVISED and takes_summary(problem):
        return "summary"
    if "interweaving" in problem.model.samplers:
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
    if not isinstance(problem.model, Normal) or not isinstance(problem.model.variance, tuple):
        return False
    asked = [release.query for release in problem.evidence.releases]
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
