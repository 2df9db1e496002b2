"""The command ``discreet``: parse, call, render. One file for each group of commands.

Exit codes: 0 when it was done, 2 for anything the person who asked can put right (one line says what), 130 when
interrupted. Heavy imports happen inside the commands, so that help is instant.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

BAD_INPUT = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing but that code and what was printed comes out."""
    from discreet.cli.app import UsageProblem, app
    from discreet.errors import DiscreetError

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(given, prog_name="discreet", standalone_mode=False)
    except UsageProblem as problem:
        return _refuse(_one_line(problem.format_message()), "Usage", given)  # type: ignore[attr-defined]
    except DiscreetError as problem:
        return _refuse(_one_line(str(problem)), type(problem).__name__, given)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us went away; there is nobody to tell
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _refuse(message: str, kind: str, given: Sequence[str]) -> int:
    line = json.dumps({"error": message, "kind": kind}) if "--json" in given else f"discreet: {message}"
    sys.stderr.write(line + "\n")
    return BAD_INPUT
