"""Programs that cannot run as they are: files that they write beside their code, and addresses of
providers that they have built in. Read off their texts, and off what they print. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypedDict

COPY, REDIRECT = "`runtime.workdir: copy`", "`runtime.redirect: true`"
"""How both are named in sentences."""

HOSTS = (
    "api.openai.com",
    "api.anthropic.com",
    "openrouter.ai",
    "generativelanguage.googleapis.com",
    "openai.azure.com",
    "cognitiveservices.azure.com",
    "services.ai.azure.com",
)
"""The providers' hosts that the gateway can stand in for; a name before them belongs to them."""

_ANY_HOST = "|".join(map(re.escape, HOSTS))
_HOST = rf"\b(?:[\w-]+\.)*(?:{_ANY_HOST})(?![.-]?\w)"
_BUILT_IN = re.compile(rf"[\"'`]https://{_HOST}")
_READS = re.compile(
    r"OPENAI_(?:API_)?BASE(?:_URL)?|ANTHROPIC_BASE_URL|OPENROUTER_BASE_URL"
    r"|GOOGLE_GEMINI_BASE_URL|AZURE_OPENAI_ENDPOINT"
)
"""The variables that the gate sets: an address beside one is what holds without it."""

_UNLED = re.compile(
    r"[\"'](?:@google/generative-ai|@ai-sdk/google|@langchain/google-genai|"
    r"@openrouter/ai-sdk-provider|@inngest/agent-kit)[\"']"
)
"""Packages that ask a provider at its own address, whatever the environment says."""

_COMMENT = re.compile(r"^\s*(?:#|//|\*).*$", re.M)

_PLAIN = r"(?![/~{$<:])[^\"'`{}\n]{1,200}"
_WRITES = re.compile(
    rf"""
    \bopen\(\s*["']{_PLAIN}["']\s*,\s*(?:mode\s*=\s*)?["'][wax]
    | \bPath\(\s*["']{_PLAIN}["']\s*\)(?:\s*/\s*["'][^"']+["'])?
      \.(?:write_|mkdir|touch|open\(\s*["'][wax])
    | \bos\.(?:makedirs|mkdir)\(\s*["']{_PLAIN}["']
    | \b(?:sqlite3|aiosqlite)\.connect\(\s*["']{_PLAIN}["']
    | \bSqliteSaver\.from_conn_string\(\s*["']{_PLAIN}["']
    | \bSqliteDb\(\s*["']{_PLAIN}["']
    | \b(?:db_file|db_path|sqlite_path|persist_dir(?:ectory)?)\s*=\s*["'](?!\w+://){_PLAIN}["']
    | ["']sqlite(?:\+\w+)?:///(?!/|:memory:)[^"'{{\n]+["']
    | \bPersistentClient\([^)\n]{{0,80}}["']{_PLAIN}["']
    | \b(?:Rotating|TimedRotating)?FileHandler\(\s*["']{_PLAIN}["']
    | \b(?:writeFile|appendFile|mkdir)(?:Sync)?\(\s*["'`]{_PLAIN}["'`]
    | \bcreateWriteStream\(\s*["'`]{_PLAIN}["'`]
    | \bnew\s+LibSQL\w+\(\s*(?:\{{\s*\}}\s*)?\)
    | \bnew\s+(?:Database|DatabaseSync)\(\s*["'`]{_PLAIN}["'`]
    | ["'`]file:(?!/|:memory:)[^"'`\n]+\.(?:db|sqlite3?)["'`]
    """,
    re.X,
)
_OPENED = re.compile(r"\bopen\(\s*(\w+)\s*,\s*(?:mode\s*=\s*)?[\"'][wax]")
_NAMES_FILE = re.compile(r"\b(\w+)\s*=\s*f?[\"'](?![/~{$<])[^\n]{1,200}\.\w{1,8}[\"']$", re.M)
"""A file that is opened by a variable, and what names it."""

_MAY_WRITE = re.compile(
    r"open\(|Path\(|mkdir|makedirs|connect\(|[sS]qlite|PersistentClient|FileHandler|writeFile"
    r"|appendFile|createWriteStream|Database|LibSQL|file:"
    r"|db_file|db_path|persist_dir"
)
"""What a text has in which `_WRITES` finds something, which is slow to look for."""


class Needs(TypedDict):
    """What a program lacks to run as it is."""

    writes: bool
    redirect: bool


def needs(texts: Iterable[str]) -> Needs:
    """Return what a program with these texts needs."""
    known = list(texts)
    return {"writes": writes_beside(known), "redirect": names_provider(known)}


