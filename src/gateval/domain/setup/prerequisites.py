"""What a README has people do and have before its program answers: nothing else here knows. Pure.

A candidate that lacks it fails at its first question, so a person is told of it beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from gateval.domain.setup.libraries import NODE, PYTHON
from gateval.domain.text import beginning

_LONGEST = 70
_MOST_READ = 600

_HEADING = re.compile(
    r"^(?:#{1,5}[ \t]|\*\*)[^\w\n]{0,16}(?:\d{1,2}\.)?[^\w\n]{0,16}"
    r"(?:pre-?requisites?|requirements|before you (?:begin|start)|what you(?:'ll| will)? need"
    r"|you(?:'ll| will)? need)\b[^\n]{0,60}$",
    re.I | re.M,
)
_ENDS = re.compile(r"^(?:#{1,6}[ \t]|\*\*[^*\n]+\*\*:?[ \t]*$|```)", re.M)
_ITEM = re.compile(r"^[ \t]{0,3}(?:[-*+•]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S[^\n]*)$", re.M)
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_MARKS = re.compile(r"<[^>\n]{0,200}>|`|\*\*|(?<!\w)[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}(?!\w)")
_OWN = re.compile(
    r"(?i)^\W*(?:an? |the |your |valid |have |install(?:ed)? |active )*(?:"
    r"(?:python|node(?:\.?js)?|npm|pnpm|yarn|bun|uv|uvx|pip|poetry|go|git|conda|typescript|virtual"
    r"|package manager|pdm|pipenv|corepack|deno|vs code|ide|terminal|basic|familiarity|knowledge"
    r"|understanding|recommended|optional|required python packages|dependencies"
    r"|internet connection)\b"
    r"|(?:[\w-]+ ){1,3}(?:library|framework)\b|api keys?(?: for(?: openai| anthropic)?)?:?$"
    r"|(?:openai|anthropic|claude|google(?: ai| gemini)?|gemini|openrouter)[\w ()-]{0,30}\bkeys?\b"
    r"|\w{0,20}(?:OPENAI|ANTHROPIC|GEMINI|GOOGLE)_\w{0,20}KEY\b)"
)
"""What everybody has, what a set-up installs, and keys that the gate holds itself."""

_FENCE = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```", re.S | re.M)
_SHELLS = {"", "bash", "sh", "shell", "console", "zsh", "terminal"}
_PREPARES = re.compile(
    r"^(?:(?:sudo|npx|pnpx|bunx|uvx|uv run|poetry run|(?:pnpm|yarn|bun)(?: dlx| exec)?)[ \t]+)?(?:"
    r"docker(?:-|[ \t]+)compose\b[^\n]{0,100} up\b[^\n]{0,40} (?:-d|--detach)\b"
    r"|docker[ \t]+run\b[^\n]{1,300} (?P<image>[a-z0-9.-]+/[\w./:-]+|(?:redis|postgres|mongo)\S*)"
    r"|ollama[ \t]+(?:pull|run|serve)|aws[ \t]+(?:configure|sso)"
    r"|(?:az|azd|uipath)[ \t]+(?:auth|login|up)\b"
    r"|gcloud[ \t]+(?:auth|init)|databricks[ \t]+auth|playwright[ \t]+install|supabase[ \t]+start"
    r"|prisma[ \t]+(?:migrate|db)|drizzle-kit[ \t]+(?:migrate|push)|alembic[ \t]+upgrade"
    r"|(?:cdk|sst|sam)[ \t]+deploy|terraform[ \t]+apply|convex[ \t]+dev|temporal[ \t]+server"
    r"|dapr[ \t]+init|redis-server|chroma[ \t]+run|(?:python[\d.]* -m )?spacy[ \t]+download)"
)
"""Commands that start, make or log in to what a program needs; `told_fillings` knows what fills."""


_LIBRARIES = frozenset({*PYTHON.values(), *NODE.values()})


@lru_cache(maxsize=256)  # many agents of one repository
def told_before(readme: str) -> tuple[str, ...]:
    """Return what a README lists as needed, and the commands in it that prepare, each on one short
    line; what a set-up installs and the gate holds itself is left out.
    """
    return tuple(dict.fromkeys([*_items(readme), *_commands(readme)]))


def _items(readme: str) -> Iterator[str]:
    for heading in _HEADING.finditer(readme):
        ends = _ENDS.search(readme, heading.end())
        section = readme[heading.end() : ends.start() if ends else len(readme)][:4_000]
        for one in _ITEM.findall(section):
            plain = _MARKS.sub("", _LINK.sub(r"\1", one[:_MOST_READ])).strip()
            plain = "".join(char for char in plain if char.isprintable())
            own = plain in _LIBRARIES or _OWN.match(plain)
            if plain and not own and "optional" not in plain.lower():
                yield beginning(plain, _LONGEST).rstrip(" .:;,")


def _commands(readme: str) -> Iterator[str]:
    for language, block in _FENCE.findall(readme):
        whole = block.replace("\\\n", " ") if language.lower() in _SHELLS else ""
        for line in whole.splitlines():
            plain = " ".join(line[:_MOST_READ].split()).removeprefix("$ ").partition(" #")[0]
            if plain.isprintable() and (found := _PREPARES.match(plain)):
                image = found["image"]
                yield f"`docker run … {image}`" if image else f"`{beginning(plain, _LONGEST)}`"
