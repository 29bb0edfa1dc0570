"""The manifest that `gateval init` writes for a program, as text that a person goes on with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from gateval.domain.setup.programs.asking import PROMPT
from gateval.domain.setup.programs.found import FoundProgram, Invocation, SetUp

_PLAIN = re.compile(r"[A-Za-z./@][\w./@:+-]*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def program_manifest(
    name: str, program: FoundProgram, watch: tuple[str, ...], schema_url: str
) -> str:
    """Return the manifest of an Agent that is this program. `watch` is empty for its own folder."""
    return "\n".join(_lines(name, program, watch, schema_url)) + "\n"


def _lines(
    name: str, program: FoundProgram, watch: tuple[str, ...], schema_url: str
) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={schema_url}"
    yield f"# {_comment(program.path)} ({program.framework}), as `gateval init` read it."
    yield from (
        "apiVersion: gateval/v1",
        "kind: Agent",
        "metadata:",
        f"  name: {word(name)}",
        "spec:",
    )
    if program.models:
        yield f"  models: {_list(program.models)} # others are refused"
    if watch:
        yield "  # The agent's files: it gets no others, and a change of one runs its Evals."
        yield f"  watch: {_list(watch)}"
    if program.include:
        yield f"  include: {_list(program.include)} # imported from outside its folder"
    yield "  runtime:"
    yield f"    type: {'http' if program.invocation.route else 'command'}"
    yield f"    cwd: {word('/' + program.root)}"
    if program.setup:
        yield from _setup(program.setup)
    if program.modules_in:
        yield f"    env: {{PYTHONPATH: {word(program.modules_in)}}} # its modules lie there"
    yield f"    command: {_list(program.command)}"
    yield from _asked(program.invocation)


def _setup(setup: SetUp) -> Iterator[str]:
    yield "    setup: # made once for all Agents and revisions with the same inputs"
    yield f"      run: {_list(setup.run)}"
    yield f"      inputs: {_list(setup.inputs)}"
    yield f"      creates: {_list(setup.creates)}"


def _asked(asked: Invocation) -> Iterator[str]:
    doubt = "" if asked.sure else " # a guess: the program's text does not tell"
    if asked.route:
        body = f"{{{word(asked.field)}: {json.dumps(PROMPT)}}}"
        yield f"    request: {{path: {word(asked.route)}, body: {body}}}{doubt}"
        if asked.answer:
            yield f"    response: {{output: {word(f'$.{asked.answer}')}}}"
    elif asked.stdin is not None and not (asked.words and not asked.stdin):
        yield f"    stdin: {json.dumps(asked.stdin)}{doubt}"


def _list(words: Iterable[str]) -> str:
    return f"[{', '.join(map(word, words))}]"


def word(text: str) -> str:
    """Return text as a YAML scalar in a flow list, in quotes if need be."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not text.endswith(":")
    return text if plain and ": " not in text else json.dumps(text, ensure_ascii=False)


def _comment(path: str) -> str:
    return "".join(letter for letter in path if letter.isprintable())[:200]
