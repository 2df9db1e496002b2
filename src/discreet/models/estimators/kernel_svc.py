"""A private support vector machine with a Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.schema import Categories
from discreet.errors import InvalidRequest
from discreet.mechanisms.objective_perturbation import ridge_for
from discreet.models.design import Design, Fourier
from discreet.models.estimators.keyed import Keyed
from discreet.models.estimators.perturbed_classifier import PerturbedClassifier
from discreet.models.losses import HuberHinge, Loss
from discreet.models.protocol import Columns
from discreet.models.queries.empirical_risk import Problem

_CONSTANT = 0.5  # for the intercept: a longer one would cost the features more of the norm than it is worth


@dataclass(kw_only=True, eq=False, repr=False)
class KernelSVC(Keyed, PerturbedClassifier):
    """A support vector machine with the kernel exp(-beta |x - x'|^2), by ``components`` random Fourier features.

    Features need no bounds: the cosines they end in have some of their own. With ``bounds`` (and through a session, where
    the schema has them) numbers are clipped and divided by the larger bound first, which puts columns on one scale;
    without, they enter as they are. ``beta`` is 1 / (number of columns) by default. The random features are drawn when
    the model is fitted, from ``key`` if that is given, and are public: ``key_`` says which. Rows are clipped to their usual
    norm, which is public, unless ``radius`` says to which; it may be up to sqrt(2) times that.

    Proof: the features are drawn without a look at the data, and a row of them has a norm of at most 1 (``Design``):
    what remains is a linear support vector machine.
    """

    components: int = 100
    beta: Number | None = None
    width: Number = 0.5

    @property
    def _loss(self) -> Loss:
        return HuberHinge(self.width)  # type: ignore[arg-type]

    def _asked_ridge(self, design: Design, relation: Relation) -> Fraction:
        """The ridge asked for, raised at noise in the objective to where the Jacobian takes a quarter of epsilon.

        As many coefficients as there are random features take up noise; less of it is worth more than a smaller ridge.
        """
        asked = super()._asked_ridge(design, relation)
        if self.method != "objective" or self.price.is_infinite:
            return asked
        bent = Problem(design, self._loss).distance(relation).problem
        assert bent is not None
        return max(asked, ridge_for(bent, self.price.pure_epsilon / 4))

    def _check_intervals(self) -> None:
        if self.intervals:
            raise InvalidRequest(
                "intervals are about coefficients of columns, and those of random features mean nothing by themselves; "
                "leave intervals out, or use a LinearSVC"
            )

    def _bounds(self, features: int) -> list[tuple[float, float]] | None:
        return None if self.bounds is None else super()._bounds(features)

    def _fourier(self, columns: Columns) -> Fourier:
        for word in ("components", "key"):
            given = getattr(self, word)
            if (given is not None or word == "components") and (isinstance(given, bool) or not isinstance(given, Integral)):
                raise InvalidRequest(f"{word} must be a whole number, got {given!r}")
        declared = [columns.schema[name] for name in columns.features]
        wide = sum(len(c.labels) if isinstance(c, Categories) else 1 for c in declared)
        beta = 1.0 / max(1, wide) if self.beta is None else float(numbers.positive(self.beta, "beta"))
        return Fourier(int(self.components), beta, self._drawn_key(), _CONSTANT)

    def _set_fitted(self, fitted: Any) -> None:
        super()._set_fitted(fitted)
        self.key_ = fitted.design.fourier.key
        self.beta_ = fitted.design.fourier.beta
