"""`python -m gateval` and the `gateval` command."""

from __future__ import annotations

import gc
import sys

from gateval.cli.main import run


def main() -> None:
    """Run the command line and exit with its code.

    Few of a run's objects are garbage in cycles, and there are many of them: looking for cycles at
    Python's usual pace takes a seventh of `gateval plan` on a large repository.
    """
    gc.set_threshold(100_000, 20, 50)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
