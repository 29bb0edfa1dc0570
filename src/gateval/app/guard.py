"""The one place where errors become text and exit codes.

Remembers that somebody pressed Ctrl-C, for when the exception it raises gets lost.

Python raises `KeyboardInterrupt` wherever it happens to be. Inside a callback of compiled code, a
validator for instance, it is printed as ignored and gone, and a run that nobody wants would begin.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from textwrap import wrap
from types import FrameType

from gateval.errors import EXIT_INTERRUPTED, EXIT_NOT_EVALUATED, GatevalError

LINE_LIMIT = 2_000
"""Characters of one line on stderr."""

ISSUES = "https://github.com/gateval/gateval/issues"


def guarded(action: Callable[[], int]) -> int:
    """Run `action` and return its exit code, or that of the error it raised, told on stderr."""
    try:
        return action()
    except GatevalError as error:
        tell(error)
        return error.exit_code
    except KeyboardInterrupt:
        print("gateval: interrupted.", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_NOT_EVALUATED
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback for users
        inner: BaseException = error
        while isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
        if isinstance(inner, GatevalError):
            tell(inner)
            return inner.exit_code
        from gateval.safe.sanitize import plain_line

        if isinstance(inner, OSError):
            what = f"{inner.strerror or inner}: {inner.filename or ''}"
            print(f"gateval: {plain_line(what, LINE_LIMIT)}", file=sys.stderr)
            return EXIT_NOT_EVALUATED
        sealed = os.environ.get("GATEVAL_IDENTITY")  # the words may be of what is sealed
        said = type(inner).__name__ if sealed else f"{type(inner).__name__}: {inner}"
        what = plain_line(said, LINE_LIMIT)
        print(
            f"gateval: this is a fault in Gateval itself ({what}).\n"
            f"  Nothing was decided. Please report it at {ISSUES};\n"
            "  GATEVAL_TRACEBACK=1 shows where it happened.",
            file=sys.stderr,
        )
        if os.environ.get("GATEVAL_TRACEBACK"):
            traceback.print_tb(inner.__traceback__) if sealed else traceback.print_exception(error)
        return EXIT_NOT_EVALUATED


def tell(error: GatevalError) -> None:
    """Print what is wrong and what to do next."""
    from gateval.domain.problems import InvalidManifests
    from gateval.safe.sanitize import plain_line

    if isinstance(error, InvalidManifests):
        for problem in error.problems:
            print("\n".join(_wrapped(plain_line(str(problem), LINE_LIMIT), "  ")), file=sys.stderr)
    message = f"gateval: {plain_line(error.message, LINE_LIMIT)}"
    print("\n".join(_wrapped(message, "  ")), file=sys.stderr)
    if error.hint:
        hint = plain_line(error.hint, LINE_LIMIT)
        print("\n".join(_wrapped(f"  {hint}", "  ")), file=sys.stderr)


def _wrapped(text: str, indent: str) -> list[str]:
    """Return a text as lines for a terminal, wrapped at words; elsewhere a line stays whole."""
    if not sys.stderr.isatty():
        return [text]
    from gateval.adapters.machine import screen_of  # brings pydantic, which help does without

    width = screen_of(sys.stderr, os.environ).width
    return wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which somebody asks a run to end."""

_heard: list[int] = []


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """Put handlers back that an event loop replaces: it leaves SIGTERM to kill the process."""
    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # not set by Python
                signal.signal(number, handler)


def end_in_order() -> None:
    """Let no further signal keep a run that was cancelled from writing down what was finished.

    A runner sends SIGINT, then SIGTERM; what hangs can be killed.
    """
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def listen_for_interrupts() -> None:
    """Take note of SIGINT from now on, and raise as Python does; an ignored one stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def interrupted() -> bool:
    """Whether a SIGINT came since."""
    return bool(_heard)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _heard.append(number)
    raise KeyboardInterrupt
