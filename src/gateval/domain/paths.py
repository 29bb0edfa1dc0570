"""Paths inside the repository, as manifests write them."""

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
