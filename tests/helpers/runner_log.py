"""The runner's command parser, written from its rules, for everything that the gate prints.

actions/runner: a line is a command when it begins, after white space, with `::NAME`, where NAME ends
at a space or at the next `::`, or when it holds `##[NAME ...]` anywhere; names are case-insensitive
and must be known, which is not asked here. After `::stop-commands::TOKEN` only `::TOKEN::` is one. The runner's string
search ignores characters that have no width (it compares by culture), so they are taken out first.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_LINE_ENDS = re.compile(r"\r\n|\r|\n")


class Command(NamedTuple):
    """A command that the runner would carry out."""

    name: str
    data: str


def commands(log: str) -> list[Command]:
    """Return what the runner would take for commands if it knew every name."""
    found: list[Command] = []
    token = ""
    for line in _LINE_ENDS.split(log):
        command = _parse(line)
        if token:
            if command and command.name == token.lower():
                token = ""
            continue
        if command is None:
            continue
        found.append(command)
        if command.name == "stop-commands":
            token = command.data
    return found


def _parse(line: str) -> Command | None:
    seen = "".join(c for c in line if unicodedata.category(c) not in {"Cf", "Mn", "Me"})
    for pattern in (r"\s*::(?P<info>.*?)::(?P<data>.*)", r".*?##\[(?P<info>[^\]]*)\](?P<data>.*)"):
        match = re.match(pattern, seen, re.S)
        if match is not None:
            return Command(match["info"].split(" ", 1)[0].lower(), match["data"])
    return None
