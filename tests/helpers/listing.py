"""What lies in a folder, as one value to compare."""

from __future__ import annotations

from pathlib import Path


def listing(folder: Path) -> dict[str, bytes | str]:
    """Path → content of files, target of links, for everything below a folder."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
    return found
