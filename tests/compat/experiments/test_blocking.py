"""Differences that block, and those that do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.experiments import TASK, lab
from tests.helpers.repo import Repo

ROWS = json.dumps([{"input": f"word{n}", "expected": f"WORD{n}"} for n in range(4)])
SPEC = f"""\
task: {{python: task.py:shout}}
data: {ROWS}
execution: {{deterministic: true}}
scorers:
  - exactMatch
  - {{type: levenshtein, ignoreCase: true}}
"""
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: shouter}
spec: {models: [scripted/shouter], system: Shout.}
"""
RULES = {"rules": [{"probability": 0.6, "reply": "WORD"}, {"reply": "word"}]}


def checked(repo: Repo) -> tuple[int, str, dict[str, Any]]:
    out = repo.path.parent / "out"
    done = gateval(repo, "check", "--base", "main", "--results", str(out))
    assert (out / "decision.v1.json").exists(), done.stdout + done.stderr
    decision: dict[str, Any] = json.loads((out / "decision.v1.json").read_text())
    return done.returncode, " ".join(done.stdout.split()), decision


@states("A negative difference is shown in red", differs="and blocks only when chance hardly "
        "explains it: base and head are measured side by side, and the rule looks at each scorer")  # fmt: skip
def test_a_scorer_that_fell_blocks_while_another_stays(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo", SPEC)
    repo.branch("next")
    repo.write("lab/task.py", TASK.replace("text.upper()", "text"))
    repo.commit("No longer shouts")
    code, shown, decision = checked(repo)
    assert code == 1, shown
    assert "→ exactMatch: 0.00% (🔴-1.00), regressed" in shown
    assert "→ levenshtein: 100.00% (⚪0.00), unchanged" in shown
    assert decision["verdict"] == "fail"
    comment = (tmp_path / "out" / "comment.md").read_text()
    assert "| exactMatch | 0.00% | 🔴-1.00 | 4 | regressed |" in comment


def failures(path: Path) -> dict[str, str]:
    """Return the cases of a JUnit file that failed, each with the type of its failure."""
    cases = ET.parse(path).iter("testcase")  # noqa: S314 - ours
    found = {str(case.get("name")): case.find("failure") for case in cases}
    return {name: str(one.get("type")) for name, one in found.items() if one is not None}


def test_what_blocks_fails_a_test_case_though_every_row_has_an_answer(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo", SPEC)
    repo.branch("next")
    shy = 'return text if text.endswith("3") else text.upper()'
    repo.write("lab/task.py", TASK.replace("return text.upper()", shy))
    repo.commit("Shouts three of four")
    assert checked(repo)[0] == 1
    assert failures(tmp_path / "out" / "junit.xml") == {"uppercase-agent.word3": "regressed"}


def test_a_threshold_that_no_row_breaks_alone_is_a_test_case_of_its_own(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo", f"{SPEC}passThreshold: 0.9\n", **{"task.py": "shout = str\n"})
    done = gateval(repo, "run", "uppercase-agent", "--results", str(tmp_path / "out"))
    assert done.returncode == 1, done.stdout
    assert failures(tmp_path / "out" / "junit.xml") == {"uppercase-agent": "eval"}


def test_what_chance_does_is_red_and_does_not_block(tmp_path: Path) -> None:
    rows = json.dumps([{"input": f"word {n}", "expected": "WORD"} for n in range(20)])
    spec = f"targetAgent: shouter\ndata: {rows}\nscorers: [exactMatch]\n"
    repo = lab(tmp_path / "repo", spec)
    repo.write("agents/shouter.yaml", AGENT)
    repo.write(".gateval/scripted/shouter.yaml", json.dumps(RULES))
    repo.commit("An agent of chance")
    repo.branch("next")
    repo.write("agents/shouter.yaml", AGENT.replace("Shout.", "Shout, please."))
    repo.commit("Ask politely")
    code, shown, _ = checked(repo)
    assert "(🔴-0." in shown, shown
    assert code == 0, shown


def test_a_change_of_the_golden_set_alone_runs_the_experiment(tmp_path: Path) -> None:
    files = {"golden.jsonl": '{"input": "hello", "expected": "HELLO"}\n'}
    spec = SPEC.replace(ROWS, "golden.jsonl")
    repo = lab(tmp_path / "repo", spec, **files)
    repo.branch("next")
    repo.write("lab/golden.jsonl", '{"input": "hello", "expected": "Hello"}\n')
    repo.commit("Expect less")
    done = gateval(repo, "plan", "--base", "main")
    assert "uppercase-agent" in done.stdout


def test_a_written_threshold_is_one_for_the_mean_of_all_scorers(tmp_path: Path) -> None:
    rows = "data: [{input: hello, expected: HELLO}, {input: world, expected: WORLDS}]\n"
    spec = f"task: {{python: task.py:shout}}\n{rows}scorers: [exactMatch, contains]\n"
    for number, (asked, code) in enumerate(((0.5, 0), (0.51, 1))):
        repo = lab(tmp_path / str(number) / "repo", f"{spec}passThreshold: {asked}\n")
        done = gateval(repo, "run", "uppercase-agent")
        assert done.returncode == code, done.stdout


def test_a_scorer_taken_out_is_an_edit_of_the_bar(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo", SPEC)
    repo.branch("next")
    written = (repo.path / "lab/experiment.yaml").read_text()
    repo.write("lab/experiment.yaml", written.replace("  - exactMatch\n", ""))
    repo.write("lab/task.py", TASK.replace("text.upper()", "text"))
    repo.commit("Asks less")
    code, shown, _ = checked(repo)
    assert "assertion exactMatch of fixture uppercase-agent.word0 dropped" in shown
    assert code == 1, shown  # the target branch asks it, and it fell


def test_a_row_that_base_lost_moves_no_average(tmp_path: Path) -> None:
    scorer = "@check\ndef right(trial: Trial) -> bool:\n    return {'HELLO': True, 'no': False}[trial.output]\n"
    spec = """\
    task: {python: task.py:shout}
    data: [{input: hello}, {input: world}]
    execution: {deterministic: true}
    scorers: [{type: python, name: right, function: scorers/all.py::right}]
    """
    task = "def shout(text):\n    return {'hello': 'HELLO', 'world': 'who?'}[text]\n"
    library = f"from gateval.checks import Trial, check\n\n\n{scorer}"
    repo = lab(tmp_path / "repo", spec, **{"task.py": task, "scorers/all.py": library})
    repo.branch("next")
    repo.write("lab/task.py", task.replace("who?", "no"))
    repo.commit("Answers the other, wrongly")
    _, shown, _ = checked(repo)
    assert "→ right: 50.00% (⚪0.00)" in shown, shown
    assert ", in the rows that both measured)" in shown
