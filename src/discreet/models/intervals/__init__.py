"""Confidence intervals of private coefficients."""
