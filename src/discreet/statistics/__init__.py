"""Private statistics, one per file; the manifest names each, and it is loaded when it is first asked for."""
