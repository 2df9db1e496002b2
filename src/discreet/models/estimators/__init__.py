"""Estimators in the habit of scikit-learn: one model a file, and what they share."""
