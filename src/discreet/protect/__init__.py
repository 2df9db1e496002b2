"""Protecting a table while it is kept: pseudonyms, k-anonymous copies, and answers to a person's requests.

Nothing in here adds noise, pays a budget or claims an epsilon. Names are loaded when they are first used, so that the
import stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import lazy

if TYPE_CHECKING:
    from discreet.protect import report as report
    from discreet.protect.analyses import Utility as Utility
    from discreet.protect.analyses import utility as utility
    from discreet.protect.anonymous import Anonymized as Anonymized
    from discreet.protect.anonymous import anonymize as anonymize
    from discreet.protect.date_shift import shift_dates as shift_dates
    from discreet.protect.hierarchies import Hierarchy as Hierarchy
    from discreet.protect.identifiers import Field as Field
    from discreet.protect.keys import CallableKeys as CallableKeys
    from discreet.protect.keys import EnvironmentKeys as EnvironmentKeys
    from discreet.protect.keys import FileKeys as FileKeys
    from discreet.protect.local_recoding import LocalCopy as LocalCopy
    from discreet.protect.local_recoding import microaggregate as microaggregate
    from discreet.protect.local_recoding import mondrian as mondrian
    from discreet.protect.pseudonyms import Pseudonymizer as Pseudonymizer
    from discreet.protect.receipts import Receipt as Receipt
    from discreet.protect.risk import Check as Check
    from discreet.protect.risk import check as check
    from discreet.protect.same_format import SameFormat as SameFormat
    from discreet.protect.scanning import Scan as Scan
    from discreet.protect.scanning import scan as scan
    from discreet.protect.stored_table import Delimited as Delimited
    from discreet.protect.trade_off import together as together
    from discreet.protect.upgrading import Upgraded as Upgraded
    from discreet.protect.upgrading import upgrade as upgrade
    from discreet.protect.vault import Vault as Vault

__getattr__, __dir__, __all__ = lazy("discreet.protect")
