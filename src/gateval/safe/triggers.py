"""Second half of the sanitiser: text that would make GitHub, a bot or a CI runner act does not.

A trigger is broken by an invisible break inside it. It reads as before, but neither GitHub's
autolinks, which see the rendered text, nor bots, which see the raw one, take it for theirs.
Backslashes and HTML entities do not do that: GitHub looks for mentions after it has decoded them
(github/cmark-gfm issues 181 and 389).
"""

from __future__ import annotations

import re

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
