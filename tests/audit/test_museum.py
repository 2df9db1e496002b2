"""The museum: everything in it is refuted, and for the reason that it hangs there."""

from __future__ import annotations

import pytest

from discreet.audit import claims, museum, traps
from discreet.audit.broken import Exhibit, gaussian
from discreet.audit.traps import Trap

_SPOKEN = "errors, warnings and what is printed"
SEEN_IN = {
    "cell that raises": {_SPOKEN},
    "error that shows the first record": {_SPOKEN},
    "histogram that warns at zero": {_SPOKEN},
    "root that writes to standard error": {_SPOKEN},
    "job that exits with a code": {_SPOKEN},
    "noise that is always even": {"lowest bits", "place of the lowest bit"},
    "record returned now and then": {"values that come back", "place of the lowest bit"},
}


@pytest.mark.parametrize("exhibit", museum.EXHIBITS, ids=lambda e: e.name)
def test_the_museum_is_refuted(exhibit: Exhibit) -> None:
    """One audit each. The closest is the discrete Gaussian: 4.36 certified with deviation 0.05 over six runs, against 4."""
    found = exhibit.audit()
    assert found.refutes(exhibit.epsilon)
    assert found.view in SEEN_IN.get(exhibit.name, {found.view})
    assert len(exhibit.why) > 30


def test_traps_are_wrong_more_often_than_they_say() -> None:
    """One audit each at confidence 1 - 1e-6, the smallest level .068; the museum's page tells each level and why."""
    for trap in museum.TRAPS:
        row = claims.audit_trap(trap)
        assert row.holds, trap
        assert len(trap.why) > 30
        assert "of 100 tables" in row.note
    assert len(museum.TRAPS) >= 20


def test_a_right_test_is_no_trap() -> None:
    """Normal numbers with normal noise, rejected at exactly .05; 20,000 tables: certified above it with probability 1e-6."""
    right = Trap("right", "", lambda tables: traps.beyond(5 * gaussian(tables) + 7 * gaussian(tables), 25 + 49))
    assert right.audit(trials=20_000).certified < 0.05


def test_both_rooms_are_open() -> None:
    shown = {e.run.__module__ for e in museum.EXHIBITS}
    assert shown == {room.__name__ for room in museum.ROOMS}
    assert set(SEEN_IN) <= {e.name for e in museum.EXHIBITS}
