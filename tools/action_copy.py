"""The action built from source: `action.yml` again, with the Dockerfile in place of the image."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ACTION = ROOT / "action.yml"
COPY = ROOT / ".github/actions/from-source/action.yml"
IMAGE = re.compile(r"^(  image: )docker://\S+$", re.MULTILINE)

HEADER = "# Generated from action.yml by `make docs`: the same action, built from this revision.\n"
# A runner builds with the Dockerfile's own folder as context.
BUILT = "../../../Dockerfile # zizmor: ignore[unpinned-images]"


def page() -> str:
    """Return the text of the copy. Raises `ValueError` if `action.yml` names no image."""
    text, replaced = IMAGE.subn(rf"\g<1>{BUILT}", ACTION.read_text(encoding="utf-8"))
    if replaced != 1:
        raise ValueError("action.yml: one line `  image: docker://...` is expected.")
    return HEADER + text.replace("name: Gateval\n", "name: Gateval (from source)\n", 1)
