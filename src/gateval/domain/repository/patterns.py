"""Path patterns of `watch:` and `manifests:`, matched in linear time, hostile ones too.

`*` and `?` stay within one folder, `**` spans folders, and a pattern that names a folder means
everything in it. There are no character classes and no negation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache


def has_wildcard(pattern: str) -> bool:
    """Whether a pattern means more than one path and what is below it."""
    return "*" in pattern or "?" in pattern


def folder_of(pattern: str) -> str:
    """Return the folder in which everything lies that a pattern can match; "" is the root."""
    steps = pattern.split("/")
    plain = next((at for at, step in enumerate(steps) if has_wildcard(step)), len(steps))
    return "/".join(steps[:plain])


def may_match_below(pattern: str, folder: str) -> bool:
    """Whether a pattern can match something in a folder, whatever is in it."""
    wanted, steps = pattern.split("/"), folder.split("/")
    for number, step in enumerate(steps):
        if number == len(wanted) or wanted[number] == "**":
            return True
        if not match_any([wanted[number]])(step):
            return False
    return True


def match_any(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a path matches one of the patterns.

    Patterns and paths are relative to the same folder; both use `/`.
    """
    return _matcher(tuple(patterns))


@lru_cache(maxsize=1024)
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Compiled once: an Agent's patterns are asked for at each look at its closure."""
    if not patterns:
        return lambda _path: False
    import re2

    compiled = re2.compile("|".join(_translate(pattern) for pattern in patterns))
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
