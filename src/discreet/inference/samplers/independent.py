"""Independent draws for randomised response with a uniform prior: no chain at all.

With reports y counted as m_y, the chances of reports lambda = M theta, and theta ~ Dirichlet(1): draw lambda ~
Dirichlet(m + 1), solve theta = M**-1 lambda, and keep it where no coordinate is negative.

Holds when the only evidence is reports of single people through one matrix M that can be inverted, and every alpha is 1.

Proof: theta is uniform on the simplex and M is linear and one to one, so lambda is uniform on the image of the simplex;
the likelihood is prod lambda_y**m_y. The posterior of lambda is therefore Dirichlet(m + 1) restricted to the image, and
restricting is keeping the draws that lie inside.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.evidence.releases import ReportEvidence
from discreet.inference.models.base import Array, FiniteModel, TableModel, Theta
from discreet.inference.samplers.problem import SamplingProblem

_BATCH, _MOST_BATCHES = 4096, 256


def can_be_independent(problem: SamplingProblem) -> bool:
    """Whether the conditions above hold."""
    model, reports = problem.model, problem.evidence.reports
    if not isinstance(reports, ReportEvidence) or problem.evidence.parts:
        return False
    if not isinstance(model, TableModel) or not (model.weights == 1.0).all():
        return False
    matrix = reports.matrix
    whole = matrix.shape[0] == matrix.shape[1] and np.allclose(matrix.sum(0), 1.0, rtol=0, atol=1e-9)
    return whole and bool(np.linalg.cond(matrix) < 1e8)


@partial(jax.jit, static_argnums=3)
def _draw(key: Array, counts: Array, inverse: Array, batch: int) -> Array:
    drawn = jax.random.loggamma(key, counts, (batch, counts.shape[0]))
    return jax.nn.softmax(drawn, axis=-1) @ inverse.T


def independent(problem: SamplingProblem, key: Array, size: int) -> Theta | None:
    """``size`` draws; None where hardly any is kept, so that another sampler is the better one."""
    model, reports = problem.model, problem.evidence.reports
    if not isinstance(reports, ReportEvidence) or not isinstance(model, FiniteModel) or not can_be_independent(problem):
        raise InvalidRequest(
            "the sampler 'independent' needs reports of single people, a matrix that can be inverted and a uniform prior "
            "(every alpha 1); use 'whole_table'"
        )
    inverse, counts = jnp.asarray(np.linalg.inv(reports.matrix)), jnp.asarray(reports.counts + 1.0)
    batch = max(_BATCH, size + size // 8)
    kept: list[npt.NDArray[np.float64]] = []
    found = 0
    for number in range(_MOST_BATCHES):
        drawn = np.asarray(_draw(jax.random.fold_in(key, number), counts, inverse, batch))
        good = drawn[(drawn >= 0).all(axis=1)]
        kept.append(good)
        found += len(good)
        if found >= size:
            theta = np.concatenate(kept)[:size]
            return {"theta": theta[:, 1] if model.name == "beta_bernoulli" else theta.reshape(size, *model.sizes)}  # type: ignore[attr-defined]
        if found < (number + 1) * batch / 100:
            return None
    return None
