"""What a vault is told in words: purposes, categories, recipients, how long, and the grounds of a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.errors import InvalidRequest

GROUNDS = {
    "legal obligation": "GDPR 17(3)(b): the law demands that the data be kept",
    "public interest": "GDPR 17(3)(b): a task in the public interest or official authority",
    "public health": "GDPR 17(3)(c): public interest in the area of public health",
    "expression": "GDPR 17(3)(a): freedom of expression and information",
    "archiving": "GDPR 17(3)(d): archiving, research or statistics that erasure would defeat",
    "legal claims": "GDPR 17(3)(e): establishing, exercising or defending legal claims",
}


def facts_of(purpose: str, categories: Sequence[str], recipients: Sequence[str], retention: str) -> dict[str, Any]:
    """What the record of processing says of a table or an activity."""
    return {
        "purpose": text(purpose, "purpose"),
        "categories": texts(categories, "categories"),
        "recipients": texts(recipients, "recipients") if recipients else [],
        "retention": text(retention, "retention"),
    }


def text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidRequest(f"{what} must be said in words, got {value!r}")
    return value


def texts(values: Any, what: str) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise InvalidRequest(f"{what} must be a list of words, got {values!r}; write ['...']")
    return [text(value, what) for value in values]
