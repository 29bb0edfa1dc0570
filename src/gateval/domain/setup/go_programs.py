"""Programs of Go: which files are some, and what builds them. Pure."""

from __future__ import annotations

import re
from collections.abc import Container
from posixpath import dirname, join, relpath

from gateval.domain.setup.program import BUILT, SetUp

_PACKAGE, _MAIN = re.compile(r"^package main\b", re.M), re.compile(r"^func main\(\)", re.M)


def is_go_entry(text: str) -> bool:
    """Whether a file holds the `main` of a program."""
    return bool(_PACKAGE.search(text) and _MAIN.search(text))


def go_set_up(path: str, root: str, files: Container[str]) -> SetUp:
    """Return what builds the program whose `main` is in the file `path`, in the module `root`."""
    folder = relpath(dirname(path) or ".", root or ".")
    package = "." if folder == "." else f"./{folder}"
    sums = ("go.sum",) if join(root, "go.sum") in files else ()
    inputs = ("**/go.mod", *sums, "**/*.go")  # a module may stand in for another, in a folder
    return SetUp(("go", "build", "-o", BUILT, package), inputs, (dirname(BUILT),))
