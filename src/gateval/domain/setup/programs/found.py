"""A program that looks like an agent, and how it would be started."""

from __future__ import annotations

from typing import NamedTuple


class SetUp(NamedTuple):
    """An installation of dependencies: the command, the files it reads, the folders it makes."""

    run: tuple[str, ...]
    inputs: tuple[str, ...]
    creates: tuple[str, ...]


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
    for it.
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


def said_of(program: FoundProgram) -> tuple[str, ...]:
    """Return what was found, and everything that could not be known, as sentences."""
    asked = program.invocation
    said = [f"No Agent here. {program.path} uses {program.framework}, so it is the first Agent."]
    if not asked.sure:
        where = f"as `{asked.field}` in a POST to {asked.route}" if asked.route else "on its input"
        said.append(f"How it takes a question is not clear from its text: it gets it {where}.")
    if asked.route and not asked.answer:
        said.append("Where its response has the answer is not clear: all of it counts.")
    if program.setup is None:
        said.append("There is no lock file, so nothing is installed: add runtime.setup if need be.")
    if not program.models:
        said.append("It names no model, so it may ask any; name them in spec.models.")
    return tuple(said)
