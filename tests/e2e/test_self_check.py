"""`gateval aa`: one revision against itself, on the real command."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: bot}
spec: {models: [scripted/bot], system: Answer.}
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: bot-eval}
spec: {targetAgent: bot, fixtures: [steady, shaky]}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: steady}
spec:
  input: {type: prompt, payload: {prompt: steady}}
  assertions: [{type: contains, value: "yes"}]
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: shaky}
spec:
  input: {type: prompt, payload: {prompt: shaky}}
  assertions: [{type: contains, value: "yes"}]
"""
SCRIPT = """\
seed: 7
rules:
  - {when: {user: steady}, reply: "yes"}
  - {when: {user: shaky}, probability: 0.5, reply: "yes"}
  - {reply: "no"}
"""


def test_an_unchanged_agent_against_itself(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("bot.yaml", AGENT)
    repo.write(".gateval/scripted/bot.yaml", SCRIPT)
    repo.commit()
    done = gateval(repo, "aa", "bot-eval", "--runs", "2", "--results", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "0 of 2 runs blocked the agent, though nothing changed" in done.stdout
    assert "How often a drop in one fixture would be found" in done.stdout
    found = json.loads((tmp_path / "out/self-check.v1.json").read_text())
    rates = {one["fixture"]: (one["passes"], one["trials"]) for one in found["rates"]}
    assert rates["steady"] == (4, 4)
    assert rates["shaky"][1] == 4
    chances = [one["chance"] for one in found["power"]]
    assert chances == sorted(chances)
    assert chances[-1] > 0.3
    assert (tmp_path / "out/self-check.svg").read_text().startswith("<svg")


def test_an_eval_that_is_not_there(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("bot.yaml", AGENT)
    repo.write(".gateval/scripted/bot.yaml", SCRIPT)
    repo.commit()
    done = gateval(repo, "aa", "bot-evals")
    assert done.returncode == 2
    assert 'There is no Eval "bot-evals"' in done.stderr
