"""Where a classifier of two classes draws the line: at a score of 0, or at a threshold that was paid for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

from discreet.errors import InvalidRequest
from discreet.models.evaluate.roc import Threshold


class Thresholded:
    """A classifier whose threshold can be moved after the fit; what the threshold cost becomes part of what the model cost.

    Proof: a threshold read off a release is post-processing of it, so model and release together cost the sum of both.
    """

    threshold_: float
    classes_: Any
    privacy_: Any

    def decide_at(self, threshold: Threshold | float) -> Self:
        """Put rows with a score above ``threshold`` into the second class.

        It is a public number, or ``roc.best()`` of a paid curve. ``publish`` carries it. Returns the model itself.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise InvalidRequest(f"a threshold is for two classes, got {len(self.classes_)}")
        score = threshold.score if isinstance(threshold, Threshold) else threshold
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise InvalidRequest(f"a threshold is a finite score, or what best() of a ROC curve returns, got {threshold!r}")
        if isinstance(threshold, Threshold):
            own = self.privacy_
            self.privacy_ = replace(
                own,
                cost=own.cost + threshold.cost,
                releases=(*own.releases, threshold.release),
                private=own.private and threshold.release.private,
            )
        self.threshold_ = float(score)
        return self