def writes_beside(texts: Iterable[str]) -> bool:
    """Whether a program writes files that it names relative to where it works."""
    return any(map(_writes, texts))


@lru_cache(maxsize=4096)
def _writes(text: str) -> bool:
    """Whether one text does; it is asked for every program that stands near it."""
    if not _MAY_WRITE.search(text):
        return False
    code = _COMMENT.sub("", text)
    named = {*_OPENED.findall(code)}
    return bool(_WRITES.search(code)) or any(one[1] in named for one in _NAMES_FILE.finditer(code))


def names_provider(texts: Iterable[str]) -> bool:
    """Whether a program calls a provider at an address that no variable of the gate's changes."""
    return any(map(_unled, texts))


@lru_cache(maxsize=4096)
def _unled(text: str) -> bool:
    code = _COMMENT.sub("", text)
    built_in = (line for line in code.splitlines() if _BUILT_IN.search(line))
    return bool(_UNLED.search(code)) or any(not _READS.search(line) for line in built_in)


_NOT_THERE = re.compile(
    r"ENOTFOUND|EAI_AGAIN|EACCES|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|[Rr]esol|lookup"
    r"|Name or service not known|nodename nor servname|Cannot connect|Max retries|dial tcp"
    r"|[Cc]onnection (?:error|refused|timed out)|onnectTimeout",
)
_NAMES_HOST = re.compile(_HOST)
_NO_NAME = re.compile(
    r"\[Errno -[235]\] |(?:nodename nor servname|Name or service not known)"
    r"|Temporary failure in name resolution|(?:APIConnection|Connect)Error: |fetch failed"
    r"|connect (?:EACCES|ENETUNREACH|ECONNREFUSED) [\d.:]+:443"
)
"""How programs say that they reached nobody, where they do not say whom they wanted."""

_REFUSED_KEY = re.compile(
    r"[Ii]ncorrect API key provided: (?:sk-)?gatev|invalid x-api-key|API key not valid"
)
"""What providers say to the throw-away key of an instance."""


_NO_PYTHON = re.compile(
    r"python-build-standalone|Failed to (?:install|download) (?:cpython|pypy)"
    r"|No interpreter found for Python"
)
"""How uv says that it wanted to download the Python that a project asks for."""


_OTHER_PYTHON = re.compile(r"require[sd]? a different [Pp]ython")
_NO_VERSION = re.compile(r"No matching distribution found|requires a different Python")
"""How pip says that no version is for this Python."""


def address_advice(lines: Iterable[str], *, redirected: bool, calls: int | None) -> str:
    """Return what to do where a program called a provider at its own address; empty if no line
    tells of one. `calls` are those that came to the gateway, None where nobody counted.
    """
    lines = list(lines)
    if any(map(_NO_PYTHON.search, lines)):
        return (
            "uv wanted to download the Python that `requires-python` or `.python-version` asks "
            "for, which is not on this machine; an agent has no network for that. Install that "
            "version (`uv python install VERSION`), or allow one that is here."
        )
    if any(map(_OTHER_PYTHON.search, lines)) and any(map(_NO_VERSION.search, lines)):
        return (
            "What it pins is not for this Python. Put the one that the project is for first on "
            "PATH (in CI with actions/setup-python)."
        )
    host = next(_hosts(lines), None)
    if host is None or (not host and calls):
        return ""
    whom = f"It called {host}" if host else "It may have called a provider"
    if redirected:
        return (
            f"{whom} by a client that `runtime.redirect` does not lead to the gateway: it knows "
            "httpx, requests, aiohttp and urllib, fetch, undici and https. Give the client its "
            "address from the environment (OPENAI_BASE_URL and the like)."
        )
    return (
        f"{whom} at its own address, which agents do not need: they reach their models through the "
        "gateway, whose address is in OPENAI_BASE_URL, ANTHROPIC_BASE_URL and the like. Have the "
        f"client read that, or set {REDIRECT}, which leads such calls there; keys of the program's "
        "own are not used."
    )


def _hosts(lines: Iterable[str]) -> Iterator[str]:
    """Yield the hosts that could not be reached, "" for one that is not named."""
    without = False
    for line in lines:
        named = _NAMES_HOST.search(line)
        if named and _NOT_THERE.search(line):
            yield named[0]
        without = without or bool(_NO_NAME.search(line) or _REFUSED_KEY.search(line))
    if without:
        yield ""
