"""Writes a released image into `action.yml`: `python -m tools.image.pin vX D`.

`vX` is the tag, `D` the digest of the index that was pushed under it. With `--verify vX` nothing is
written: it fails unless `action.yml` names the image of that version, by a digest. A tag could be
moved to another image, and with it every workflow that pins the action's commit.
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


def verify(text: str, tag: str) -> None:
    """Raise `ValueError` unless `action.yml` names the image of this version by digest."""
    images = [found[0].strip() for found in action_copy.IMAGE.finditer(text)]
    wanted = rf"image: docker://ghcr\.io/gateval/gateval:{re.escape(tag)}@{DIGEST.pattern}"
    if not TAG.fullmatch(tag) or len(images) != 1 or not re.fullmatch(wanted, images[0]):
        raise ValueError(
            f"action.yml has to name the image of {tag} by its digest, and says: "
            f"{'; '.join(images) or 'nothing'}. Merge the release's pull request, and tag that."
        )


def main(arguments: list[str]) -> int:
    """Write the file, or verify it; 2 if it or the arguments are not as they have to be."""
    try:
        if arguments[:1] == ["--verify"]:
            verify(action_copy.ACTION.read_text(encoding="utf-8"), *arguments[1:])
            return 0
        text = pinned(action_copy.ACTION.read_text(encoding="utf-8"), *arguments)
    except (TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    action_copy.ACTION.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
