"""Who called ``fit``: searches that fit again and again, and pipelines that were fitted to the rows before.

Both are found by who calls, as scikit-learn's clones carry no memory. A session calls no ``fit``.
"""

from __future__ import annotations

import inspect
import warnings
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

from discreet.errors import DiscreetWarning, InvalidRequest

REPEATED = ("sklearn.model_selection._validation", "sklearn.model_selection._search")
_PIPELINE = "sklearn.pipeline"
# The pool of the search that was warned of last: scikit-learn makes one for each search.
_warned: weakref.ref[Any] | None = None


class RepeatedFits(DiscreetWarning):
    """Every fit inside a cross-validation or a search spends by itself, and its scores are releases that nobody paid for."""


class FittedBefore(DiscreetWarning):
    """A step before the model was fitted to the same rows, without privacy."""


def look_at_callers(model: Any) -> None:
    """Warn of what surrounds a fit to arrays, before it spends; refuse a search that could only end in a refused score."""
    frames = list(_frames())
    search = [f for f in frames if f.f_globals.get("__name__") in REPEATED]
    if search:
        _refuse_to_be_scored(model, search)
        _warn_of_search(search)
    for frame in frames:
        if frame.f_globals.get("__name__") == _PIPELINE and frame.f_code.co_name == "fit":
            _warn_of_steps(frame.f_locals.get("self"))


def _frames() -> Iterator[FrameType]:
    frame = inspect.currentframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def _refuse_to_be_scored(model: Any, search: list[FrameType]) -> None:
    """A search without ``scoring=`` asks ``score``, which is refused: after all the fits were paid for."""
    own = type(model).score.__module__.startswith("discreet.")
    plain = any(type(f.f_locals.get("scorer")).__name__ == "_PassthroughScorer" for f in search)
    if own and plain:
        raise InvalidRequest(
            "a search asks score() of every fit, and score is refused on private rows; nothing was spent. Use "
            "discreet.models.tune, which pays for its choice, or scoring='accuracy' where the rows it judges are public"
        )


def _warn_of_search(search: list[FrameType]) -> None:
    global _warned
    pools = [f.f_locals["parallel"] for f in search if "parallel" in f.f_locals]
    if pools:
        if _warned is not None and _warned() is pools[-1]:
            return
        _warned = weakref.ref(pools[-1])
    warnings.warn(
        "each fit inside a cross-validation or a search spends its whole price again, and scores, best_params_ and "
        "best_estimator_ are releases of the rows they were judged on that nobody paid for: they are private only if those "
        "rows are public; use discreet.models.tune, which pays for its choice",
        RepeatedFits,
        stacklevel=4,
    )


def _warn_of_steps(pipeline: Any) -> None:
    from sklearn.utils import get_tags

    steps = [step for _, step in getattr(pipeline, "steps", [])[:-1] if step is not None and step != "passthrough"]
    learned = [type(step).__name__ for step in steps if get_tags(step).requires_fit]
    if learned:
        warnings.warn(
            f"{', '.join(learned)} was fitted to the same rows before this model, without privacy: the guarantee does not "
            "cover what such a step learned. Give public bounds, which scale the columns, or a FunctionTransformer with "
            "public constants",
            FittedBefore,
            stacklevel=4,
        )
