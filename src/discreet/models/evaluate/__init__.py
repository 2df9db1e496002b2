"""How well a fitted model does on private rows: every number of it is paid for."""
