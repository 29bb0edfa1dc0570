"""`action.yml` again, with the same inputs and outputs and another way to run.

One is built from source, one runs on the runner itself, one is a sample for an image of one's own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
ACTION = ROOT / "action.yml"
COPY = ROOT / ".github/actions/from-source/action.yml"
IMAGE = re.compile(r"^(  image: )docker://\S+$", re.MULTILINE)
_RUNS = re.compile(r"^runs:\n(?:  .*\n)+", re.MULTILINE)

GENERATED = "# Generated from action.yml by `make docs`: "

# A runner builds with the Dockerfile's own folder as context.
_BUILT = "../../../Dockerfile # zizmor: ignore[unpinned-images]"
_OWN = "docker://ghcr.io/owner/image:v1 # zizmor: ignore[unpinned-images]"
_NODE = """runs:
  using: node24
  main: main.js
  post: post.js
  post-if: always()
"""


class Copy(NamedTuple):
    """One copy: where it is, what its first lines and its name say, and `runs` or the image."""

    path: Path
    header: str
    name: str
    image: str = ""
    runs: str = ""


COPIES = (
    Copy(
        COPY,
        GENERATED + "the same action, built from this revision.\n",
        "Gateval (from source)",
        image=_BUILT,
    ),
    Copy(
        ROOT / "runner/action.yml",
        GENERATED + "the same action on the runner itself, without Docker.\n"
        "# docs/guides/runner.md says what holds candidates there.\n",
        "Gateval (on the runner)",
        runs=_NODE,
    ),
    Copy(
        ROOT / "examples/images/action.yml",
        "# The action with an image of your own, made from the gate's as in the folders beside\n"
        "# this. Put it into your repository as .github/actions/gateval/action.yml, name your\n"
        "# image in it, by digest, and use it: uses: ./.github/actions/gateval\n",
        "Gateval (image of our own)",
        image=_OWN,
    ),
)


def page(copy: Copy = COPIES[0]) -> str:
    """Return the text of a copy. Raises `ValueError` if `action.yml` is not as it is expected."""
    text = ACTION.read_text(encoding="utf-8")
    if copy.runs:
        text, replaced = _RUNS.subn(copy.runs, text)
    else:
        text, replaced = IMAGE.subn(rf"\g<1>{copy.image}", text)
    if replaced != 1:
        raise ValueError("action.yml: `runs` with one line `  image: docker://...` is expected.")
    return copy.header + text.replace("name: Gateval\n", f"name: {copy.name}\n", 1)
