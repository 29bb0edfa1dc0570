"""A repository whose fixture has a file of cases, and what is read of it."""

from __future__ import annotations

import json
from pathlib import Path

from gateval.adapters.git.repository import open_repository
from gateval.app.readers import registries
from gateval.domain.planning.snapshot import Snapshot
from gateval.pipeline.read import survey
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec: {models: [openai/gpt-5], system: Be kind.}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtures: [refunds]
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refunds, labels: {agent: support}}
spec:
  cases: {file: cases.jsonl}
  input: {type: prompt, payload: {prompt: "Order {{ case.order }}, please.", n: "{{ case.order }}"}}
  assertions:
    - {type: contains, value: "{{ case.expected }}"}
    - {type: toolNotCalled, tool: send_email}
"""


def lines(count: int, **changed: str) -> str:
    """Cases `c0`, `c1`, ... as JSON lines; `c1="x"` makes another answer the expected one."""
    return "".join(
        json.dumps({"id": f"c{n}", "order": n, "expected": changed.get(f"c{n}", f"done {n}")})
        + "\n"
        for n in range(count)
    )


def case_repo(path: Path, **files: str) -> Repo:
    """A repository with three cases, committed; keywords replace `agent`, `eval` and so on."""
    repo = Repo(path)
    repo.write("agents/support.yaml", files.get("agent", AGENT))
    repo.write("evals/eval.yaml", files.get("evaluation", EVAL))
    repo.write("evals/refunds.yaml", files.get("fixture", FIXTURE))
    repo.write("evals/cases.jsonl", files.get("cases", lines(3)))
    repo.commit()
    return repo


def read(repo: Repo) -> Snapshot:
    """The working commit of a repository, with everything that is wrong."""
    opened = open_repository(repo.path, repo.env)
    return survey(opened, registries(), opened.resolve("HEAD"))


def problems(repo: Repo) -> list[str]:
    """What is wrong, as lines for people."""
    return [str(problem) for problem in read(repo).problems]
