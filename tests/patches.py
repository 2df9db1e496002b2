"""Patches that no other thread of the process sees."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest


def only_here(patch: pytest.MonkeyPatch, shared: Any, name: str, does: Callable[..., Any]) -> None:
    """Replace a function of a module or a class that the whole process shares, for the calling thread alone.

    A server, a Java gateway or a ledger that another test left running calls ``time.sleep`` or ``os.fsync`` whenever it
    likes: it would find the replacement there, and the test would fail for what it did not do.
    """
    real, here = getattr(shared, name), threading.get_ident()

    def either(*args: Any, **options: Any) -> Any:
        return (does if threading.get_ident() == here else real)(*args, **options)

    patch.setattr(shared, name, either)
