"""Manifests."""

from __future__ import annotations

from pathlib import Path

from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

SHORT_DOCUMENTS = """\
apiVersion: pai.io/v1
kind: Agent
metadata: {name: adder}
spec: {models: [scripted/adder], system: "You add numbers."}
---
apiVersion: pai.io/v1
kind: EvalFixture
metadata: {name: two-and-two, labels: {agent: adder}}
spec:
  targetAgent: adder
  input: {type: prompt, payload: {prompt: "What is 2 + 2?"}}
  assertions: [{type: contains, value: "4"}]
---
apiVersion: pai.io/v1
kind: Eval
metadata: {name: adder-eval}
spec:
  targetAgent: adder
  fixtureSelector: {matchLabels: {agent: adder}}
"""


@states("`apiVersion: pai.io/v1` with the kinds Agent, Eval and EvalFixture")
@states("Several documents in one file, split by `---`")
@states("The Eval runs the fixtures whose labels match its selector")
def test_several_documents_in_one_file(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("adder.yaml", SHORT_DOCUMENTS)
    repo.write(
        ".gateval/scripted/adder.yaml",
        "rules: [{reply: The sum is 4.}]\n",
    )
    repo.commit("An agent that adds")
    done = gateval(repo, "run", "adder-eval")
    assert done.returncode == 0, done.stderr
    assert "1/1 trials: 1 pass" in done.stderr
