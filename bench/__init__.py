"""Measured comparisons with the peers of the field. ``make bench`` runs all of them; ``python -m bench noise`` one."""
