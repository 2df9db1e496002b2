"""Posteriors from what was released: the law of the noise is part of the model."""
