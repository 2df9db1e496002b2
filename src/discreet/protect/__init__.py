"""Protecting a table while it is kept: pseudonyms, k-anonymous copies, and answers to a person's requests.

Nothing in here adds noise, pays a budget or claims an epsilon. Names are loaded when they are first used, so that the
import stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.protect import report as report
    from discreet.protect.anonymous import Anonymized as Anonymized
    from discreet.protect.anonymous import anonymize as anonymize
    from discreet.protect.hierarchies import Hierarchy as Hierarchy
    from discreet.protect.keys import CallableKeys as CallableKeys
    from discreet.protect.keys import EnvironmentKeys as EnvironmentKeys
    from discreet.protect.keys import FileKeys as FileKeys
    from discreet.protect.names import Field as Field
    from discreet.protect.pseudonyms import Pseudonymizer as Pseudonymizer
    from discreet.protect.receipts import Receipt as Receipt
    from discreet.protect.risk import Check as Check
    from discreet.protect.risk import check as check
    from discreet.protect.upgrading import Upgraded as Upgraded
    from discreet.protect.upgrading import upgrade as upgrade
    from discreet.protect.vault import Vault as Vault

_HOMES = {
    "Anonymized": "anonymous",
    "CallableKeys": "keys",
    "Check": "risk",
    "EnvironmentKeys": "keys",
    "Field": "names",
    "FileKeys": "keys",
    "Hierarchy": "hierarchies",
    "Pseudonymizer": "pseudonyms",
    "Receipt": "receipts",
    "Upgraded": "upgrading",
    "Vault": "vault",
    "anonymize": "anonymous",
    "check": "risk",
    "upgrade": "upgrading",
}

_MODULES = ("report",)

__all__ = [*_HOMES, *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"discreet.protect.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.protect' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"discreet.protect.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
