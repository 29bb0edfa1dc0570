"""A manifest format that nobody here knows: one file, one line in the registry, and all of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import gateval
from tests.helpers.repo import Repo

DATA = Path(__file__).parents[1] / "data" / "formats" / "quiz.py"
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec: {models: [scripted/desk], system: "You help."}
"""
QUIZ = {
    "quiz": "capitals",
    "agent": "desk",
    "questions": [
        {"ask": "Capital of France?", "points": {"Paris": 3, "Seine": 1}},
        {"ask": "Capital of Peru?", "points": {"Lima": 2}},
    ],
}
SCRIPT = ".gateval/scripted/desk.yaml"
RULES = 'rules:\n  - {{when: {{user: France}}, reply: "{}"}}\n  - {{reply: Lima}}\n'
LINE = "FORMATS: tuple[ManifestFormat, ...] = (NATIVE, AGENTV, SEALED"


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """A copy of the product with the format and its line in the registry."""
    root = tmp_path / "product"
    shutil.copytree(Path(gateval.__file__).parent, root / "gateval")
    shutil.copy(DATA, root / "gateval" / "formats" / "quiz.py")
    registry = root / "gateval" / "formats" / "registry.py"
    text = registry.read_text("utf-8")
    assert LINE in text
    fifth = (
        'ManifestFormat("quiz", (".quiz",), lambda _path, data: b"quiz" in data, '
        "lambda _: False, lambda _: False, read_quiz)"
    )
    text = text.replace(LINE, f"{LINE}, {fifth}")
    text = text.replace(
        "from __future__ import annotations\n",
        "from __future__ import annotations\nfrom gateval.formats.quiz import read_quiz\n",
    )
    registry.write_text(text, "utf-8")
    return root


def run(product: Path, repo: Repo, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the copy on a repository."""
    command = [sys.executable, "-P", "-m", "gateval", *words]
    env = {**repo.env, "PYTHONPATH": os.fspath(product)}
    return subprocess.run(
        command, cwd=repo.path, env=env, capture_output=True, text=True, check=False
    )


def test_a_fifth_format_has_plan_verdict_comment_history_and_junit(
    tmp_path: Path, product: Path
) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("agents/desk.yaml", AGENT)
    repo.write("capitals.quiz", json.dumps(QUIZ))
    repo.write(SCRIPT, RULES.format("Paris, on the Seine"))
    repo.commit("Before")
    repo.write(SCRIPT, RULES.format("Lyon, on the Seine"))
    repo.commit("After")

    plan = run(product, repo, "plan", "--base", "HEAD~1", "--json")
    assert plan.returncode == 0, plan.stderr
    planned = json.loads(plan.stdout)["evals"][0]
    assert (planned["name"], len(planned["fixtures"])) == ("capitals", 2)
    assert planned["scoring"]["model"]["name"] == "quiz"

    out = tmp_path / "out"
    done = run(product, repo, "check", "--base", "HEAD~1", "--results", str(out))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "capitals.1 scores lower than before" in " ".join(done.stdout.split())
    comment = (out / "comment.md").read_text("utf-8")
    assert "| −0.38 | desk | capitals | 0.62 mark C | 1.00 mark A |" in comment
    suite = next(ET.parse(out / "junit.xml").getroot().iter("testsuite"))  # noqa: S314
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("capitals", "2", "1")

    again = run(product, repo, "report", str(out), "--format", "markdown")
    assert again.stdout == comment
    shown = run(product, repo, "show", str(out), "capitals.1")
    assert "Lyon, on the Seine" in shown.stdout, shown.stderr

    head = run(product, repo, "run", "capitals")
    assert "0.62 mark C" in head.stdout, head.stdout + head.stderr
    history = run(product, repo, "history", "capitals")
    assert "0.62" in history.stdout, history.stderr
    listed = run(product, repo, "get", "evals")
    assert "capitals" in listed.stdout, listed.stderr
    assert "0.62" in listed.stdout
    one = json.loads(run(product, repo, "get", "eval", "capitals", "-o", "json").stdout)
    assert (one["lastScore"], one["verdict"]) == ("0.62", "mark C"), "called as the run called it"
    table = run(product, repo, "compare", "--table")
    assert "0.62 mark C" in table.stdout, table.stderr
    both = run(product, repo, "compare", str(out), "HEAD")
    assert "all fixtures together" in both.stdout, both.stderr
