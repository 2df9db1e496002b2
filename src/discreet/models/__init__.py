"""Private models in the habit of scikit-learn, with confidence intervals. Names are loaded when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.models.logistic_regression import LogisticRegression as LogisticRegression
    from discreet.models.losses import own_loss as own_loss

_HOMES = {
    "LogisticRegression": "discreet.models.logistic_regression",
    "own_loss": "discreet.models.losses",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.models' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
