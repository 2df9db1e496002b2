"""Private models in the habit of scikit-learn, with confidence intervals."""
