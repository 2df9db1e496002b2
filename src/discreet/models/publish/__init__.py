"""Published models: the document of a fitted one, and what predicts from it."""
