"""`similar` by embeddings on the real command: keys, scripts, and the bar."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refund, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Where is my money?}}
  assertions:
    - {type: similar, to: your money comes back soon, metric: embeddings, model: scripted/words, min: 0.7}
"""
SCRIPT = "rules: [{reply: Soon your money comes back.}]\n"


def shop(tmp_path: Path, fixture: str = FIXTURE) -> Repo:
    """A repository whose fixture is measured by `scripted/words`; the branch `change` is out."""
    repo = Repo(tmp_path / "shop")
    repo.write("agents/support.yaml", AGENT)
    repo.write("agents/prompts/support.md", "Help.\n")
    repo.write("evals/refund.yaml", fixture)
    repo.write("evals/eval.yaml", EVAL)
    repo.write(".gateval/scripted/support.yaml", SCRIPT)
    repo.write(".gateval/scripted/words.yaml", "rules: [{reply: None}]\ndimensions: 64\n")
    repo.commit("Begin")
    repo.branch("change")
    return repo


def test_a_scripted_model_measures_without_a_key(tmp_path: Path) -> None:
    ended = gateval(shop(tmp_path), "run", "support-eval", "--results", str(tmp_path / "out"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (trial,) = json.loads((tmp_path / "out/results.v1.json").read_text())["trials"]
    assert trial["assessments"][0]["score"] == 1, "the same words in another order"
    assert trial["judge_usage"]["input_tokens"] > 0


def test_a_model_without_a_key_is_told_before_anything_runs(tmp_path: Path) -> None:
    repo = shop(tmp_path, FIXTURE.replace("scripted/words", "openai/text-embedding-3-small"))
    ended = gateval(repo, "run", "support-eval")
    assert ended.returncode == 3, ended.stdout
    assert "OPENAI_API_KEY" in ended.stderr


def test_slips_are_told(tmp_path: Path) -> None:
    repo = shop(tmp_path, FIXTURE.replace(", model: scripted/words", ""))
    ended = gateval(repo, "validate")
    assert "`model` and `metric: embeddings` go together" in ended.stdout
    repo.write("evals/refund.yaml", FIXTURE.replace("scripted/words", "opnai/small"))
    repo.commit("Slip")
    assert 'unknown provider "opnai". Did you mean "openai"?' in gateval(repo, "validate").stdout
    repo.write("evals/refund.yaml", FIXTURE.replace("scripted/words", "scripted/gone"))
    repo.commit("Slip again")
    ended = gateval(repo, "validate")
    assert 'The scripted model "gone" needs the file .gateval/scripted/gone.yaml.' in ended.stdout


def test_another_measure_is_another_bar(tmp_path: Path) -> None:
    """The base's script measures as well: head cannot make the measure kinder for itself."""
    repo = shop(tmp_path)
    repo.write(".gateval/scripted/support.yaml", SCRIPT.replace("Soon your money", "The parcel"))
    repo.write(".gateval/scripted/words.yaml", "rules: [{reply: None}]\ndimensions: 1\n")
    repo.commit("Measure with one number, by which all is alike")
    ended = gateval(repo, "check", "--base", "main")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "scripted model of assertion similar" in ended.stdout
