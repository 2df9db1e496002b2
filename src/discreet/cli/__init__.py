"""The command ``discreet``: parse, call, render. One file for each group of commands.

Exit codes: 0 when it was done, 2 for anything the person who asked can put right (one line says what), 130 when
interrupted. Jobs are loaded when they are first used, and other heavy imports happen inside the commands, so that help
is instant.
"""

from __future__ import annotations

import gc
import json
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

BAD_INPUT = 2
INTERRUPTED = 130
_YOUNG = 100_000  # objects made before Python looks for cycles


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing but that code and what was printed comes out."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:  # the process is ours: large libraries make many objects that stay, and none need be looked for
        gc.set_threshold(_YOUNG, 50, 1000)
    try:
        with _terminable():
            return _run(given)
    except KeyboardInterrupt:  # also while a command is being imported
        _refuse(f"interrupted; {_charged()}", "Interrupted", given)
        return INTERRUPTED
    finally:
        if arguments is None:
            gc.freeze()  # the process ends: nor need they be looked through once more


def _run(given: list[str]) -> int:
    import typer

    from discreet.cli.app import UsageProblem, command
    from discreet.core.whole_files import is_full
    from discreet.errors import DiscreetError

    try:
        code = command(given, prog_name="discreet", standalone_mode=False)
    except UsageProblem as problem:
        return _refuse(_one_line(problem.format_message()), "Usage", given)  # type: ignore[attr-defined]
    except DiscreetError as problem:
        words = "; ".join([str(problem), *getattr(problem, "__notes__", ())])
        return _refuse(_one_line(words), type(problem).__name__, given)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us went away; there is nobody to tell
        return 0
    except typer.Abort:
        raise KeyboardInterrupt from None
    except OSError as problem:
        told = f"{problem.strerror or problem}{'' if problem.filename is None else f': {problem.filename}'}"
        room = "make room; " if is_full(problem) else ""
        return _refuse(_one_line(f"{told}; {room}{_charged()}"), "OSError", given)
    if code == INTERRUPTED:  # some versions of Typer answer with the code, others raise
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does, with a line that says what was charged."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _charged() -> str:
    """What this process charged; nothing, where it never came to a ledger."""
    tally = sys.modules.get("discreet.ledger.process_tally")
    return "nothing was charged" if tally is None else str(tally.in_words())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _refuse(message: str, kind: str, given: Sequence[str]) -> int:
    line = json.dumps({"error": message, "kind": kind}) if "--json" in given else f"discreet: {message}"
    sys.stderr.write(line + "\n")
    return BAD_INPUT
