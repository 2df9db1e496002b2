"""Heads kept elsewhere: a ledger that was set back has less than was seen of it, and pays for nothing.

Before an answer leaves, the desk appends a signed line to ``heads_file`` (on another disk, or another host): which ledger,
how many events, the hash of the last, and what counts against the budget. It starts only if each ledger still contains the
event of its newest line. So an old copy refunds nothing: it is closed until the custodian writes off what it may lack.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core.cost import Cost
from discreet.errors import DiscreetError, UnsupportedFormat
from discreet.ledger import Ledger
from discreet.ledger.events import canonical
from discreet.service.signing import Signer, verify_head


@dataclass(frozen=True)
class Heads:
    """The file; without one nothing is kept elsewhere."""

    path: Path | None
    signer: Signer

    def note(self, population: str, ledger: Ledger) -> str:
        """Append the head of a ledger, durably; the line."""
        fact = {
            "ledger": population,
            "number": ledger.count,
            "head": ledger.head,
            "time": round(time.time(), 3),
            "total": ledger.spent().to_dict(),
        }
        text = canonical(fact)
        line = canonical({"fact": text, "signature": self.signer.sign_head(text)})
        if self.path is not None:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
            try:
                os.write(handle, line.encode() + b"\n")
                os.fsync(handle)
            finally:
                os.close(handle)
        return line

    def newest(self) -> dict[str, dict[str, Any]]:
        """The newest fact about each ledger. A last line that was cut short by a crash was never relied on."""
        found: dict[str, dict[str, Any]] = {}
        if self.path is None or not self.path.exists():
            return found
        lines = self.path.read_text(encoding="utf-8").split("\n")
        for place, line in enumerate(lines):
            if not line:
                continue
            try:
                signed = json.loads(line)
                verify_head(self.signer.public, signed["fact"], signed["signature"])
                fact = json.loads(signed["fact"])
            except (ValueError, KeyError, TypeError, DiscreetError):
                if place == len(lines) - 1:
                    break
                raise UnsupportedFormat(
                    f"{self.path}, line {place + 1}: not a head that this desk signed; restore the file from a copy"
                ) from None
            found[fact["ledger"]] = fact
        return found


def is_behind(ledger: Ledger, seen: dict[str, Any] | None) -> bool:
    """Whether a ledger lacks the event of a head, or has another in its place."""
    if seen is None:
        return False
    if seen["number"] > ledger.count:
        return True
    if seen["number"] == 0:
        return False
    return bool(next(ledger.events(after=seen["number"] - 1)).hash != seen["head"])


def missing(total: Cost, seen: Cost) -> Cost:
    """The least cost that, added to a total, is no less than what was seen: for the books, not of any release."""

    def less(a: Fraction | None, b: Fraction | None) -> Fraction | None:
        return None if b is None or a is None else max(Fraction(0), b - a)

    curve = tuple(
        max(0.0, (b - a) * (1 + 2.0**-40)) if b < float("inf") else b for a, b in zip(total.curve, seen.curve, strict=True)
    )
    return Cost(
        less(total.epsilon, seen.epsilon),
        max(Fraction(0), seen.delta - total.delta),
        less(total.rho, seen.rho),
        max(Fraction(0), seen.slack - total.slack),
        curve,
    )
