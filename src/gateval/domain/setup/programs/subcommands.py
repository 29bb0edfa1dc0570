"""The commands of a program that has several: which one is asked, and by which text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gateval.domain.setup.programs.serving import QUESTION

_DECORATED = re.compile(r"^@(\w+)\.command\(\s*(?:name=)?(?:[\"']([\w-]+)[\"'])?", re.M)
_FUNCTION = re.compile(r"^(?:async )?def (\w+)", re.M)
_PARSER = re.compile(r"(?:^|\s)(\w+)\s*=\s*\w+\.add_parser\(\s*[\"']([\w-]+)[\"']")
_OF_NODE = re.compile(r"\.command\(\s*[\"'`]([a-z][\w-]*)((?:\s+[<\[][\w.]+[>\]])*)[\"'`]")
_ASKING = re.compile(r"ask|chat|answer|query|prompt|question|talk|run")
_TAKES = re.compile(
    rf"\b(?:{QUESTION})\b\s*:|[\"'](?:--)?(?:{QUESTION})[\"']|[<\[](?:{QUESTION})[>\]]"
)


class Subcommand(NamedTuple):
    """A command by the word that calls it; `text` is its own part of the program. `sure` is False
    where nothing says that it takes a question.
    """

    name: str
    text: str
    sure: bool = True


def subcommand_of(path: str, text: str) -> Subcommand | None:
    """Return the command that takes a question; None where the program has just one, unnamed."""
    python = path.endswith(".py")
    found = [*_of_decorators(text), *_of_argparse(text)] if python else [*_of_node(text)]
    named = [one for one in found if _ASKING.fullmatch(one.name)]
    taking = [one for one in found if _TAKES.search(one.text)]
    if not found:
        return None
    return [*named, *taking, found[0]._replace(sure=False)][0]


def _of_decorators(text: str) -> Iterator[Subcommand]:
    """Those of Typer and Click, whose words matter where there are several, or a group."""
    starts = list(_DECORATED.finditer(text))
    counts = Counter(one[1] for one in starts)
    places = [*(one.start() for one in starts), len(text)]
    for start, (begin, end) in zip(starts, pairwise(places), strict=True):
        owner, part = start[1], text[begin:end]
        group = f"@{owner}.callback(" in text or (f"def {owner}(" in text and ".group(" in text)
        function = _FUNCTION.search(part)
        if owner != "click" and function and (counts[owner] > 1 or group):
            yield Subcommand(start[2] or function[1].replace("_", "-"), part)


def _of_node(text: str) -> Iterator[Subcommand]:
    """Those of commander and yargs, whose arguments may stand behind the name."""
    starts = list(_OF_NODE.finditer(text))
    places = [*(one.start() for one in starts), len(text)]
    for start, (_, end) in zip(starts, pairwise(places), strict=True):
        inline = f".argument('{start[2].strip()}')" if start[2] else ""
        yield Subcommand(start[1], inline + text[start.end() : end])


def _of_argparse(text: str) -> Iterator[Subcommand]:
    for variable, name in _PARSER.findall(text):
        own = (line for line in text.splitlines() if f"{variable}.add_argument(" in line)
        yield Subcommand(name, "\n".join(own))
