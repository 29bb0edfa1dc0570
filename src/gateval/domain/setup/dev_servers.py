"""Servers that a tool starts for what a file exports: fastify-cli a plugin, Vite its middlewares.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import re
from posixpath import basename

_VITE = re.compile(r"vite\.config\.[cm]?[jt]s")
_MIDDLEWARES = re.compile(r"\bconfigure(?:Preview)?Server\b")
_PLUGIN = re.compile(
    r"\bFastifyPluginAsync\w*\b|^(?:export default|module\.exports\s*=)\s*(?:fp\(\s*)?async\s+"
    r"function\s*\w*\(\s*fastify\b",
    re.M,
)
_LOADS = re.compile(r"\.register\(\s*[aA]uto[lL]oad\b")
_FASTIFY = ("npx", "fastify", "start", "--port", "{port}")
_TYPED = ("env", "NODE_OPTIONS=--import=tsx")


def is_config(path: str) -> bool:
    """Whether a file tells Vite what to do."""
    return _VITE.fullmatch(basename(path)) is not None


def has_middlewares(text: str) -> bool:
    """Whether what Vite is told has routes of its own."""
    return _MIDDLEWARES.search(text) is not None and "middlewares" in text


def dev_server(path: str, file: str, text: str) -> tuple[str, ...]:
    """Return the command that serves what a file exports, () for none; `file` is its path there."""
    if is_config(path) and has_middlewares(text):
        return ("npx", "vite", "--config", file, "--port", "{port}", "--strictPort")
    if _PLUGIN.search(text) and _LOADS.search(text):
        return (*(_TYPED if path.endswith("ts") else ()), *_FASTIFY, file)
    return ()
