"""How the environments of this repository are made: locks, and what installs from them."""
