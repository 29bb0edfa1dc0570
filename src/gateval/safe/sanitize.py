"""The one sanitiser: what an agent, a judge, a provider or a pull request wrote, made harmless.

One function per sink. Each takes text as it came, hardens it, breaks triggers, and escapes it for
the place where it will stand; secrets are gone before (`redaction.py`). The order of steps follows
the safe-outputs pipeline of GitHub's agentic workflows; `docs/reference/publishing.md` has it with
its reasons, and which sink uses which function.

Terminal sequences and control characters go, invisible characters go or leave a mark, every kind
of line break is a newline and every kind of space a space.

A trigger is broken by an invisible break inside it. It reads as before, but neither GitHub's
autolinks, which see the rendered text, nor bots, which see the raw one, take it for theirs.
Backslashes and HTML entities do not do that: GitHub looks for mentions after it has decoded them
(github/cmark-gfm issues 181 and 389).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from urllib.parse import quote

from gateval.domain.text import Label, Safe

HIDDEN = "\N{REPLACEMENT CHARACTER}"
"""Stands where characters were that could reorder, smuggle or break text."""

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS
    r"|\x1b[ -/]*[0-~]?"
)
"""Sequences of ECMA-48, also as single C1 characters and also when cut short."""

_LINE_BREAKS = frozenset("\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")

_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

_INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
"""Fillers and variation selectors: no format characters for Unicode, invisible all the same."""

_STACKED_MARKS = re.compile(
    r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{3})"
    r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
"""More than three combining marks on one letter climb over the lines around it."""


def harden(text: str, limit: int) -> tuple[str, int]:
    """Return at most `limit` visible characters of `text`, and how many were left out.

    Only the first `2 * limit` characters are looked at, so hostile length costs nothing.
    """
    start = text[: 2 * limit]
    seen = visible(start)
    shown = seen[:limit]
    return shown, len(seen) - len(shown) + len(text) - len(start)


def visible(text: str) -> str:
    """Return `text` with every character what it looks like, however long."""
    if text.isascii() and text.isprintable():
        return text  # most text: nothing in it that any of the steps below would change
    text = _ESCAPE_SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = _STACKED_MARKS.sub(r"\1", text)
    text = unicodedata.normalize("NFC", text).translate(_Shown())
    return re.sub(f"{HIDDEN}{{2,}}", HIDDEN, text)


class _Shown:
    """The table for `str.translate`."""

    def __getitem__(self, code: int) -> str:
        return _show(code)


@lru_cache(maxsize=8192)
def _show(code: int) -> str:
    """Return what stands for one character: itself, another one, a mark, or nothing."""
    character = chr(code)
    if character in _LINE_BREAKS:
        return "\n"
    if character == "\t":
        return "    "
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if character in _INVISIBLE_LETTERS or category == "Cc":
        return ""
    if category == "Cf":
        return HIDDEN if character in _REORDERING or code >= 0xE0000 else ""
    if category in {"Cs", "Co"} or code & 0xFFFE == 0xFFFE:
        return HIDDEN
    return character


BREAK = "\N{ZERO WIDTH SPACE}"
"""Hardened text holds none, so every one that a reader meets is ours."""

_PHRASES = (
    r"bors(?=\s+[rdtc])|ok\s+to\s+test|(?:re)?test\s+this\s+please|recheck\b"
    r"|add\s+to\s+(?:white|allow)list\b"
    r"|(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)(?=:?\s+\S*(?:\#|GH-|/issues/|/pull/))"
)

_STEPS: tuple[tuple[re.Pattern[str], str], ...] = (
    # a slash-command: a line that begins with one word, unlike a path
    (re.compile(r"(?m)^([ >*+-]*/)(?=[A-Za-z][\w-]*(?:\s|$))"), rf"\1{BREAK}"),
    # a mention of a person or team, and an e-mail address
    (re.compile(r"@(?=[\w-]|\Z)"), f"@{BREAK}"),
    # a comment, or the hidden marker by which the gate finds its own comment
    (re.compile(r"<(?=!--)"), f"<{BREAK}"),
    # links
    (re.compile(r":(?=//)"), f":{BREAK}"),
    (re.compile(r"(?i)\b(javascript|vbscript|data|mailto|xmpp|tel):(?=\S)"), rf"\1:{BREAK}"),
    (re.compile(r"(?i)(www)(?=\.)"), rf"\1{BREAK}"),
    # references to issues, which show up in those issues, and closing keywords
    (re.compile(r"#(?=\d|\Z)"), f"#{BREAK}"),
    (re.compile(r"(?i)\b(gh-)(?=\d|\Z)"), rf"\1{BREAK}"),
    # phrases that common bots obey wherever they stand
    (re.compile(rf"(?i)\b(?=(?:{_PHRASES}))(\w)"), rf"\1{BREAK}"),
)

_ANY = re.compile(r"(?i)[/@<:#]|www|gh-|bors|test|recheck|add|fix|close|resolve")
"""Without any of these in it, a text holds no trigger."""

_RUNNER_COMMAND = re.compile(r"(?m)^( *):(?=:)|#(#)(?=\w*\[)")


def defuse(text: str) -> str:
    """Return hardened text with every trigger broken; nothing is removed."""
    if _ANY.search(text) is None:
        return text
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    return text


def defuse_log(text: str) -> str:
    """Return `text` without commands for a CI runner that reads this log.

    `::name::` counts at the start of a line, `##[name]` (and `##vso[`, `##teamcity[`) anywhere
    (actions/runner, ActionCommand). A space inside breaks them, since logs show odd characters.
    """
    return _RUNNER_COMMAND.sub(lambda found: "# #" if found[2] else f"{found[1]}: ", text)


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

_PLAIN_URL = re.compile(r"https?://[A-Za-z0-9.:-]+/[A-Za-z0-9._/?=&-]+(?:#[a-z0-9-]+)?")

LONGEST_PATH = 300
"""Characters of a path that is linked to."""

_COMMIT = re.compile(r"<code>.*?</code>|(?<![\w-])([0-9a-f]{7,64})(?![\w-])")
"""From seven hexadecimal digits on, GitHub may find a commit."""


_LONG_WORD = re.compile(r"[^\s-]{10}(?=[^\s-])")
"""What may break: browsers do so by themselves only at spaces and hyphens."""


def inline(text: str, limit: int) -> Safe:
    """Return one line of GitHub markdown that shows `text`, for a sentence, list or table cell.

    At most `limit` characters are shown; white space is folded. What stands between two single
    backticks becomes code; nothing else in it is markup, a link or the end of a table cell,
    wherever on a line it stands, inside HTML elements too.
    """
    shown = _IN_BACKTICKS.sub(r"<code>\1</code>", _one_line(text, limit))
    return Safe(_COMMIT.sub(_break_commit, shown))


def cell(text: str, limit: int) -> Safe:
    """Return `text` as `inline` does, for a narrow cell of a table: a long word of it may break."""
    return Safe(_COMMIT.sub(_break_commit, _one_line(text, limit, _LONG_WORD)))


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


def label(text: str, limit: int) -> Label:
    """Return `text` as one line for a field that GitHub shows as text: titles of check runs and
    annotations, and their messages.

    At most `limit` characters, the mark of a cut included.
    """
    shown, left = harden(text, limit)
    line = defuse_log(defuse(" ".join(shown.split())))
    if left or len(line) > limit:
        return Label(f"{line[: limit - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}")
    return Label(line)


_CHAT = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "*": "\N{ASTERISK OPERATOR}",
        "~": "\N{TILDE OPERATOR}",
        "`": "\N{MODIFIER LETTER GRAVE ACCENT}",
        "]": f"]{BREAK}",
    }
)
"""Slack knows no way to escape its marks but these three entities; others read Markdown."""


def chat_line(text: str, limit: int) -> str:
    """Return one line of a message in Slack, or what is compatible with it, that shows `text`.

    Nothing in it is a mention, a link, an emoji or formatting, and what it shows has at most
    `limit` characters.
    """
    shown, left = harden(text, limit)
    folded = _EMOJI.sub(f":{BREAK}", defuse(" ".join(shown.split())))
    plain = _LONE_UNDERSCORE.sub("\N{MODIFIER LETTER LOW MACRON}", folded).translate(_CHAT)
    return plain + _cut_mark(left)


def chat_link(words: str, url: str) -> str:
    """Return a link of our own in such a message; only the words when the address is not plain."""
    return f"<{url}|{words}>" if _PLAIN_URL.fullmatch(url) else words


def xml_text(text: str, limit: int) -> Label:
    """Return `text` with only characters that XML 1.0 allows; the XML writer escapes markup.

    Triggers are broken too: other tools turn JUnit files into comments, annotations and log lines.
    """
    shown, left = harden(text, limit)
    return Label(defuse_log(defuse(shown + _cut_mark(left))))


def sarif_text(text: str, limit: int) -> str:
    """Return `text` for a message of SARIF: as `xml_text`, with no link and no placeholder in it.

    Plain messages may hold `[words](target)` and `{0}` (SARIF 2.1.0, 3.11.5 and 3.11.6).
    """
    return _SARIF_TRIGGER.sub(rf"\1{BREAK}", xml_text(text, limit))


_OWN_COMMAND = re.compile(r"/gateval (?:rerun [0-9a-f]{40,64}|explain [A-Za-z0-9][\w.-]{0,252})")


def own_command(text: str) -> Safe:
    """Return a command to the gate itself as a block to copy, the only one whose trigger is left
    whole; empty if it is none, or holds anything else.
    """
    _, _, words = text.partition(" ")
    whole = _OWN_COMMAND.fullmatch(text) and defuse(words) == words
    return Safe(f"```text\n{text}\n```" if whole else "")


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


def page_link(words: str, page_url: str, address: str) -> Safe:
    """Return a link to an address within a page of ours, only the words when one is not plain."""
    plain = _PLAIN_URL.fullmatch(page_url) and re.fullmatch(r"#[A-Za-z0-9._~%/-]*", address)
    return Safe(f"[{words}]({page_url}{address})" if plain else words)


def _break_commit(found: re.Match[str]) -> str:
    """Keep GitHub from linking to a commit of its choice; in code it does not look."""
    return BREAK.join(re.findall(".{1,6}", found[1])) if found[1] else found[0]


def _one_line(text: str, limit: int, breaks: re.Pattern[str] | None = None) -> str:
    shown, left = harden(text, limit)
    folded = defuse(" ".join(shown.split()))
    if breaks:
        folded = breaks.sub(rf"\g<0>{BREAK}", folded)
    return _escape(_EMOJI.sub(f":{BREAK}", folded)) + _cut_mark(left)


def _escape(text: str) -> str:
    escaped = _LONE_UNDERSCORE.sub("&#95;", text.translate(_ENTITIES))
    return _BLOCK_START.sub(_escape_block_start, escaped)


def _escape_block_start(found: re.Match[str]) -> str:
    """Keep the beginning from making a heading, a list, an underline or a table."""
    return f"{found[1]}&#{ord(found[2] or found[3])};"


def _cut_mark(left: int) -> str:
    return f"\N{HORIZONTAL ELLIPSIS} ({left:,} more characters)" if left else ""
