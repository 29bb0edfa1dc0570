"""Server actions of Next.js that ask a model: a page alone calls them. Pure."""

from __future__ import annotations

import re

from gateval.domain.setup.other_work import Refusal

_OF_FILE = re.compile(r"\A(?:\s|//[^\n]*\n|/\*.*?\*/)*[\"']use server[\"']", re.S)
_EXPORTED = re.compile(
    r"^export\s+(?:default\s+)?(?:async\s+function\s+(\w+)|const\s+(\w+)\s*=\s*async\b)", re.M
)
_OF_FUNCTION = re.compile(
    r"\basync\s+function\s+(\w+)\s*\([^{]{0,500}\{\s*[\"']use server[\"']"
    r"|\bconst\s+(\w+)\s*=\s*async\s*\([^{]{0,500}\{\s*[\"']use server[\"']"
)


def server_action_of(path: str, text: str) -> Refusal | None:
    """Return why nothing asks the server actions of a file; None if it has none."""
    actions = _EXPORTED if _OF_FILE.match(text) else _OF_FUNCTION
    found = [one[1] or one[2] for one in actions.finditer(text)]
    if not found:
        return None
    names = ", ".join(f"`{one}`" for one in found[:3])
    return Refusal(
        f'has server actions of Next.js ("use server": {names}), which its page alone calls, and '
        "no route here takes the question.",
        "Name one that takes the question and gives the answer as text, `gateval init "
        f"{path}:{found[0]}` (docs/guides/bridges.md), or give the page's question a route.",
    )
