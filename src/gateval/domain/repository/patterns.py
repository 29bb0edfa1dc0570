"""Path patterns of `watch:` and `manifests:`, matched in linear time, hostile ones too.

`*` and `?` stay within one folder, `**` spans folders, and a pattern that names a folder means
everything in it. There are no character classes and no negation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


def has_wildcard(pattern: str) -> bool:
    """Whether a pattern means more than one path and what is below it."""
    return "*" in pattern or "?" in pattern


def match_any(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a path matches one of the patterns.

    Patterns and paths are relative to the same folder; both use `/`.
    """
    import re2

    joined = "|".join(_translate(pattern) for pattern in patterns)
    if not joined:
        return lambda _path: False
    compiled = re2.compile(joined)
    return lambda path: compiled.fullmatch(path.encode("utf-8", "replace").decode()) is not None


def _translate(pattern: str) -> str:
    """Return the RE2 source of one pattern."""
    import re2

    parts = [part for part in pattern.strip("/").split("/") if part not in {"", "."}]
    source = ""
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        if part == "**":
            source += "(?s:.*)" if last else "(?:(?s:.*)/)?"
        else:
            pieces = (
                {"*": "[^/]*", "?": "[^/]"}.get(character, re2.escape(character))
                for character in part
            )
            source += "".join(pieces) + ("(?:/(?s:.*))?" if last else "/")
    return f"(?:{source or '(?s:.*)'})"
