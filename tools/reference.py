"""Writes the generated reference pages, or checks that they are up to date.

`python -m tools.reference --write` (also `make docs`); without `--write` it names what differs and
exits with 1. A test runs the check.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from gateval.app.authoring import ALL_KINDS, schema_text
from tools import (
    action_copy,
    action_page,
    assertions_page,
    attacks_page,
    cli_page,
    compat_page,
    house_image,
    keys_page,
    presets_page,
    reasons_page,
    setups_page,
    strictness_page,
)

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield every generated file with what it should hold."""
    for kind in ALL_KINDS:
        yield REFERENCE / "schema" / f"{kind}.schema.json", schema_text(kind)
    yield from ((REFERENCE / name, text) for name, text in assertions_page.pages())
    yield REFERENCE / "action-inputs.md", action_page.page()
    yield REFERENCE / "attacks.md", attacks_page.page()
    yield REFERENCE / "keys.md", keys_page.page()
    yield REFERENCE / "cli.md", cli_page.page()
    yield REFERENCE.parent / "house.svg", house_image.image()
    yield REFERENCE / "setups.md", setups_page.page()
    yield REFERENCE / "reasons.md", reasons_page.page()
    yield REFERENCE / "presets.md", presets_page.page()
    yield REFERENCE / "strictness.md", strictness_page.page()
    for name in compat_page.documents():
        yield REFERENCE / "compat" / f"{name}.md", compat_page.page(name)
    yield from ((copy.path, action_copy.page(copy)) for copy in action_copy.COPIES)


def stale() -> list[Path]:
    """Return the files that are missing, differ, or have no source any more."""
    wanted = dict(pages())
    made = ("schema/*.json", "compat/*.md", "assertions/*.md")
    present = {path for pattern in made for path in REFERENCE.glob(pattern)}
    differs = [path for path, text in wanted.items() if not _holds(path, text)]
    return sorted({*differs, *(present - wanted.keys())})


def _holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def write() -> None:
    """Bring every generated file up to date."""
    for path in stale():
        path.unlink(missing_ok=True)
    for path, text in pages():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main() -> int:
    """Write or check; return the exit code."""
    if "--write" in sys.argv[1:]:
        write()
        return 0
    outdated = stale()
    for path in outdated:
        print(f"{path.relative_to(REFERENCE.parent.parent)} is not up to date: run `make docs`.")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
