"""A small repository with one Agent, two fixtures and an Eval, as a starting point for tests."""

from __future__ import annotations

from pathlib import Path

from gateval.adapters.git.repository import open_repository
from gateval.app.readers import registries, rules_here
from gateval.domain.plan.plan import Plan
from gateval.pipeline.plan import plan_a_change
from gateval.pipeline.read import find_revisions
from tests.helpers.made_once import made_once
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata:
  name: support
spec:
  models: [scripted/support]
  system: {file: prompts/support.md}
  tools:
    - {name: clarify_reason, description: Ask why.}
    - {name: refund, description: Pay back.}
"""

PROMPT = "You help customers.\nAlways ask for the reason first.\n"

FIXTURES = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refund-asks-why, labels: {agent: support}}
spec:
  severity: high
  input: {type: prompt, payload: {prompt: I want a refund}}
  assertions:
    - {type: toolCalled, tool: clarify_reason}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: contains, value: Hello}
"""

EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
"""

SCRIPT = """\
rules:
  - when: {user: Hello}
    reply: Hello! How can I help?
  - when: {user: refund, system: ask for the reason, turn: 1}
    toolCalls: [{name: clarify_reason}]
  - when: {user: refund, turn: 1}
    toolCalls: [{name: refund}]
  - reply: Done.
"""


@made_once
def build_shop(path: Path) -> Repo:
    """Make the repository, with everything committed on `main` and the branch `change` out."""
    repo = Repo(path)
    repo.write("agents/support.yaml", AGENT)
    repo.write("agents/prompts/support.md", PROMPT)
    repo.write("evals/fixtures.yaml", FIXTURES)
    repo.write("evals/support-eval.yaml", EVAL)
    repo.write(".gateval/scripted/support.yaml", SCRIPT)
    repo.write("README.md", "A shop.\n")
    repo.commit("Begin")
    repo.branch("change")
    return repo


def plan_of(repo: Repo, *, base: str | None = None, head: str | None = None) -> Plan:
    """Return the plan that `gateval plan` makes here."""
    repository = open_repository(repo.path)
    revisions = find_revisions(repository, base=base, head=head)
    return plan_a_change(repository, registries(), revisions, rules_here(repo.env))
