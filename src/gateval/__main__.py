"""`python -P -m gateval` and the `gateval` command."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:  # before anything else is imported
    sys.stderr.write(
        "gateval: `python -m gateval` takes modules from the folder that it is started in, where a "
        "pull request can put its own.\n  Next: start `gateval`, or `python -P -m gateval`.\n"
    )
    sys.exit(2)

import contextlib
import gc
import os
from io import TextIOWrapper
from typing import cast


def main() -> None:
    """Run the command line and exit with its code.

    Everything that has to be put away is put away when a command returns, so the process ends
    there, without the interpreter taking itself apart object by object.

    Few of a run's objects are garbage in cycles, and there are many of them: looking for cycles at
    Python's usual pace takes a seventh of `gateval plan` on a large repository.
    """
    read_names_as_utf8()
    gc.set_threshold(250_000, 20, 50)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # nothing installed beside us joins in
    prepare_streams()
    try:
        from gateval.app.guard import listen_for_interrupts
        from gateval.cli.main import run

        listen_for_interrupts()

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while Python still imports
        code = 130
    os._exit(flushed(code))


def read_names_as_utf8() -> None:
    """Start this process again in UTF-8 mode where the locale has another encoding.

    Names of files are bytes to git. Read in another encoding they would be shown wrongly, and the
    supervisor of candidates, which has no locale, would look for others.
    """
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        again = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
        os.execv(sys.executable, again)  # noqa: S606 - ourselves, with the arguments we were given


def prepare_streams() -> None:
    """Give every stream a file and UTF-8: what is printed is what is stored, in any locale."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest free number, this one
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w"))
        stream = cast("TextIOWrapper", getattr(sys, name))
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def flushed(code: int) -> int:
    """Write out what is left and return the exit code: no success if it did not get through.

    Nobody reading on, as behind `| head`, is no failure.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        code = code or 3
        with contextlib.suppress(OSError):
            sys.stderr.write(f"gateval: the output could not be written: {error.strerror}.\n")
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    return code


if __name__ == "__main__":
    main()
