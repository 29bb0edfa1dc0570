"""Agents whose program this machine cannot start, because it lacks what starts it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from gateval.domain.manifests.agent import RuntimeSpec
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote

RUNNER = "gateval/gateval/runner"

SHELL_WORDS = 3
SHELL_OWN = frozenset(
    {
        "cd",
        "export",
        "set",
        "test",
        "if",
        "for",
        "while",
        "exec",
        "eval",
        ".",
        "exit",
        "trap",
        "umask",
        "ulimit",
        "unset",
        ":",
    }
)
"""What a shell does itself, without a program of that name."""


def missing_interpreters(
    catalogue: Catalogue, find: Callable[[str], str | None]
) -> Iterator[Problem]:
    """Yield, for each Agent, a program of `command` or `setup` that is not on PATH here.

    `find` returns where a program is, None if it is nowhere. Words with a slash are files, and
    those with a template are known when they run.
    """
    for agent in catalogue.agents:
        for key, name in asked_programs(agent.spec.runtime):
            if name and "/" not in name and "{" not in name and find(name) is None:
                yield Problem(
                    place=agent.places.get("spec.runtime", agent.place),
                    path=f"spec.runtime.{key}",
                    message=f"this machine has no {quote(name)}. Install it; on GitHub, the action "
                    f"`{RUNNER}` runs with what earlier steps of the job have installed, and the "
                    "container of `gateval/gateval` has Python and little else "
                    "(docs/guides/runner.md).",
                )


def asked_programs(runtime: RuntimeSpec | None) -> Iterator[tuple[str, str]]:
    """Yield the words that name what an Agent is started with: the key, and the program."""
    if runtime is None:
        return
    for server in runtime.servers:
        yield f"tools {server.name}", server.command[0]
    if runtime.command:
        yield "command[0]", runtime.command[0]
    if runtime.layer is not None:
        yield _behind("setup.run", runtime.layer.run)
    elif runtime.own_setup:
        yield _behind("setup", runtime.own_setup)


def _behind(key: str, words: Sequence[str]) -> tuple[str, str]:
    """Return the word that names the program, and that program: `env` sets variables before it.

    Of a line for a shell it is the first word.
    """
    if tuple(words[:2]) == ("sh", "-c") and len(words) == SHELL_WORDS:
        first = words[2].split(maxsplit=1)[0] if words[2].strip() else ""
        plain = re.fullmatch(r"[\w.+-]+", first) and first not in SHELL_OWN
        return f"{key}[2]", first if plain else ""
    at = 0
    if words[0] == "env":
        at = next((n for n, word in enumerate(words[1:], 1) if "=" not in word), 0)
    return f"{key}[{at}]", words[at]
