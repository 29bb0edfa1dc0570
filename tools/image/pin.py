"""Writes a released image into `action.yml` and into the samples: `python -m tools.image.pin vX D`.

`vX` is the tag, `D` the digest of the index that was pushed under it.
"""

from __future__ import annotations

import re
import sys

from tools import action_copy

TAG = re.compile(r"v\d+\.\d+\.\d+")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def pinned(text: str, tag: str, digest: str) -> str:
    """Return `action.yml` with its image named by tag and digest. Raises `ValueError`."""
    if not TAG.fullmatch(tag) or not DIGEST.fullmatch(digest):
        raise ValueError(
            f"A tag like v1.2.3 and a digest sha256:... are needed, not {tag} {digest}."
        )
    image = f"docker://ghcr.io/gateval/gateval:{tag}@{digest}"
    text, replaced = action_copy.IMAGE.subn(rf"\g<1>{image}", text)
    if replaced != 1:
        raise ValueError("action.yml: one line `  image: docker://...` is expected.")
    return text


def main(arguments: list[str]) -> int:
    """Write the file; 2 if the arguments are not a tag and a digest."""
    try:
        text = pinned(action_copy.ACTION.read_text(encoding="utf-8"), *arguments)
    except (TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    action_copy.ACTION.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
