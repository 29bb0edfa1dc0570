"""Paths that an Agent's command lines name: what a program runs belongs to its closure.

Only whole words are followed (`process_roots`). What else may be a path, in a line for a shell or
behind an option, is looked at so that people can be told (`literals`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from gateval.domain.manifests.agent import RuntimeSpec
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.links import walk_links
from gateval.domain.repository.paths import resolve_path
from gateval.domain.repository.tree import under

_NO_FILE_FOLLOWS = frozenset({"-m", "-c", "-e", "--eval", "-p"})
_SCRIPT = re.compile(r"\.(?:py|js|mjs|cjs|ts|mts|tsx|sh|rb|pl|php|lua)$")

_ENV = re.compile(r"(?:/.*/)?env")
_SPLITS = re.compile(r"-[0iv]*S|--split-string")
_SPLIT = re.compile(r"-[0iv]*S(?=.)|--split-string=")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


def process_roots(runtime: RuntimeSpec, cwd: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the working directory and the paths named in command lines, each with why."""
    yield cwd, "cwd"
    for key, words in runtime.own_commands():
        for word in words:
            for path in named(cwd, word, snapshot):
                yield path, f"{key} {word}"


def program_index(words: Sequence[str]) -> int | None:
    """Return which word of a command line names a program (`program_named`), None if none does."""
    found = program_named(words)
    return found[0] if found else None


def program_named(words: Sequence[str]) -> tuple[int, str] | None:
    """Return the program of a command line that a repository holds, and which word names it.

    It is the first with the ending of a script, unless it comes behind `-m` or `-c`; or the first
    word of all, if it is a path. `env -S` has it in a line of its own, with what stands behind.
    """
    for index, word in enumerate(words):
        if index == 0 and _ENV.fullmatch(word):
            continue
        line = _split_by_env(words, index)
        if line is not None:
            inner = program_named([*line, *words[index + 1 :]])
            return inner and (index + max(0, inner[0] - len(line) + 1), inner[1])
        if word in _NO_FILE_FOLLOWS or "{" in word or word.startswith("/"):
            return None
        if (index == 0 and "/" in word) or (_SCRIPT.search(word) and not word.startswith("-")):
            return index, word
    return None


def _split_by_env(words: Sequence[str], index: int) -> list[str] | None:
    """Return the words that `env` makes of one word, from the program on; None if it makes none."""
    if not _ENV.fullmatch(words[0]):
        return None
    attached = _SPLIT.match(words[index])
    if attached is None and not _SPLITS.fullmatch(words[index - 1]):
        return None
    try:
        line = shlex.split(words[index][attached.end() if attached else 0 :])
    except ValueError:
        return []
    while line and _VARIABLE.match(line[0]):
        del line[0]
    return line


def named(cwd: str, word: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield the paths that a word of a command line may name, also behind `--option=`.

    No folder around the working directory: that is where a program runs, not what it runs.
    """
    for text in (word, word.partition("=")[2]):
        path = resolve_path(cwd, text) if text else None
        if not path or under(cwd, {path}):
            continue
        yield path
        _, end = walk_links(path, snapshot.links)
        passed, real = walk_links(f"{cwd}/{text}", snapshot.links)
        if real and real != end and real in snapshot.tree:  # `..` behind a link
            yield from passed
            yield real


_RUN = re.compile(r"[^\s'\"`;|&<>()=:,@#!\\]+")
_EXTRAS = re.compile(r"(?<=[^/])\[[\w,.-]*\]$")
"""What stands behind a folder that pip installs: `../lib[dev]`."""

_APART = re.compile(r"[=:;,@]")
_LEAD = re.compile(r"-{1,2}(?:[A-Za-z][\w-]*?(?=[./])|[A-Za-z](?=.))")
"""What stands before a path in one word with an option: `-r../x`, `--require../x`, `-Clib/x`."""

_HERE = re.compile(r"\$\(pwd\)|`pwd`|\$\{PWD\}|\$PWD\b")
_CHANGED = re.compile(r"(?:^|[\s;&|(])(?:cd|pushd)\s+[\"']?([^\s;&|)\"']+)")
_NO_LITERAL = re.compile(r"[{}$*?\0\n]|^[/~]")
_WORDS_IN_WORDS = 3
_LONGEST = 4096
"""Characters of a path that Linux opens (PATH_MAX)."""


def literals(text: str) -> Iterator[str]:
    """Yield what in a text of a command line may be a path relative to where it runs, each once.

    The text is a word, the value of a variable or a line for a shell. No paths are those from the
    machine's root, names without a slash or a dot, and what is known only when it runs.
    """
    found = (part for word in _words(_HERE.sub(".", text), 0) for part in _parts(word))
    yield from dict.fromkeys(filter(_may_be_path, found))


def changed_folders(line: str) -> Iterator[str]:
    """Yield the folders to which a line for a shell changes, as it names them."""
    found = _CHANGED.findall(_HERE.sub(".", line))
    yield from dict.fromkeys(filter(_may_be_path, found))


def _may_be_path(part: str) -> bool:
    return "." in part.replace("/", ".") and len(part) <= _LONGEST and not _NO_LITERAL.search(part)


def _words(text: str, depth: int) -> Iterator[str]:
    """Yield a text and the words in it, as a shell has them, and those of quoted words in turn."""
    yield text
    if depth == _WORDS_IN_WORDS or not re.search(r"\s", text.strip()):
        return
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    for word in words:
        if word != text:
            yield from _words(word, depth + 1)


def _parts(word: str) -> Iterator[str]:
    for part in (word, *_APART.split(word), *_RUN.findall(word)):
        yield part
        if "[" in part or "]" in part:
            yield _EXTRAS.sub("", part).removeprefix("[").removesuffix("]")
        if lead := _LEAD.match(part):
            yield part[lead.end() :]
