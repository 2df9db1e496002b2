"""The ways to make an anonymous copy, by the name that a job file or a vault calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from discreet.core.labels import closest
from discreet.errors import InvalidRequest, UnknownName
from discreet.protect.anonymous import anonymize
from discreet.protect.local_recoding import RecodingOptions, microaggregate, mondrian

METHODS: dict[str, Callable[..., Any]] = {
    "full_domain": anonymize,
    "mondrian": mondrian,
    "microaggregation": microaggregate,
}


def method_named(name: str, options: Mapping[str, Any]) -> Callable[..., Any]:
    """The function that makes copies by a method; refuses options that it does not take."""
    if name not in METHODS:
        raise UnknownName(f"no method is called {name!r}{closest(str(name), METHODS)}")
    made = METHODS[name]
    known = {*signature(made).parameters, *RecodingOptions.__annotations__} - {"options", "rules"}
    if strange := [option for option in options if option not in known]:
        raise InvalidRequest(
            f"{strange[0]} is no option of the method {name!r}; leave it out, or use the method full_domain"
        )
    return made
