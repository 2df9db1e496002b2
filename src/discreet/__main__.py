"""``python -m discreet`` is the command ``discreet``, by the Python that is named."""

from __future__ import annotations

import sys

from discreet.cli import main

if __name__ == "__main__":
    sys.exit(main())
