"""Ways in which the gate could not look, tried as by somebody who has the pages alone: none is green.

Each row is a repository that somebody might well have, and a change of it that breaks its agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

PROGRAM = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, agent.py]}
"""

MODEL = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  models: [scripted/desk]
  system: {file: prompt.md}
"""

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {agent: desk}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: contains, value: GOOD}
"""

EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {agent: desk}}
"""

BOTH = f"{FIXTURE}---\n{EVAL}"

AGENT, EVALS, PROMPT, CONFIG = (
    "desk/agent.yaml",
    "desk/evals.yaml",
    "desk/prompt.md",
    ".github/gateval.yml",
)

SCRIPT = """\
rules:
  - when: {system: polite}
    reply: A GOOD answer.
  - reply: A bad answer.
"""

DECLARED: Mapping[str, str | bytes | None] = {
    AGENT: MODEL,
    PROMPT: "Be polite.\n",
    EVALS: BOTH,
    ".gateval/scripted/desk.yaml": SCRIPT,
}

WRITTEN: Mapping[str, str | bytes | None] = {
    AGENT: PROGRAM,
    "desk/agent.py": "print('A GOOD answer.')\n",
    EVALS: BOTH,
}

RUDE = {PROMPT: "Be rude.\n"}
BROKEN = {"desk/agent.py": "print('A bad answer.')\n"}


def in_list(*documents: str) -> str:
    """A Kubernetes list, as `kubectl get -o yaml` prints one."""
    items = "".join(f"- {text.replace(chr(10), chr(10) + '  ').rstrip()}\n" for text in documents)
    return f"apiVersion: v1\nkind: List\nitems:\n{items}"


def without(files: Mapping[str, str | bytes | None], *paths: str) -> dict[str, str | bytes | None]:
    return {path: text for path, text in files.items() if path not in paths}


class Way(NamedTuple):
    """What stands on the default branch, what the change does (None removes), and what comes."""

    before: Mapping[str, str | bytes | None]
    change: Mapping[str, str | bytes | None]
    code: int
    said: str
    command: str = "check"


WAYS = {
    "the manifest of the agent is in UTF-16": Way(
        {**WRITTEN, AGENT: PROGRAM.encode("utf-16")},
        BROKEN,
        2,
        "desk/agent.yaml:1:1: This is not UTF-8",
    ),
    "the manifest of the agent has another ending": Way(
        {**without(WRITTEN, AGENT), "desk/agent.YML": PROGRAM},
        BROKEN,
        2,
        "desk/agent.YML:1:1: This is a manifest, and is not read: the names of those that are end",
    ),
    "the manifest of the agent is no YAML file": Way(
        {**without(WRITTEN, AGENT), "desk/agent.yaml.txt": PROGRAM},
        BROKEN,
        2,
        'spec.targetAgent: There is no Agent "desk".',
    ),
    "the Eval stands in a list of Kubernetes": Way(
        {**WRITTEN, EVALS: in_list(FIXTURE, EVAL)},
        BROKEN,
        2,
        "desk/evals.yaml:2:7: kind: Manifests in a List are not read.",
    ),
    "the gate config has another ending": Way(
        {
            **DECLARED,
            ".github/gateval.yaml": "policy: {mustBelong: ['src/**']}\n",
            "src/a.py": "1\n",
        },
        {"src/a.py": "2\n"},
        2,
        ".github/gateval.yaml:1:1: This is not the gate config, and holds nothing",
    ),
    "the gate config stands at the root": Way(
        {**DECLARED, "gateval.yml": "policy: {mustBelong: ['src/**']}\n", "src/a.py": "1\n"},
        {"src/a.py": "2\n"},
        2,
        "gateval.yml:1:1: This is not the gate config, and holds nothing",
    ),
    "manifests are looked for where there are none": Way(
        {**DECLARED, CONFIG: "manifests: ['evaluations/**']\n"},
        RUDE,
        2,
        '.github/gateval.yml:1:1: manifests[0]: "evaluations/**" fits no tracked file of this',
    ),
    "the agent lies below .gateval": Way(
        {path.replace("desk/", ".gateval/desk/"): text for path, text in WRITTEN.items()},
        {".gateval/desk/agent.py": "print('A bad answer.')\n"},
        2,
        '.gateval/desk/agent.yaml:5:3: spec.runtime: "agent.py" of runtime.command is',
    ),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_could_not_be_looked_at_is_never_green(way: Way, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    put(repo, way.before)
    repo.branch("change")
    put(repo, way.change)
    done = gateval(repo, *way.command.split())

    assert done.returncode == way.code, done.stdout + done.stderr
    assert way.said in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def put(repo: Repo, files: Mapping[str, str | bytes | None]) -> None:
    for path, text in files.items():
        if text is None:
            repo.git("rm", "--quiet", path)
        else:
            repo.write(path, text)
    repo.commit()
