"""Paths inside the repository, patterns of them, and places in its files.

`*` and `?` stay within one folder, `**` spans folders, and a pattern that names a folder means
everything in it. There are no character classes and no negation.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import lru_cache


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


def nearest(word: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """Return ` Did you mean "x"?` for the known word most like `word`, or the empty string.

    `likeness` is the least ratio of difflib (0 to 1) that counts as like.
    """
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=likeness)
    return f' Did you mean "{close[0]}"?' if close else ""
