"""How a program takes its question, read off its text: by arguments, by standard input, by HTTP."""

from __future__ import annotations

import re

from gateval.domain.setup.programs.found import Invocation
from gateval.domain.setup.programs.golang import go_invocation
from gateval.domain.setup.programs.serving import QUESTION, served, server_of
from gateval.domain.setup.programs.subcommands import subcommand_of

PROMPT = "{{ prompt }}"

_OPTION = re.compile(
    rf"(?:add_argument|@click\.option|typer\.Option|\.(?:requiredOption|option))\([^)]*?"
    rf"[\"'`\s](--(?:{QUESTION}))\b"
)
_PARSED = re.compile(rf"\b({QUESTION}):\s*\{{\s*type:\s*[\"']string")
_NAMED = re.compile(
    r"add_argument\(\s*[\"']([a-z]\w*)[\"']|@click\.argument\(\s*[\"'](\w+)"
    r"|@\w+\.command\([^)]*\)\s*(?:async )?def \w+\(\s*(\w+):|\.argument\(\s*[\"'`][<\[](\w+)"
)
_PLACED = re.compile(
    r"typer\.Argument\(|sys\.argv\[1|process\.argv\[2\]|process\.argv\.slice\(2\)|\.argv\._\["
)
_READS_JSON = re.compile(
    r"json\.loads?\(\s*(?:sys\.)?(?:stdin|input\(|raw\b|line\b)|\.(?:model_)?validate_json\("
    r"|JSON\.parse\(\s*(?:(?:fs\.)?readFileSync\(\s*(?:0|[\"']/dev/stdin)"
    r"|(?:await )?\w*(?:stdin|input|raw|chunks|line|body)\b)",
    re.IGNORECASE,
)
_READS = re.compile(r"\binput\(|sys\.stdin|readFileSync\(\s*(?:0|[\"']/dev/stdin)|process\.stdin")
_JSON_KEY = re.compile(rf"[\[.][\"']?({QUESTION})\b(?![\"']?\]?[.\[][\"']?content\b)")
"""A key of what is read; `.message.content` is that of a reply."""


def reads_arguments(text: str) -> bool:
    """Whether a file's text reads the arguments or the standard input of its program."""
    wanted = (_PLACED, _NAMED, _PARSED, _OPTION, _READS)
    return any(pattern.search(text) for pattern in wanted)


def invocation_of(path: str, text: str, behind: str = "") -> Invocation:
    """Return how the program is asked, as far as its text and that of what it imports tell."""
    if path.endswith(".go"):
        return go_invocation(text, PROMPT)
    if server_of(path, text, behind):
        return served(path, f"{text}\n{behind}")
    chosen = subcommand_of(path, text)
    if chosen is None:
        return _asked(text)
    asked = _asked(chosen.text)
    sure = chosen.sure and (asked.sure or bool(_READS.search(text)))
    return asked._replace(words=(chosen.name, *asked.words), sure=sure)


def _asked(text: str) -> Invocation:
    for pattern in (_OPTION, _PARSED):
        if option := pattern.search(text):
            return Invocation(words=(f"--{option[1].lstrip('-')}", PROMPT), stdin="")
    named = list(_NAMED.finditer(text))
    if named:
        sure = len(named) == 1 and bool(re.fullmatch(QUESTION, named[0][named[0].lastindex or 0]))
        return Invocation(words=(PROMPT,), stdin="", sure=sure)
    if _PLACED.search(text):
        return Invocation(words=(PROMPT,), stdin="")
    if _READS_JSON.search(text) and _READS.search(text):
        key = _JSON_KEY.search(text)
        name = key[1] if key else "prompt"
        asked = f'{{"{name}": {{{{ prompt | tojson }}}}}}'
        return Invocation(stdin=None if name == "prompt" else asked, sure=key is not None)
    return Invocation(stdin=PROMPT, sure=bool(_READS.search(text)))
