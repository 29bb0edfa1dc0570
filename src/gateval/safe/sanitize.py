"""The one sanitiser: what an agent, a judge, a provider or a pull request wrote, made harmless.

One function per sink. Each takes text as it came, hardens it, breaks triggers, and escapes it for
the place where it will stand; secrets are gone before (`redaction.py`). The order of steps follows
the safe-outputs pipeline of GitHub's agentic workflows; `docs/reference/publishing.md` has it with
its reasons, and which sink uses which function.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from gateval.domain.forge.stamp import BORDER, MARKER
from gateval.safe.hardening import harden
from gateval.safe.triggers import BREAK, defuse, defuse_log


class Safe(str):
    """Markdown that only the functions of this module make; templates take nothing else."""

    __slots__ = ()


_ENTITIES = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "|": "&#124;",
        "\\": "&#92;",
        "`": "&#96;",
        "*": "&#42;",
        "[": "&#91;",
        "]": "&#93;",
        "~": "&#126;",
        "$": "<span>$</span>",  # GitHub's own way to keep a dollar sign from opening a formula
    }
)
_LONE_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_EMOJI = re.compile(r":(?=(?!\d+:)[a-zA-Z0-9_+-]+:|100:|1234:)")
_BLOCK_START = re.compile(
    r"^(\d{0,9})(?:([.)#+-])(?=#*(?:\s|$))|([-=:])(?=[-=:\s]*$))"  # heading, list, underline
)

_IN_BACKTICKS = re.compile(r"(?<!&#96;)&#96;((?:(?!&#96;).)+)&#96;(?!&#96;)")


_SARIF_TRIGGER = re.compile(r"(\](?=\()|\{(?=\d))")

_PLAIN_URL = re.compile(r"https?://[A-Za-z0-9.:-]+/[A-Za-z0-9._/?=&-]+(?:#[a-z]+)?")

LONGEST_PATH = 300
"""Characters of a path that is linked to."""

_COMMIT = re.compile(r"<code>.*?</code>|(?<![\w-])([0-9a-f]{7,64})(?![\w-])")
"""From seven hexadecimal digits on, GitHub may find a commit."""


def inline(text: str, limit: int) -> Safe:
    """Return one line of GitHub markdown that shows `text`, for a sentence, list or table cell.

    At most `limit` characters are shown; white space is folded. What stands between two single
    backticks becomes code; nothing else in it is markup, a link or the end of a table cell,
    wherever on a line it stands, inside HTML elements too.
    """
    shown = _IN_BACKTICKS.sub(r"<code>\1</code>", _one_line(text, limit))
    return Safe(_COMMIT.sub(_break_commit, shown))


def code(text: str, limit: int) -> Safe:
    """Return `text` as inline code; otherwise as `inline`."""
    return Safe(f"<code>{_one_line(text, limit)}</code>")


def block(text: str, limit: int) -> Safe:
    """Return a fenced block that shows `text` line by line and that nothing inside can close.

    It has to start at the beginning of a line.
    """
    return _fenced(text, limit, "text")


def diff(text: str, limit: int) -> Safe:
    """Return `text`, a unified diff, as `block` does, in the colours of one."""
    return _fenced(text, limit, "diff")


def _fenced(text: str, limit: int, language: str) -> Safe:
    shown, left = harden(text, limit)
    body = defuse(shown.strip("\n")) + _cut_mark(left)
    longest = max(map(len, re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return Safe(f"{fence}{language}\n{body}\n{fence}")


def plain(text: str, limit: int) -> str:
    """Return `text` for a terminal or a log, lines kept."""
    shown, left = harden(text, limit)
    return defuse_log(shown + _cut_mark(left))


def plain_line(text: str, limit: int) -> str:
    """Return `text` for a terminal or a log as one line, white space folded."""
    shown, left = harden(text, limit)
    return defuse_log(" ".join(shown.split()) + _cut_mark(left))


def label(text: str, limit: int) -> str:
    """Return `text` as one line for a field that GitHub shows as text: titles of check runs and
    annotations, and their messages.

    At most `limit` characters, the mark of a cut included.
    """
    shown, left = harden(text, limit)
    line = defuse_log(defuse(" ".join(shown.split())))
    if left or len(line) > limit:
        return f"{line[: limit - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
    return line


def xml_text(text: str, limit: int) -> str:
    """Return `text` with only characters that XML 1.0 allows; the XML writer escapes markup.

    Triggers are broken too: other tools turn JUnit files into comments, annotations and log lines.
    """
    shown, left = harden(text, limit)
    return defuse_log(defuse(shown + _cut_mark(left)))


def sarif_text(text: str, limit: int) -> str:
    """Return `text` for a message of SARIF: as `xml_text`, with no link and no placeholder in it.

    Plain messages may hold `[words](target)` and `{0}` (SARIF 2.1.0, 3.11.5 and 3.11.6).
    """
    return _SARIF_TRIGGER.sub(rf"\1{BREAK}", xml_text(text, limit))


def border() -> Safe:
    """Return the hidden line between what the gate says and what the evals found."""
    return Safe(BORDER)


def marker() -> Safe:
    """Return the hidden line by which publishing knows the comment."""
    return Safe(MARKER)


def link(words: str, url: str) -> Safe:
    """Return a link of our own to GitHub; only the words when the address is not plain."""
    return Safe(f"[{words}]({url})" if _PLAIN_URL.fullmatch(url) else words)


def source_link(words: Safe, tree_url: str, path: str, line: int) -> Safe:
    """Return `words` as a link to a line of a file; only the words where there is no such page.

    `tree_url` is the address of a revision's files, our own; `path` is as `show_path` gives it, and
    whatever it holds stays a part of the address: all but letters, digits and `/._-~` is encoded.
    """
    leads_there = len(path) <= LONGEST_PATH and not {"", ".", ".."} & set(path.split("/"))
    if not leads_there or path.startswith('"') or not _PLAIN_URL.fullmatch(tree_url):
        return words
    # Without `plain`, GitHub shows Markdown without lines.
    return Safe(f"[{words}]({tree_url}/{quote(path, errors='replace')}?plain=1#L{line})")


def _break_commit(found: re.Match[str]) -> str:
    """Keep GitHub from linking to a commit of its choice; in code it does not look."""
    return BREAK.join(re.findall(".{1,6}", found[1])) if found[1] else found[0]


def _one_line(text: str, limit: int) -> str:
    shown, left = harden(text, limit)
    folded = " ".join(shown.split())
    return _escape(_EMOJI.sub(f":{BREAK}", defuse(folded))) + _cut_mark(left)


def _escape(text: str) -> str:
    escaped = _LONE_UNDERSCORE.sub("&#95;", text.translate(_ENTITIES))
    return _BLOCK_START.sub(_escape_block_start, escaped)


def _escape_block_start(found: re.Match[str]) -> str:
    """Keep the beginning from making a heading, a list, an underline or a table."""
    return f"{found[1]}&#{ord(found[2] or found[3])};"


def _cut_mark(left: int) -> str:
    return f"\N{HORIZONTAL ELLIPSIS} ({left:,} more characters)" if left else ""
