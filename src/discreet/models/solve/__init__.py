"""Minimising an objective, with a certificate of how close the minimiser is."""
