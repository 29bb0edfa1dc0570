"""`python -m gateval` and the `gateval` command."""

from __future__ import annotations

import contextlib
import gc
import os
import sys


def main() -> None:
    """Run the command line and exit with its code.

    Everything that has to be put away is put away when a command returns, so the process ends
    there, without the interpreter taking itself apart object by object.

    Few of a run's objects are garbage in cycles, and there are many of them: looking for cycles at
    Python's usual pace takes a seventh of `gateval plan` on a large repository.
    """
    gc.set_threshold(100_000, 20, 50)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # nothing installed beside us joins in
    from gateval.cli.main import run

    code = run(sys.argv[1:])
    with contextlib.suppress(OSError):  # nobody reads on
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
