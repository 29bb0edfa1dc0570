"""Files that look like manifests and are none that is read: `validate` names them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec: {models: [openai/x], system: Be kind.}
"""
EVALS = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks, labels: {agent: desk}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: x}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {agent: desk}}
"""
IGNORED = "This looks like a manifest, and git ignores it, so it is not read."
ENDING = "This looks like a manifest, and is not read: the names of those that are end in"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("README.md", "Desks.\n")
    repo.commit()
    return repo


@pytest.mark.parametrize("rule", ["bots/", "*.yaml", "/bots/desk/agent.yaml"])
def test_manifests_that_git_ignores_are_named_where_some_are_missing(repo: Repo, rule: str) -> None:
    repo.write(".gitignore", f"{rule}\nnode_modules/\n.venv/\npipe.yaml\nlink.yaml\nother.yaml\n")
    repo.write("bots/desk/agent.yaml", AGENT)
    for path in ("bots/desk/node_modules/a.yaml", "node_modules/a.yaml", ".venv/a.yaml"):
        repo.write(path, AGENT)
    repo.write("bots/desk/other.yaml", "a: gateval/v1 is spoken of\n")
    (repo.path / "bots/desk/link.yaml").symlink_to(repo.path / "bots/desk/agent.yaml")
    os.mkfifo(repo.path / "bots/desk/pipe.yaml")
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"warning: bots/desk/agent.yaml:1:1: {IGNORED} Track it" in done.stdout
    assert done.stdout.count(IGNORED) == 1


def test_an_ignored_agent_that_an_eval_targets_is_named_beside_the_error(repo: Repo) -> None:
    repo.write(".gitignore", "agent.yaml\n")
    repo.write("agent.yaml", AGENT)
    repo.write("evals.yaml", EVALS)
    done = gateval(repo, "validate")
    assert done.returncode == 2
    assert f"warning: agent.yaml:1:1: {IGNORED}" in done.stdout


def test_nothing_is_looked_for_where_all_is_there(repo: Repo) -> None:
    repo.write(".gitignore", "copy.yaml\n")
    repo.write("copy.yaml", AGENT)
    repo.write("agent.yaml", AGENT)
    repo.write("evals.yaml", EVALS)
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stdout
    assert "copy.yaml" not in done.stdout


AS_JSON = {"apiVersion": "gateval/v1", "kind": "Agent", "metadata": {"name": "desk"}, "spec": {}}
OTHERS = {
    "agent.json": (json.dumps(AS_JSON), True),
    "agent.yaml.tmpl": ("{{ if x }}\n" + AGENT, True),
    "agent.yaml.j2": (AGENT, True),
    "agent.yml.txt": (AGENT, True),
    "package.json": (json.dumps({"name": "x", "about": "gateval/v1"}), False),
    "record.json": (json.dumps({"text": "apiVersion: gateval/v1\nkind: Agent\n"}), False),
    "broken.json": ('{"apiVersion": "gateval/v1", "kind": ', False),
    "values.yaml.tmpl": ("# apiVersion of gateval/v1\na: 1\n", False),
    "notes.md": (AGENT, False),
}


@pytest.mark.parametrize("path", OTHERS)
def test_a_manifest_with_another_ending_is_named(repo: Repo, path: str) -> None:
    text, told = OTHERS[path]
    repo.write(f"bots/{path}", text)
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (f"warning: bots/{path}:1:1: {ENDING}" in done.stdout) is told
