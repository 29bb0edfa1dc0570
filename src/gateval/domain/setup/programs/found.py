"""A program that looks like an agent, and how it would be started."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

MOST_NAMED = 3
"""How many other programs are named."""


class SetUp(NamedTuple):
    """An installation of dependencies: the command, the files it reads, the folders it makes."""

    run: tuple[str, ...]
    inputs: tuple[str, ...]
    creates: tuple[str, ...]

    @property
    def locked(self) -> bool:
        """Whether a lock file says which versions it installs."""
        return "uv pip install" not in self.run[-1]


class Invocation(NamedTuple):
    """How a question reaches a program.

    `words` follow the program's name. `stdin` is a template, None for the gate's JSON. A server has
    `route`, `field` and `answer`: the path it is asked at, the key of the question in the body, and
    that of the answer in the response ("" for the whole). `sure` is False where the text of the
    program did not tell.
    """

    words: tuple[str, ...] = ()
    stdin: str | None = None
    route: str = ""
    field: str = ""
    answer: str = ""
    sure: bool = True


class FoundProgram(NamedTuple):
    """A program: its path, the framework that it imports, and what its manifest would say.

    `root` is the folder that it works in ("" is the repository's root); `command` is relative to
    that. `modules_in` is the folder there from which Python imports its modules, "" for the root
    itself. `reads` are files whose names its text has, where it works in the repository's root.
    `models` are those named in its text, as `provider/model-id`. `score` grows with how much speaks
    for it. `started` is False where nothing tells that the file is a program by itself.
    """

    path: str
    framework: str
    root: str
    command: tuple[str, ...]
    invocation: Invocation
    setup: SetUp | None
    include: tuple[str, ...]
    models: tuple[str, ...]
    score: int
    modules_in: str = ""
    reads: tuple[str, ...] = ()
    started: bool = True


def said_of(
    program: FoundProgram, *, others: Sequence[FoundProgram] = (), first: bool = True
) -> tuple[str, ...]:
    """Return what was found, and everything that could not be known, as sentences.

    `others` are programs that may be agents too; `first` says that there is no Agent yet.
    """
    asked = program.invocation
    uses = f" uses {program.framework}, so it" if program.framework else ""
    begun = "No Agent here. " if first else ""
    said = [f"{begun}{program.path}{uses} is {'the first' if first else 'an'} Agent."]
    if not program.started:
        said.append("Nothing tells how it is started, so `command` is a guess: mend it first.")
    if not asked.sure:
        where = f"as `{asked.field}` in a POST to {asked.route}" if asked.route else "on its input"
        where = "as an argument" if asked.words else where
        said.append(f"How it takes a question is not clear from its text: it gets it {where}.")
    if asked.route and not asked.answer:
        said.append("Where its response has the answer is not clear: all of it counts.")
    if program.setup is None:
        said.append("There is no lock file, so nothing is installed: add runtime.setup if need be.")
    elif not program.setup.locked:
        said.append("There is no lock file: the newest versions that its project allows are taken.")
    if not program.models:
        said.append("It names no model, so it may ask any; name them in spec.models.")
    further = [one.path for one in others if one.path != program.path]
    if further:
        more = f" and {len(further) - MOST_NAMED} more" if len(further) > MOST_NAMED else ""
        said.append(f"Another may be one too: {', '.join(further[:MOST_NAMED])}{more}.")
        said.append(f"Each becomes an Agent by its name:  gateval init {quote(further[0])}")
    return tuple(said)
