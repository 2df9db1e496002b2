"""The ledger: append-only events in a database that pay for everything, and cannot be overspent."""

from discreet.ledger.events import Event
from discreet.ledger.ledger import Ledger, Preview

__all__ = ["Event", "Ledger", "Preview"]
