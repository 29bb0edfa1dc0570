"""Paths inside the repository: as manifests write them, and as people are shown them."""

from __future__ import annotations


def resolve_path(folder: str, relative: str) -> str | None:
    """Return the path that `relative` means in a manifest of `folder`, or None if it leads out.

    All paths are relative to the repository root, without slashes at the ends; "" is the root.
    `relative` counts from `folder`, or from the root if it begins with `/`. It may hold `..`, but
    never climb above the root.
    """
    parts = [] if relative.startswith("/") else [part for part in folder.split("/") if part]
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def resolve_pattern(folder: str, written: str) -> str | None:
    """Return the path or pattern that a manifest of `folder` names, or None if it leads out.

    `FOLDER/**` means the folder, and `/**` the whole repository.
    """
    return resolve_path(folder, "/" if written == "/**" else written.removesuffix("/**"))


def leads_out(link: str, target: str) -> bool:
    """Whether the symbolic link at the path `link` holds a target outside the repository."""
    return target.startswith("/") or resolve_path(link.rpartition("/")[0], target) is None


def show_path(path: str) -> str:
    """Return a repository path as git shows it: plain if harmless, else C-quoted.

    `path` may hold undecodable bytes as lone surrogates (`os.fsdecode`); the answer never does.
    """
    raw = path.encode("utf-8", "surrogateescape")
    special = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
    if path.isprintable() and not any(chr(code) in path for code in special):
        return path
    shown = "".join(
        special.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in raw
    )
    return f'"{shown}"'


_BYTES = "//"
"""Begins the text of a path that is no UTF-8. No path from the root begins with a slash."""


def path_text(path: str) -> str:
    """Return a repository path as text that JSON can hold; `path_of_text` gives it back."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return _BYTES + path.encode("utf-8", "surrogateescape").hex()
    return path


def path_of_text(text: str) -> str:
    """Return the path of which `path_text` made this text. Raises `ValueError` for other text."""
    if not text.startswith(_BYTES):
        return text
    return bytes.fromhex(text.removeprefix(_BYTES)).decode("utf-8", "surrogateescape")
