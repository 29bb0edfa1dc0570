"""Who has no judge pays nothing for those of others: neither an import nor a call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.helpers.command import environment
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.servers.model_server import reply

MANIFESTS = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec: {models: [openai/gpt-4o], system: "Be kind"}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: Hello}ASKED]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtures: [greets]
  judge: {model: openai/gpt-4o}
  execution: {repsPerFixture: 5}
"""


def ran(tmp_path: Path, asked: str) -> tuple[set[str], int]:
    """The modules for judges that a run of five trials imports, and how many calls it makes."""
    repo = Repo(tmp_path / "shop")
    repo.write("evals/all.yaml", MANIFESTS.replace("ASKED", asked))
    repo.commit("All")
    with provider(lambda call: reply(call, "Hello")) as (server, environ):
        command = [sys.executable, "-X", "importtime", "-P", "-m", "gateval", "run", "support-eval"]
        done = subprocess.run(
            command, cwd=repo.path, env=environment(repo, **environ),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        calls = len(server.calls)
    named = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "gateval.engine.run" in named, done.stderr
    assert done.returncode == (3 if asked else 0), done.stdout + done.stderr[-2_000:]
    return {one for one in named if one.startswith("gateval.judging")}, calls


def test_a_run_without_a_judge_imports_nothing_of_judges_and_asks_nothing_more(
    tmp_path: Path,
) -> None:
    """That its Eval names one, which no assertion asks, changes nothing."""
    assert ran(tmp_path / "without", "") == (set(), 5)
    modules, calls = ran(tmp_path / "with", ", {type: judge, rubric: Is it kind?}")
    assert {"gateval.judging.judge", "gateval.judging.agreements"} <= modules
    assert calls > 10
